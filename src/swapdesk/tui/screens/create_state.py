"""The state of a create: its step, the keys that work at it, and the account that pays.

``PayingAccount`` asks the wallet, which is started by the first question; the form is there
meanwhile. Everything else is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from textual.message import Message

from swapdesk.flows.creation.confirm_intent import Consent
from swapdesk.flows.creation.create_checks import Checked
from swapdesk.flows.creation.order_verification import CreateUnknown, NotCreated
from swapdesk.flows.failure_messages import OUTCOME_UNKNOWN, Failure
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.notation import clock_time, countdown, counted, table_amount
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.flows.quotes.requote import follow_route
from swapdesk.flows.tracking.announcements import (
    code_and_request,
    quote_ended,
    rate_worse,
    refused_fields,
)
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.commands.create import (
    BACK,
    COMPLETE,
    EDIT,
    FIELD_ABOVE,
    FIELD_BELOW,
    IN_FIELDS,
    NEW_QUOTE,
    NEXT_FIELD,
)
from swapdesk.tui.commands.everywhere import HIDE_AMOUNTS, KEYS, PALETTE, RELEASE_MOUSE
from swapdesk.tui.messages import BalanceKnown
from swapdesk.tui.widgets.form_fields import Check, CheckMark
from swapdesk.tui.widgets.frame import MoneyState

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.dex.swap_account import SwapAccount
    from swapdesk.flows.intents.intent import DexTerms
    from swapdesk.wallet.accounts import Account
    from swapdesk.wallet.errors import WalletError


URGENT_SECONDS = 15
ASKS_AGAIN = ("you: ask for new quotes", "you: try again")
"""What a failure asks for that the key of this screen does."""
FUNDS = "in your wallet."
CHANGED_MEANWHILE = "A name means another address now. Nothing was created."


class CreateStep(Enum):
    """Where the form is. From ``SENT`` on nothing can be edited or sent again."""

    OPEN = "open"
    READY = "ready"
    FAILED = "failed"
    SENT = "sent"
    LOOKING = "looking"
    UNKNOWN = "unknown"


BUSY = (CreateStep.SENT, CreateStep.LOOKING, CreateStep.UNKNOWN)


class CreateState(Struct):
    """One chosen route on its way to an order.

    ``intent`` is what the create key acts on, locked for review; ``sent_intent`` the id of the one
    that left. ``failed`` says why nothing was created, once that is known; ``said`` is what stands
    in place of the verdict. ``was`` is the figure of the quote before this one.
    """

    board: QuoteResult
    row: RankedQuote
    step: CreateStep = CreateStep.OPEN
    intent: Intent | None = None
    sent_intent: str | None = None
    said: Check | None = None
    failed: Failure | None = None
    was: Decimal | None = None

    @property
    def busy(self) -> bool:
        """Whether it left, so that nothing can be edited."""
        return self.step in BUSY

    def edited(self) -> None:
        """Another value: nothing is locked any more."""
        self.intent, self.step = None, CreateStep.OPEN

    def lock(self, intent: Intent) -> None:
        self.intent, self.step = intent, CreateStep.READY

    def unlock(self) -> None:
        self.intent = None
        if self.step is CreateStep.READY:
            self.step = CreateStep.OPEN

    def sent(self, intent: Intent, now: datetime) -> None:
        self.sent_intent = intent.id
        self.step, self.said = CreateStep.SENT, said_sent(now)

    def looking(self) -> None:
        """No answer came; the desk looks for the order."""
        self.step, self.said = CreateStep.LOOKING, said_looking()

    def ended(self, outcome: NotCreated | CreateUnknown) -> None:
        """The create came to an outcome that is no order."""
        self.step, self.said = said_ended(outcome)
        self.failed = outcome.failure
        if self.step is CreateStep.FAILED:
            self.intent = None

    def requoted(self, board: QuoteResult) -> bool:
        """Take the same route of a new board; False when it is gone."""
        before, row = self.row, follow_route(board, self.row)
        if row is None:
            self.step, self.said = CreateStep.FAILED, said_gone()
            return False
        self.step, self.said = CreateStep.OPEN, None
        self.board, self.row = board, row
        self.was = before.figure if row.figure != before.figure else None
        return True


def verdict_of(
    step: CreateStep,
    row: RankedQuote,
    checked: Checked,
    consent: Consent,
    now: datetime,
    *,
    typing: bool,
) -> Check:
    """The last line of the panel while the form is open or ready."""
    if row.expired(now):
        return Check(
            CheckMark.WARNING, quote_ended(row.expires_at), f"{_asking_key(typing)} asks again."
        )
    if checked.problems:
        them = "it" if checked.problems == 1 else "them"
        said = f"{counted(checked.problems, 'problem')}:"
        return Check(CheckMark.REFUSED, said, f"correct {them} first")
    if consent.refused is not None:
        return Check(CheckMark.REFUSED, consent.refused)
    if step is CreateStep.READY:
        does = "c starts the signing" if row.on_chain else "c creates the order"
        return Check(CheckMark.VALID, "c asks you to agree first" if consent.phrase else does)
    return Check(CheckMark.VALID, "complete:", "enter locks it")


def said_sent(now: datetime) -> Check:
    return Check(CheckMark.UNKNOWN, f"asked at {clock_time(now)}, waiting for the answer")


def said_looking() -> Check:
    return Check(CheckMark.WARNING, OUTCOME_UNKNOWN.cause, "The desk looks for it.")


def worse_quote(board: QuoteResult, row: RankedQuote, lost: Decimal) -> str:
    """A new quote that is worse than the one confirmed; ``lost`` is how much, in percent."""
    if not board.wish.receive:
        return rate_worse(board.token_out.symbol, row.key, lost)
    asked = f"{table_amount(row.figure)} {board.token_in.symbol}"
    return (
        f"The new quote asks for {asked}, {lost:.2f}% more than you confirmed. Nothing was created."
    )


def said_gone() -> Check:
    return Check(CheckMark.REFUSED, "This route is gone.", "esc shows the others.")


def said_ended(outcome: NotCreated | CreateUnknown) -> tuple[CreateStep, Check]:
    """Where the form is after an outcome that is no order, and what it says of it."""
    if isinstance(outcome, CreateUnknown):
        then = "It is not known yet. Nothing was paid. o shows the orders."
        return CreateStep.UNKNOWN, Check(CheckMark.WARNING, outcome.failure.cause, then)
    error = outcome.error
    second = code_and_request(error) if error is not None else outcome.code
    fields = " ".join(refused_fields(error)) if error is not None else ""
    said = f"{outcome.failure.cause} {fields}".strip()
    return CreateStep.FAILED, Check(CheckMark.REFUSED, said, second)


def _asking_key(typing: bool) -> str:
    """The key that asks for a new quote; in a field a letter is typed."""
    return IN_FIELDS if typing else NEW_QUOTE.shown_key


def money_of(
    step: CreateStep,
    row: RankedQuote,
    checked: Checked,
    now: datetime,
    *,
    typing: bool,
    whole: bool = True,
    after: Failure | None = None,
) -> MoneyState:
    """Where the money is and who acts next. ``typing``: a field has the focus; ``whole``: the
    locked intent is seen in full; ``after`` is why nothing was created."""
    if step is CreateStep.SENT:
        return MoneyState(FUNDS, "the service: it creates the order")
    if step in BUSY:
        where = "in your wallet; nothing was paid."
        return MoneyState(where, "the desk: it looks for the order")
    if step is CreateStep.FAILED and after is not None and after.next not in ASKS_AGAIN:
        return MoneyState(f"{after.money}.", after.next)
    if step is CreateStep.FAILED or row.expired(now):
        return MoneyState(FUNDS, f"you: {_asking_key(typing)} asks for a new quote, 1 quote")
    if step is CreateStep.READY:
        left = (row.expires_at - now).total_seconds()
        if not whole:
            return MoneyState(FUNDS, "you: make the window larger", urgent=left < URGENT_SECONDS)
        does = "signs" if row.on_chain else "creates"
        next_ = f"you: c {does} within {countdown(left)}"
        return MoneyState(FUNDS, next_, urgent=left < URGENT_SECONDS)
    return MoneyState(FUNDS, _next_input(checked))


def _next_input(checked: Checked) -> str:
    if not checked.recipient.ok:
        return "you: correct the recipient" if checked.recipient.text else "you: say who gets it"
    if not checked.memo.ok:
        return f"you: type the {checked.memo.label}"
    if checked.refund is not None and not checked.refund.ok:
        again = "correct" if checked.refund.text else "type"
        return f"you: {again} the refund address"
    if checked.intermediate is not None and not checked.intermediate.ok:
        return "you: correct the refund address of the middle"
    return "you: enter locks the intent"


NOT_WHOLE = "enlarge the window"


def standing_of(
    verb: Verb,
    step: CreateStep,
    *,
    typing: bool,
    expired: bool,
    asked: str = "",
    most: int = 1,
    on_chain: bool = False,
    at_end: Callable[[], bool],
    locked: Callable[[], str],
) -> CommandState:
    """``typing``: a field has the focus; else the intent has, which is locked or can be.
    ``at_end``: enter locks it for review. ``locked`` says why nothing can be created, if so.
    ``asked`` says why no new quote can be asked for; one may cost ``most`` calls."""
    if verb in (BACK, HIDE_AMOUNTS, RELEASE_MOUSE):
        return READY
    if verb.everywhere and step is CreateStep.UNKNOWN:
        return READY
    if step in BUSY:
        return HIDDEN
    if verb in (KEYS, PALETTE):
        return READY
    if verb.everywhere:
        # In a field their letters are typed; outside of it nothing of the intent locks them.
        return HIDDEN if typing else READY
    if verb in (COMPLETE, FIELD_BELOW, FIELD_ABOVE):
        return READY if typing else HIDDEN
    over = step is CreateStep.FAILED or expired
    if verb is EDIT:
        # Beside a quote that ended its letter is a slip: what is typed after it would be the
        # recipient. A new quote comes first.
        return HIDDEN if typing or (expired and step is not CreateStep.FAILED) else READY
    if verb is NEXT_FIELD:
        if not typing and (step is CreateStep.READY or over or not at_end()):
            return HIDDEN
        return CommandState(verb="lock intent") if at_end() else READY
    if verb is NEW_QUOTE:
        if not over:
            return HIDDEN
        key = IN_FIELDS if typing else ""
        if asked:
            return CommandState(locked=asked, key=key)
        return CommandState(cost="1 quote" if most == 1 else f"1 to {most} quotes", key=key)
    if typing or over:
        return HIDDEN
    why, named = locked(), "start signing" if on_chain else ""
    return CommandState(locked=why, verb=named) if why else CommandState(verb=named)


def locked(
    checked: Checked, consent: Consent, *, connected: bool, locked: bool, whole: bool
) -> str:
    """Why the create key does not work; empty when it does. ``whole``: the locked intent is on
    the screen with everything in it."""
    problems = checked.problems
    if problems:
        return f"{problems} {'problem' if problems == 1 else 'problems'}"
    if consent.refused is not None:
        return consent.refused.rstrip(".")
    if not connected:
        return "the service is not connected"
    if not locked:
        return "enter locks the intent"
    return "" if whole else NOT_WHOLE


ASKING = "the wallet is asked for its account"


@dataclass
class AccountRead(Message):
    """As much as is known of the account."""

    found: SwapAccount


@dataclass
class AccountFailed(Message):
    """Why no account can pay this."""

    said: str


@dataclass
class OwnAccountsRead(Message):
    """Accounts of the wallet that recipient or refund address may name."""

    accounts: tuple[Account, ...]


class PayingAccount:
    """The account that pays, as far as it is known. Questions to the wallet are coroutines for a
    worker; their answers are posted to the page, which hands them back (``read``, ``failed``)."""

    def __init__(self, desk: Desk, post: Callable[[Message], object]) -> None:
        self._desk = desk
        self._post = post
        self.account: SwapAccount | None = None
        """None until the wallet named one."""
        self.own_balance: Decimal | None = None
        self._problem = ""

    @property
    def balance(self) -> Decimal | None:
        """What the own wallet has of the token sold, as far as that is known."""
        return self.own_balance if self.account is None else self.account.balance

    def read(self, found: SwapAccount) -> None:
        self.account, self._problem = found, ""

    def failed(self, said: str) -> None:
        self._problem = said

    def lack(self, board: QuoteResult, row: RankedQuote) -> str:
        """Why the wallet cannot pay this now, in a few words; empty when it can."""
        if not row.on_chain:
            return ""
        if self._problem or self.account is None:
            return self._problem.rstrip(".") or ASKING
        return self.account.lack(board.amount_in(row), board.token_in.symbol) or ""

    def lack_check(self, board: QuoteResult, row: RankedQuote) -> Check | None:
        """The same as the last line of the panel."""
        said = self.lack(board, row)
        if not said:
            return None
        waits = said == ASKING or (self.account is not None and self.account.filling)
        return Check(CheckMark.UNKNOWN if waits else CheckMark.REFUSED, said)

    def dex_terms(self, board: QuoteResult, row: RankedQuote) -> DexTerms | None:
        """What is confirmed beside the intent; None for every other route."""
        if not row.on_chain or self.account is None:
            return None
        from swapdesk.flows.catalog.coin_price import coin_price
        from swapdesk.flows.intents.intent import SLIPPAGE, terms_of

        chain, asked = board.token_in.chain_data, board.wish.slippage
        return terms_of(
            row.quote,
            self.account.account.address,
            coin_price(self._desk.catalog, chain.short_name),
            SLIPPAGE if asked is None else asked,
            kind=chain.kind,
        )

    # questions to the wallet

    def find(self, board: QuoteResult, row: RankedQuote) -> Coroutine[Any, Any, None]:
        """Which account pays a swap on chains; else which ones can be paid."""
        return self._find_account(board, row) if row.on_chain else self._find_own(board)

    def find_again(self, board: QuoteResult, row: RankedQuote) -> Coroutine[Any, Any, None]:
        """The same, after money of the wallet moved."""
        if row.on_chain and self.account is not None and self.account.plan is not None:
            return self._read_again(self.account, board)
        self.own_balance = None
        return self.find(board, row)

    async def _find_own(self, board: QuoteResult) -> None:
        """A wallet that cannot be asked has none to name; nothing here depends on it."""
        from swapdesk.flows.wallet.own_accounts import own_accounts, own_balance
        from swapdesk.wallet.errors import WalletError

        try:
            found = await own_accounts(self._desk, board.token_out, board.token_in)
        except WalletError:
            return
        if found:
            self._post(OwnAccountsRead(found))
        self._post(BalanceKnown(board.token_in.id, await own_balance(self._desk, board.token_in)))

    async def _find_account(self, board: QuoteResult, row: RankedQuote) -> None:
        from swapdesk.flows.dex.swap_account import NoSwapAccount, find_account, with_plan
        from swapdesk.wallet.errors import WalletError

        found = None
        try:
            async for found in find_account(
                self._desk, board.token_in, board.token_out, payer=board.wish.account
            ):
                self._post(AccountRead(found))
            if found is not None:
                found = await with_plan(self._desk, found, row.quote_id)
                self._post(AccountRead(found))
        except NoSwapAccount as none:
            self._post(AccountFailed(str(none)))
        except WalletError as error:
            self._post(_failed(error))

    async def _read_again(self, account: SwapAccount, board: QuoteResult) -> None:
        from swapdesk.flows.dex.swap_account import read_again
        from swapdesk.wallet.errors import WalletError

        try:
            self._post(AccountRead(await read_again(self._desk, account, board.token_in)))
        except WalletError as error:
            self._post(_failed(error))


def _failed(error: WalletError) -> AccountFailed:
    from swapdesk.flows.wallet.wallet_words import failure_of_wallet

    failure = failure_of_wallet(error)
    return AccountFailed(f"{failure.cause} Next {failure.next}.")

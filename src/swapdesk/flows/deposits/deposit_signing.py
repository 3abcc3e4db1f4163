"""Deposits while they are paid from the wallet: new ones, and those left open.

The steps are check, sign, send, confirmed. The account that pays is found and filled first, and
what it lacks is said exactly. The journal and the wallet's records decide what became of a
payment.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.flows.catalog.catalog import coin_price
from swapdesk.flows.deposits.wallet_funding import (
    LOOK,
    MAYBE,
    UNPAID,
    WalletFunding,
    kind_of,
    not_paid,
    payment_open,
)
from swapdesk.flows.dex.dex_ending import on_its_way, signed_away
from swapdesk.flows.dex.swap_account import NoSwapAccount, SwapAccount, find_account
from swapdesk.flows.failure_messages import IN_WALLET, NO_JOURNAL, Failure
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.payments import payment_of, unanswered
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.signing.signing_session import (
    ON_ITS_WAY,
    RunningSignings,
    TransactionSigning,
    open_keys,
)
from swapdesk.flows.transactions import Outcome, refused
from swapdesk.flows.wallet.wallet_words import MISSING, failure_of_wallet, sentence
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.answers import HARMLESS, TransactionState
from swapdesk.wallet.protocol import WalletError
from swapdesk.wire.encoding.numbers import ROUGH

NOT_ENOUGH = "NOT_ENOUGH"
"""The wallet does not hold what is asked for, or cannot say so."""
ASK_AGAIN = "you: f on the card asks again"
FAUCET = "you: pay it from the faucet, with f on the card"
ELSEWHERE = "you: fill it, or pay from another"


def on_screen(outcome: Outcome, order_id: str, *, faucet: bool) -> Outcome:
    """The same in the words of the screens, whose keys act next. ``faucet``: the sandbox's pays
    what the wallet does not."""
    outcome = replace(outcome, order_id=order_id)
    if outcome.failure is None:
        return outcome
    reason = sentence(outcome.cause)
    if outcome.open:
        cause = f"The payment is not confirmed yet. {reason}"
        return replace(outcome, failure=Failure(cause, MAYBE, "you: r goes on with it"))
    money = outcome.failure.money
    match outcome.code:
        case "PAID_BEFORE":
            next_ = outcome.failure.next
        case "NOT_CONFIRMED" | "LOCKED" | "CHAIN_UNREACHABLE" | "READ_ONLY":
            money, next_ = UNPAID, ASK_AGAIN
        case "GATE":
            # What the wallet refuses to pay nobody else is asked to pay.
            reason = f"Your wallet refuses to sign this: {reason}"
            next_ = outcome.failure.next
        case "NOT_ENOUGH" | "WALLET_MISSING":
            money, next_ = UNPAID, FAUCET if faucet else ELSEWHERE
        case "NO_JOURNAL":
            money, next_ = UNPAID, LOOK
        case _:
            next_ = LOOK
    return replace(outcome, failure=Failure(reason, money, next_))


class DepositSigning(TransactionSigning):
    """``asked``: by a key of this run; an earlier run left it open otherwise. ``tracked`` was
    confirmed here: ValueError without its intent."""

    NOUN = "payment"
    PROMISE = "order"
    EXPIRED = "NOT_PAYABLE"
    DONE = "The deposit is paid. The venue acts next."

    def __init__(
        self,
        tracked: TrackedOrder,
        clock: Clock,
        changed: Callable[[], None],
        *,
        asked: bool,
        faucet: bool = False,
        coin: str = "",
        confirmations: int = 0,
    ) -> None:
        intent = tracked.intent
        if intent is None:
            raise ValueError("the order was not confirmed at this desk")
        super().__init__(
            intent.token_in,
            clock,
            changed,
            provider=(intent.provider, intent.provider_name),
            coin=coin,
            confirmations=confirmations,
        )
        self.intent = intent
        self.tracked = tracked
        self.asked = asked
        self._faucet = faucet
        self._filling = ""

    @property
    def id(self) -> str:
        return self.tracked.service_id

    @property
    def amount(self) -> Decimal:
        """As the order asks for it."""
        asked = self.tracked.order.in_amount
        return self.intent.amount_in if asked is None else asked

    @property
    def against(self) -> str:
        return f"order {self.tracked.short_id}"

    @property
    def order_id(self) -> str:
        return self.id

    @property
    def lapse(self) -> str:
        expires = self.tracked.order.expires
        if self.token.kind == "sol" and expires is not None and expires > self._clock.now():
            return "it makes a newer one"
        return super().lapse

    @property
    def doing(self) -> str:
        if self.transaction is None and not self.wallet:
            return "The desk asks the wallet for its account and what it holds."
        if self.transaction is None and self._filling:
            return f"The faucet sends {self._filling} to wallet {self.wallet}."
        return super().doing

    @property
    def whereabouts(self) -> str:
        signed = self._signed
        if signed is None or signed.state in HARMLESS:
            return UNPAID if self.outcome is not None else IN_WALLET
        if signed.state is TransactionState.SUCCEEDED:
            return f"at the deposit address, by transaction {signed.hash}"
        sent = self.brief == ON_ITS_WAY
        return on_its_way(signed.hash) if sent else signed_away(signed.hash)

    @property
    def notice(self) -> str:
        return "is paid. Next: the venue counts confirmations."

    @property
    def _arrived(self) -> str:
        return "at the deposit address"

    # What the work says

    def account(self, name: str, *, filling: str = "") -> None:
        """Which account pays. ``filling``: the token that the faucet sends there first."""
        self.wallet, self._filling = name, filling
        self._changed()

    def finish(self, outcome: Outcome) -> None:
        super().finish(on_screen(outcome, self.id, faucet=self._faucet))


OTHER_DESK = "Another desk has the wallet: sign there, or close it."


def lack_of(found: SwapAccount, tracked: TrackedOrder, coin: str) -> str | None:
    """Why this account cannot pay the order, in sentences; None where nothing speaks against
    it. ``coin`` is the symbol of what gas is paid in. The review judges the gas itself."""
    intent, amount = tracked.intent, tracked.order.in_amount
    if intent is None or amount is None:
        return "The order does not say what is to be paid."
    token = intent.token_in
    gas = "gas" if token.kind == "evm" else "fee"
    symbol, chain, wallet = token.symbol, token.chain_name, f"Wallet {found.name}"
    asked = f"{exact_amount(amount)} {symbol}"
    if found.unread is not None:
        return f"{chain} could not be read: {found.unread}."
    if found.balance is None:
        return f"How much {symbol} wallet {found.name} has on {chain} could not be read."
    if found.balance < amount:
        short_of = f"{exact_amount(ROUGH.subtract(amount, found.balance))} {symbol}"
        return (
            f"{wallet} has {exact_amount(found.balance)} {symbol} on {chain} and is short of"
            f" {short_of}: the order asks for {asked}."
        )
    if token.contract is None and found.balance == amount:
        return f"{wallet} has exactly {asked} on {chain} and nothing more for {gas}."
    if not found.coin:
        return f"{wallet} has no {coin or 'coin'} on {chain} to pay the {gas} with."
    return None


_LACKING = frozenset({NOT_ENOUGH, MISSING})
"""Ends after which somebody else has to pay."""


class RunningDeposits(RunningSignings[DepositSigning]):
    """By the ids of their orders."""

    FAILURES = (WalletError, JournalUnavailable, NoSwapAccount)

    def begin(self, tracked: TrackedOrder) -> DepositSigning:
        """The session of a payment that was asked for, the one there is while it is not over;
        :meth:`run` does the work. ValueError for an order that was not confirmed here."""
        known = self.known(tracked.service_id)
        if known is not None and not known.over:
            known.asked = True
            return known
        return self._session(tracked, asked=True)

    def left_open(self) -> list[DepositSigning]:
        """Sessions for payments that the journal has open and nobody here works on. Raises
        JournalUnavailable."""
        found = []
        for act in unanswered(self._desk.journal.ledger):
            by_wallet = act.body.get("by") == "wallet"
            if not by_wallet or act.subject is None or self.known(act.subject):
                continue
            tracked = self._desk.link.tracker.get(act.subject)
            if tracked is not None and tracked.intent is not None:
                found.append(self._session(tracked, asked=False))
        return found

    def _session(self, tracked: TrackedOrder, *, asked: bool) -> DepositSigning:
        desk, service_id = self._desk, tracked.service_id
        chain = "" if tracked.intent is None else tracked.intent.token_in.chain
        node = desk.deposit_ways.node(tracked)
        session = DepositSigning(
            tracked,
            desk.clock,
            lambda: self._changed(service_id),
            asked=asked,
            faucet=desk.link.faucet is not None,
            coin=self._coin(chain),
            confirmations=node.confirmations if node is not None else 0,
        )
        return self._kept(session)

    async def _work(self, session: DepositSigning) -> Outcome | None:
        outcome = await self._paid(session)
        if outcome is not None:
            self._note_lack(session, outcome)
        return outcome

    def _note_lack(self, session: DepositSigning, outcome: Outcome) -> None:
        if outcome.refused and outcome.code in _LACKING:
            self._desk.deposit_ways.lacks(session.id, outcome.cause)

    async def _paid(self, session: DepositSigning) -> Outcome | None:
        desk = self._desk
        tracked = desk.link.tracker.get(session.id) or session.tracked
        session.tracked = tracked
        accounts = await desk.wallet.accounts()
        if accounts.read_only and not session.asked:
            return None
        begun = payment_of(desk.journal.ledger, session.id) is not None
        if begun:
            found = next((one for one in accounts.accounts if one.kind is kind_of(tracked)), None)
            if found is None:
                return not_paid(NOT_ENOUGH, "This wallet has no account of the chain.")
            account = found
            session.account(account.name or account.address)
        else:
            looked = await self._looked_into(session, tracked)
            if isinstance(looked, Outcome):
                return looked
            account = looked
        funding = WalletFunding(
            await desk.wallet.client(),
            desk.journal,
            desk.clock,
            session.look,
            desk.link.tracker.get,
            watch=session,
            service_clock=desk.service_clock,
        )
        if (paid := await funding.paid_before(tracked)) is not None:
            return paid
        if not await funding.kept(tracked):
            await open_keys(desk.wallet, account.address, session)
        price = coin_price(desk.catalog, session.intent.token_in.chain)
        return await funding.fund(tracked, account, price)

    async def _looked_into(
        self, session: DepositSigning, tracked: TrackedOrder
    ) -> Account | Outcome:
        """The account that pays, or what it lacks."""
        token = self._desk.catalog.token(session.intent.token_in.id)
        if token is None:
            return not_paid(NOT_ENOUGH, "The token of the order is not in the desk's list.")
        found: SwapAccount | None = None
        async for found in find_account(self._desk, token, token):
            session.account(found.name, filling=token.symbol if found.filling else "")
        assert found is not None  # it yields once, or raises
        if found.read_only:
            return not_paid("READ_ONLY", OTHER_DESK)
        lack = lack_of(found, tracked, session.coin)
        return found.account if lack is None else not_paid(NOT_ENOUGH, lack)

    def _failed(self, session: DepositSigning, error: Exception) -> Outcome:
        """The wallet did not answer, or said no before anything was signed."""
        if isinstance(error, JournalUnavailable):
            return refused("NO_JOURNAL", NO_JOURNAL)
        if not isinstance(error, WalletError):
            code, cause = NOT_ENOUGH, str(error)
        else:
            failure = failure_of_wallet(error)
            code, cause = failure.code, failure.cause
            if self._desk.deposit_ways.payment(session.id) is not None:
                return payment_open(code, cause)
        outcome = not_paid(code, cause)
        self._note_lack(session, outcome)
        return outcome

"""The create page: the user says who receives the payment, and the page shows exactly what the
create key confirms. The form has the fields; ``CreateState`` has what is known about the route and
the account that pays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.confirm_intent import (
    Checked,
    Consent,
    NotLockable,
    TypedBefore,
    consent_for,
    lock_for_review,
    still_stands,
)
from swapdesk.flows.creation.order_verification import CreateUnknown, NotCreated
from swapdesk.flows.dex.dex_plan import NoDexSwap, promise_of
from swapdesk.flows.failure_messages import OUTCOME_UNKNOWN
from swapdesk.flows.intents.intent import Intent, IntentKind
from swapdesk.flows.notation import (
    clock_time,
    copied_amount,
    countdown,
    counted,
)
from swapdesk.flows.payees.recipients import challenge_for
from swapdesk.flows.quotes.quoting import AskingAgain, QuoteResult, lost_percent
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.flows.tracking.announcements import (
    quote_ended,
    rate_worse,
)
from swapdesk.tui.commands.command import CommandState, Standings
from swapdesk.tui.commands.create import (
    BACK,
    COMPLETE,
    CREATE,
    EDIT,
    FIELD_ABOVE,
    FIELD_BELOW,
    IN_FIELDS,
    NEW_QUOTE,
    NEXT_FIELD,
)
from swapdesk.tui.commands.everywhere import HIDE_AMOUNTS, KEYS, PALETTE, RELEASE_MOUSE
from swapdesk.tui.page import Answer, Page, budget_of
from swapdesk.tui.screens.create_form import (
    BUSY,
    CreateForm,
    CreateState,
    IntentFacts,
    IntentPanel,
    first_payment,
    intent_state,
    summary,
)
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.lines_view import TextRows
from swapdesk.tui.widgets.overlay import Question
from swapdesk.tui.widgets.quote_table import compared_symbol
from swapdesk.wire.encoding.numbers import NumberError

if TYPE_CHECKING:
    from swapdesk.flows.dex.swap_account import SwapAccount
    from swapdesk.flows.intents.intent import DexTerms
    from swapdesk.wallet.accounts import Account

URGENT_SECONDS = 15
ASKS_AGAIN = ("you: ask for new quotes", "you: try again")
"""The suggestions of failure messages that a new quote on this page fulfils."""
FUNDS = "in your wallet."
CHANGED_MEANWHILE = "A name means another address now. Nothing was created."
NOT_SENT = "Another order is being created. This one was not sent: press c again later."
NOT_WHOLE = "enlarge the window"


class CreateScreen(Page):
    """The page where the user says who receives the payment, and reviews what will be confirmed.
    Only the key ``c`` creates the order or starts signing."""

    NAME = "Create"
    SPENDS = "exchange"
    VERBS = (CREATE, NEW_QUOTE, EDIT, NEXT_FIELD, COMPLETE, FIELD_BELOW, FIELD_ABOVE, BACK)
    AUTO_FOCUS: ClassVar[str | None] = ""

    def __init__(
        self, session: Session, result: QuoteResult, row: RankedQuote, typed: TypedBefore
    ) -> None:
        """Makes the page for the route ``row`` of the quotes in ``result``. ``typed`` has the first
        values of the fields and receives every change."""
        super().__init__(session, context=_what(result))
        self.state = CreateState(result, row)
        self._seen_whole = False
        self._opened_locked = False
        self._again = AskingAgain()
        self._consented = ("", Consent())
        self._typed = typed
        self._form = CreateForm(session.desk, result, row, typed)
        self._panel = IntentPanel(IntentFacts([]), classes="side")
        self._summary = TextRows(id="summary")

    def compose_body(self) -> Iterable[Widget]:
        yield self._form
        yield self._summary

    def compose_side(self) -> Iterable[Widget]:
        yield self._panel

    def on_mount(self) -> None:
        self._form.focus_first()
        self._find_account()
        self.show()

    # what there is

    @property
    def counting(self) -> bool:
        return self.state.step in ("open", "ready")

    def expired(self) -> bool:
        return self.state.row.expired(self.now())

    def consent(self) -> Consent:
        """Returns what the user has to agree to before the order is created: warnings about the
        quote, and doubts about addresses and memos."""
        row = self.state.row
        quote_id, consent = self._consented
        if quote_id != row.quote_id:
            consent = consent_for(self.state.result, row, self.desk.catalog, self.now())
            self._consented = (row.quote_id, consent)
        for doubt in self._form.checked.doubts:
            consent = consent.also(doubt)
        return consent

    def _typing(self) -> bool:
        return self.focused is not self._panel

    # drawing

    # Of another size the locked intent may be seen whole now, or no longer.
    @on(IntentPanel.Laid)
    def show(self) -> None:
        state, checked, now = self.state, self._form.checked, self.now()
        self._form.show()
        lack = state.lack_check()
        if not checked.recipient.text and lack is not None:
            self._form.say_recipient(lack)
        budget = budget_of(self.link, "exchange") if self.link is not None else None
        cost = "1 exchange" if budget is None else f"1 exchange of {budget.left}"
        self._panel.show(intent_state(state, checked, cost, self._verdict(checked, lack), now))
        self._summary.show(summary(state, now))
        whole = self._panel.whole
        if whole is not self._seen_whole:
            # What makes the create key work is a change of the screen, whatever made it.
            self._seen_whole = whole
            self.guard.changed(self.guard.step)
        self._say_money(checked)
        self.refresh_keys()

    def _verdict(self, checked: Checked, lack: CheckLine | None) -> CheckLine | None:
        state, problems = self.state, checked.problems
        if state.busy or state.step == "failed":
            return state.said
        if self._asks:
            turn = self._again.turn
            words = "asking for a new quote"
            return CheckLine("unknown", f"{words}, {turn}" if turn else words)
        if again := self._said_again():
            return CheckLine("warn", "The calls of this window are used up:", again)
        if self.expired():
            ended = quote_ended(state.row.expires_at)
            return CheckLine("warn", ended, f"{self._asking_key()} asks again.")
        if problems:
            them = "it" if problems == 1 else "them"
            words = f"{counted(problems, 'problem')}:"
            return CheckLine("refuse", words, f"correct {them} first")
        if lack is not None:
            return lack
        consent = self.consent()
        if consent.refused:
            return CheckLine("refuse", consent.refused)
        if state.step == "ready":
            does = "c starts the signing" if state.row.on_chain else "c creates the order"
            return CheckLine("ok", "c asks you to agree first" if consent.phrase else does)
        return CheckLine("ok", "complete:", "enter locks it")

    @property
    def _asks(self) -> bool:
        return "quotes" in self.fetching

    def _said_again(self) -> str:
        return self._again.words(self.session.clock.monotonic())

    def _asking_key(self) -> str:
        return IN_FIELDS if self._typing() else NEW_QUOTE.shown_key

    def _say_money(self, checked: Checked) -> None:
        state = self.state
        where, urgent, failed = FUNDS, False, state.step == "failed"
        if state.step == "sent":
            next_ = "the service: it creates the order"
        elif state.busy:
            where, next_ = "in your wallet; nothing was paid.", "the desk: it looks for the order"
        elif failed and state.failed is not None and state.failed.next not in ASKS_AGAIN:
            where, next_ = f"{state.failed.money}.", state.failed.next
        elif failed or self.expired():
            next_ = f"you: {self._asking_key()} asks for a new quote, 1 quote"
        elif state.step == "ready":
            left = (state.row.expires_at - self.now()).total_seconds()
            urgent = left < URGENT_SECONDS
            does = "signs" if state.row.on_chain else "creates"
            next_ = f"you: c {does} within {countdown(left)}"
            if not self._panel.whole:
                next_ = "you: make the window larger"
        else:
            next_ = _next_input(checked)
        self.set_money(where, next_, urgent=urgent)

    def _hide(self, positions: frozenset[int]) -> None:
        self.state.hidden = positions
        self._form.hide(positions)
        self.show()

    # keys

    def standings(self) -> Standings:
        step, typing = self.state.step, self._typing()
        everywhere = (verb for verb in self.verbs_here() if verb.everywhere)
        # In a field their letters are typed; outside of it nothing of the intent locks them.
        others = dict.fromkeys(everywhere, step == "unknown" or not (typing or step in BUSY))
        others |= {HIDE_AMOUNTS: True, RELEASE_MOUSE: True}
        if step in BUSY:
            return {**dict.fromkeys(self.VERBS, False), **others, BACK: True}
        over, at_end = step == "failed" or self.expired(), self._form.at_end
        most = self._again.most
        return {
            **others,
            **dict.fromkeys((KEYS, PALETTE), True),
            **dict.fromkeys((COMPLETE, FIELD_BELOW, FIELD_ABOVE), typing),
            CREATE: CommandState(
                verb="start signing" if self.state.row.on_chain else "",
                locked=self._locked(),
                hidden=typing or over,
            ),
            NEW_QUOTE: CommandState(
                key=IN_FIELDS if typing else "",
                cost="1 quote" if most == 1 else f"1 to {most} quotes",
                locked="asked already" if self._asks else self._said_again(),
                hidden=not over,
            ),
            # Beside a quote that ended its letter is a slip: what is typed after it would be the
            # recipient. A new quote comes first.
            EDIT: not typing and (step == "failed" or not over),
            NEXT_FIELD: CommandState(
                verb="lock intent" if at_end else "",
                hidden=not typing and (step == "ready" or over or not at_end),
            ),
        }

    def _locked(self) -> str:
        state = self.state
        if lack := state.lack():
            return lack
        if problems := self._form.checked.problems:
            return counted(problems, "problem")
        consent = self.consent()
        if consent.refused:
            return consent.refused.rstrip(".")
        if not self.session.ready:
            return "the service is not connected"
        if state.intent is None:
            return "enter locks the intent"
        return "" if self._panel.whole else NOT_WHOLE

    def do_next_field(self) -> None:
        if self._typing():
            self._form.next_field()
        else:
            self._lock()

    def do_edit(self) -> None:
        self.state.unlock()
        self.set_class(False, "-review")
        self._form.focus_first()
        self.show()

    def do_complete(self) -> None:
        notice = self._form.complete_name()
        if notice is not None:
            self.show_notice(notice, "warning", about=self.subject())

    def do_step(self, by: int) -> None:
        self._form.step(by)

    # the form and locking it

    @on(CreateForm.Edited)
    def _edited(self) -> None:
        """Discards the payment that was locked for confirmation if a changed field means a
        different payment. A memo that the form itself filled in does not count as a change."""
        if self.state.busy:
            return
        if not self._stands():
            self.state.intent, self.state.step = None, "open"
        self._form.keep_in(self._typed)
        self.settle_notice(self._form.values)
        self.show()

    @on(CreateForm.Completed)
    def _completed(self) -> None:
        if not self.state.busy:
            self._lock()

    def subject(self) -> object:
        return self._form.values

    def _lock(self) -> None:
        """Locks the present values of the fields for confirmation by the create key. A notice says
        why if that is impossible."""
        state, checked = self.state, self._form.check()
        kind = IntentKind.PRIVATE_SEND if state.result.private_send else IntentKind.EXCHANGE
        try:
            intent = lock_for_review(
                kind,
                state.row,
                state.result,
                checked.recipient,
                checked.memo,
                checked.refund,
                self.desk.clock,
                intermediate=checked.intermediate,
                dex=self._dex_terms(),
            )
            if intent.dex is not None:
                promise_of(intent)
        except (NotLockable, NoDexSwap, NumberError) as refused:
            state.intent = None
            self.show_notice(f"Nothing was confirmed: {refused}.", "error", about=self.subject())
            return
        state.intent, state.step = intent, "ready"
        self.set_class(True, "-review")
        self._panel.focus()
        self.step_changed(intent.id)
        self.show()
        if not state.row.on_chain:
            # The balance is that of this moment, not of the form's opening; a swap on chains has
            # read its account.
            self._find_account()

    def _dex_terms(self) -> DexTerms | None:
        state = self.state
        if not state.row.on_chain or state.account is None:
            return None
        from swapdesk.flows.catalog.catalog import coin_price
        from swapdesk.flows.intents.intent import SLIPPAGE, terms_of

        chain, asked = state.result.token_in.chain_data, state.result.request.slippage
        return terms_of(
            state.row.quote,
            state.account.account.address,
            coin_price(self.desk.catalog, chain.short_name),
            SLIPPAGE if asked is None else asked,
            kind=chain.kind,
        )

    def _unlock(self) -> None:
        """Discards the payment that was locked for confirmation if the fields now mean a different
        payment, for example because a name got a new address."""
        self._form.check()
        if self.state.step != "ready" or self._stands():
            return
        # The focus stays: a key meant for the intent must not be typed into a field.
        self.state.unlock()
        self.step_changed("unlocked")
        self.show()
        self.show_notice(CHANGED_MEANWHILE, "warning", about=self.subject())

    def _stands(self) -> bool:
        """Returns True if the user locked a payment for confirmation and the fields still mean that
        payment."""
        intent, checked = self.state.intent, self._form.checked
        return (
            self.state.step == "ready"
            and intent is not None
            and still_stands(
                intent, checked.recipient, checked.memo, checked.refund, checked.intermediate
            )
        )

    # sending

    def do_create(self) -> None:
        """Creates the order or begins the signing, after the user has answered every question about
        the payment."""
        self._unlock()
        intent, guard = self.state.intent, self.session.live_guard
        if intent is None or self.state.step != "ready":
            return
        challenge = challenge_for(self._form.checked.recipient, intent.id)
        consent = self.consent()
        asked: list[tuple[Question, frozenset[int]]] = []
        if guard.asks:
            asked.append((guard.question(), frozenset()))
        if challenge is not None:
            # What the first payment to an address asks for are dots on the screen meanwhile.
            asked.append((first_payment(challenge), challenge.hidden))
        if consent.phrase:
            title = "Before this order is created"
            question = Question(title, consent.lines, consent.phrase, "agree")
            asked.append((question, frozenset()))
        self._ask_in_turn(intent, asked)

    def _ask_in_turn(
        self, intent: Intent, asked: Sequence[tuple[Question, frozenset[int]]]
    ) -> None:
        """Asks the questions in ``asked`` in turn, then creates the order. Each is paired with the
        positions to hide in the address. Nothing is sent if the fields or their meaning changed
        meanwhile, or if the quote expired."""
        if not asked:
            self._send(intent)
            return
        (question, hidden), *others = asked
        self._hide(hidden)

        def agreed() -> None:
            same = self.state.intent is intent and self.state.step == "ready"
            if same and not self.expired():
                if self.session.live_guard.asks:
                    # Its question is always the first.
                    self.session.live_guard.agree()
                self._ask_in_turn(intent, others)

        self.confirm(question, agreed, partial(self._hide, frozenset()))

    def _send(self, intent: Intent) -> None:
        """Begins to create the order of ``intent`` or to sign its swap, once. If the desk is busy
        with another order, a notice says that nothing was sent."""
        state, account = self.state, self.state.account
        signs = intent.dex is not None
        if state.step != "ready" or not (signs or self.controls.creates.create(intent)):
            if not signs:
                self.show_notice(NOT_SENT, "warning")
            return
        state.sent_intent, state.step = intent.id, "sent"
        asked = f"asked at {clock_time(self.now())}, waiting for the answer"
        state.said = CheckLine("unknown", asked)
        self.step_changed("sent")
        self.show()
        if signs:
            name, plan = (account.name, account.plan) if account is not None else ("", None)
            # Not awaited here: the pages above the first one, this one among them, go.
            self.app.call_later(self.controls.signing.swap, intent, wallet=name, plan=plan)

    def waiting(self) -> None:
        """Shows that the service did not answer the create request and that the desk looks for the
        order."""
        state = self.state
        if state.step == "sent":
            state.step = "looking"
            looks = "The desk looks for it."
            state.said = CheckLine("warn", OUTCOME_UNKNOWN.cause, looks)
            self.show()

    def ended(self, outcome: NotCreated | CreateUnknown) -> None:
        """Shows the outcome of a create request that led to no known order."""
        self.refresh_frame()
        self.state.ended(outcome)
        self.step_changed(self.state.step)
        self.show()

    # while it stands

    def on_tick(self) -> None:
        if self.state.step == "ready" and self.expired():
            self.state.unlock()
            self.step_changed("expired")
        if self._again.is_due(self.session.clock.monotonic()):
            self._ask(by_itself=True)
        self.show()

    def session_changed(self) -> None:
        self._unlock()
        self.show()

    def on_descendant_focus(self) -> None:
        if self.focused is not None and self.focused is not self._panel:
            self.set_class(False, "-review")
        self.show()

    # a new quote

    def do_new_quote(self) -> None:
        """Asks for a new quote of the same route. The fields keep their values."""
        self._ask()

    def _ask(self, *, by_itself: bool = False) -> None:
        if self._asks or self.link is None:
            return
        self._again.begin(by_itself=by_itself)
        state, repeats = self.state, self._again.may_repeat
        # One route is asked for again: its kind of rate alone, so that it costs one quote.
        asked = self.link.quotes.ask_rate(
            state.result, fixed=state.row.quote.fixed, on_repeat=repeats
        )
        self.fetch("quotes", asked, self._arrived, self._quotes_failed)
        self.show()

    def _arrived(self, result: QuoteResult) -> None:
        self._again.answered()
        state, before = self.state, self.state.row
        for screen in self.app.screen_stack:
            take = getattr(screen, "take", None)
            if take is not None:
                take(result)
        if not state.requoted(result):
            self.show()
            return
        self._find_account()
        if self._typing() or self._form.checked.problems:
            # Whoever types goes on typing: the next letter would be a key of the locked intent.
            self.show()
        else:
            self._lock()
        lost = lost_percent(before, state.row)
        if lost is not None:
            symbol, receive = compared_symbol(result.request), result.request.receive
            notice = rate_worse(symbol, state.row.figure, lost, receive=receive)
            self.show_notice(notice, "warning")

    def _quotes_failed(self, error: ClientError) -> None:
        wait = self.link.api.budget.wait_for("quote") if self.link is not None else None
        self._again.refused(error, wait, self.session.clock.monotonic())
        self.show_failure(error)
        self.show()

    def work_failed(self, group: str) -> None:
        super().work_failed(group)
        if group == "create" and self.state.step == "sent":
            self.waiting()

    # the wallet

    def _find_account(self) -> None:
        if self.link is not None:
            on_chain = self.state.row.on_chain
            if on_chain:
                self.fills_wallet()
                self._ask_account(self._swap_account())
            else:
                # A wallet that cannot be asked has none to name; nothing here depends on it.
                self._ask_wallet(self._own_accounts(), self._balance_known, lambda error: None)

    def _ask_wallet(
        self,
        question: Awaitable[Answer],
        answered: Callable[[Answer], None],
        failed: Callable[[Exception], None],
    ) -> None:
        from swapdesk.flows.dex.swap_account import NoSwapAccount
        from swapdesk.wallet.protocol import WalletError

        self.fetch("wallet", question, answered, failed, (NoSwapAccount, WalletError))

    def _ask_account(self, question: Awaitable[SwapAccount]) -> None:
        self._ask_wallet(question, self._account_read, self._no_account)

    def balances_changed(self) -> None:
        from swapdesk.flows.dex.swap_account import read_again

        account = self.state.account
        if self.link is not None and account is not None and account.plan is not None:
            self._ask_account(read_again(self.desk, account, self.state.result.token_in))
        elif self.link is not None:
            self.state.own_balance = None
            self._find_account()
        self.show()

    async def _own_accounts(self) -> Decimal | None:
        from swapdesk.flows.wallet.own_accounts import own_accounts, own_balance

        result = self.state.result
        accounts = await own_accounts(self.desk, result.token_out, result.token_in)
        if accounts:
            self.call_later(self._own_read, accounts)
        balance = await own_balance(self.desk, result.token_in)
        return None if isinstance(balance, str) else balance.amount

    async def _swap_account(self) -> SwapAccount:
        from swapdesk.flows.dex.swap_account import find_account, with_plan

        result, quote_id = self.state.result, self.state.row.quote_id
        sold, bought = result.token_in, result.token_out
        async for account in find_account(self.desk, sold, bought, payer=result.request.account):
            self.call_later(self._account_read, account)
        return await with_plan(self.desk, account, quote_id)

    def _balance_known(self, amount: Decimal | None) -> None:
        self.state.own_balance = amount
        self.show()

    def _own_read(self, accounts: tuple[Account, ...]) -> None:
        self._form.own(accounts)
        self.show()

    def _account_read(self, account: SwapAccount) -> None:
        state = self.state
        state.account, state.problem = account, ""
        self._form.own(account.own, account.payee)
        self.show()
        if self._opened_locked or state.step != "open" or account.plan is None or state.lack():
            return
        if self._form.complete and not self.expired():
            self._opened_locked = True
            self._lock()

    def _no_account(self, error: Exception) -> None:
        from swapdesk.flows.wallet.wallet_words import failure_of_wallet
        from swapdesk.wallet.protocol import WalletError

        problem = str(error)
        if isinstance(error, WalletError):
            failure = failure_of_wallet(error)
            problem = f"{failure.cause} Next {failure.next}."
        self.state.problem = problem
        self.show()


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


def _what(result: QuoteResult) -> str:
    sold, bought = result.token_in.symbol, result.token_out.symbol
    amount = copied_amount(result.amount)
    if result.private_send:
        return f"{amount} {sold} privately"
    if result.request.receive:
        return f"{sold} → {amount} {bought}"
    return f"{amount} {sold} → {bought}"

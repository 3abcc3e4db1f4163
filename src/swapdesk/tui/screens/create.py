"""Whom to pay, then exactly what is about to be confirmed; ``c`` acts on that alone.

The form has the fields, ``CreateState`` what is locked and sent, ``PayingAccount`` what the wallet
says.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.flows.creation.confirm_intent import (
    Consent,
    NotLockable,
    consent_for,
    lock_for_review,
    still_stands,
)
from swapdesk.flows.creation.create_checks import Checked, TypedBefore
from swapdesk.flows.dex.dex_plan import NoDexSwap, promise_of
from swapdesk.flows.intents.intent import Intent, IntentKind
from swapdesk.flows.notation import copied_amount
from swapdesk.flows.payees.recipients import challenge_for
from swapdesk.flows.quotes.requote import AskingAgain, lost_percent
from swapdesk.tui.commands.command import CommandState, Verb
from swapdesk.tui.commands.create import (
    BACK,
    COMPLETE,
    CREATE,
    EDIT,
    FIELD_ABOVE,
    FIELD_BELOW,
    NEW_QUOTE,
    NEXT_FIELD,
)
from swapdesk.tui.messages import BalanceKnown
from swapdesk.tui.page import Page, budget_of
from swapdesk.tui.screens.create_asking import ask_before_sending
from swapdesk.tui.screens.create_facts import Draft, IntentFacts, LockedPanel, intent_state, summary
from swapdesk.tui.screens.create_form import CreateForm
from swapdesk.tui.screens.create_state import (
    CHANGED_MEANWHILE,
    AccountFailed,
    AccountRead,
    CreateState,
    CreateStep,
    OwnAccountsRead,
    PayingAccount,
    locked,
    money_of,
    standing_of,
    verdict_of,
    worse_quote,
)
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.form_fields import Check, CheckMark
from swapdesk.tui.widgets.lines_view import TextRows
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.wire.encoding.numbers import NumberError

if TYPE_CHECKING:
    from swapdesk.flows.creation.order_verification import CreateUnknown, NotCreated
    from swapdesk.flows.dex.swap_account import SwapAccount
    from swapdesk.flows.quotes.quoting import QuoteResult
    from swapdesk.flows.quotes.ranking import RankedQuote

NOT_SENT = "Another order is being created. This one was not sent: press c again later."


class CreateScreen(Page):
    """Whom to pay, then exactly what is about to be confirmed; `c` acts on that alone."""

    NAME = "Create"
    SPENDS = "exchange"
    VERBS = (CREATE, NEW_QUOTE, EDIT, NEXT_FIELD, COMPLETE, FIELD_BELOW, FIELD_ABOVE, BACK)
    AUTO_FOCUS: ClassVar[str | None] = ""

    def __init__(
        self, session: Session, board: QuoteResult, row: RankedQuote, typed: TypedBefore
    ) -> None:
        """``typed`` is what the form begins with; it is kept up to date for the next form."""
        super().__init__(session, context=_what(board))
        self.state = CreateState(board, row)
        self._payer = PayingAccount(session.desk, self.post_message)
        self._hidden: frozenset[int] = frozenset()
        self._seen_whole = False
        self._asking = False
        self._opened_locked = False
        self._again = AskingAgain()
        self._consented = ("", Consent())
        self._typed = typed
        self._form = CreateForm(session.desk, board, row, typed)
        self._panel = LockedPanel(IntentFacts([]), classes="side")
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
    def board(self) -> QuoteResult:
        return self.state.board

    @property
    def row(self) -> RankedQuote:
        return self.state.row

    @property
    def counting(self) -> bool:
        return self.state.step in (CreateStep.OPEN, CreateStep.READY)

    def expired(self) -> bool:
        return self.row.expired(self.now())

    def consent(self) -> Consent:
        """That of the quote, with what is doubted of the addresses and memos.

        The former is found once: looking for imitations reads the whole list of tokens.
        """
        quote_id, consent = self._consented
        if quote_id != self.row.quote_id:
            consent = consent_for(self.board, self.row, self.desk.catalog, self.now())
            self._consented = (self.row.quote_id, consent)
        checked = self._form.checked()
        for doubt in checked.doubts:
            consent = consent.also(doubt)
        return consent

    def _typing(self) -> bool:
        return self.focused is not self._panel

    # drawing

    def show(self) -> None:
        state, checked, now = self.state, self._form.checked(), self.now()
        self._form.show(checked)
        lack = self._payer.lack_check(state.board, state.row)
        if not checked.recipient.text and lack is not None:
            self._form.say_recipient(lack)
        draft = Draft(
            state.board,
            state.row,
            checked.recipient,
            checked.memo,
            checked.refund,
            checked.intermediate,
            hidden=self._hidden,
            intent=state.intent,
            was=state.was,
            cost=self._cost(),
            verdict=self._verdict(checked, lack),
            account=self._payer.account,
            have=self._payer.balance,
        )
        self._panel.show(intent_state(draft, now))
        self._summary.show(summary(draft, now))
        self._restart_stillness()
        self._say_money(checked)
        self.refresh_keys()

    def _restart_stillness(self) -> None:
        """What makes the create key work is a change of the screen, whatever made it."""
        whole = self._panel.whole
        if whole is not self._seen_whole:
            self._seen_whole = whole
            self.guard.changed(self.guard.step)

    def _cost(self) -> str:
        link = self.link
        budget = budget_of(link, "exchange") if link is not None else None
        return "1 exchange" if budget is None else f"1 exchange of {budget.left}"

    def _verdict(self, checked: Checked, lack: Check | None) -> Check | None:
        state = self.state
        if state.busy or state.step is CreateStep.FAILED:
            return state.said
        if self._asking:
            turn = self._again.turn
            said = "asking for a new quote"
            return Check(CheckMark.UNKNOWN, f"{said}, {turn}" if turn else said)
        if again := self._said_again():
            return Check(CheckMark.WARNING, "The calls of this window are used up:", again)
        if not checked.problems and not self.expired() and lack is not None:
            return lack
        return verdict_of(
            state.step, state.row, checked, self.consent(), self.now(), typing=self._typing()
        )

    def _said_again(self) -> str:
        """When a new quote is asked for again by itself; empty when it is not."""
        return self._again.words(self.session.clock.monotonic())

    def _say_money(self, checked: Checked) -> None:
        money = money_of(
            self.state.step,
            self.row,
            checked,
            self.now(),
            typing=self._typing(),
            whole=self._panel.whole,
            after=self.state.failed,
        )
        self.set_money(money.where, money.next_, urgent=money.urgent)

    def _hide(self, positions: frozenset[int]) -> None:
        """Dots in place of what the user is asked to read elsewhere."""
        self._hidden = positions
        self._form.hide(positions)
        self.show()

    def verb_standing(self, verb: Verb) -> CommandState:
        state = self.state
        return standing_of(
            verb,
            state.step,
            typing=self._typing(),
            expired=self.expired(),
            asked="asked already" if self._asking else self._said_again(),
            most=self._again.most,
            on_chain=state.row.on_chain,
            at_end=lambda: self._form.at_end,
            locked=lambda: (
                self._payer.lack(state.board, state.row)
                or locked(
                    self._form.checked(),
                    self.consent(),
                    connected=self.session.ready,
                    locked=state.intent is not None,
                    whole=self._panel.whole,
                )
            ),
        )

    # the form and locking it

    @on(CreateForm.Edited)
    def _edited(self) -> None:
        """Another value: nothing is locked any more. What the form filled in itself may be told
        when it is locked already, and is none."""
        if self.state.busy:
            return
        if not self._stands():
            self.state.edited()
        self._form.keep_in(self._typed)
        self.settle_notice(self._form.values)
        self.show()

    @on(CreateForm.Completed)
    def _completed(self) -> None:
        if not self.state.busy:
            self._lock()

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        self.show_notice(event.reason, "warning", about=self._form.values)

    @on(LockedPanel.Laid)
    def _laid(self) -> None:
        """Another size: the locked intent may be seen whole now, or no longer."""
        self.show()

    def _lock(self) -> None:
        """What stands here now is what would be confirmed."""
        state, checked = self.state, self._form.checked()
        kind = IntentKind.PRIVATE_SEND if state.board.private_send else IntentKind.EXCHANGE
        try:
            intent = lock_for_review(
                kind,
                state.row,
                state.board,
                checked.recipient,
                checked.memo,
                checked.refund,
                self.desk.clock,
                intermediate=checked.intermediate,
                dex=self._payer.dex_terms(state.board, state.row),
            )
            if intent.dex is not None:
                promise_of(intent)
        except (NotLockable, NoDexSwap, NumberError) as refused:
            state.intent = None
            self.show_notice(f"Nothing was confirmed: {refused}.", "error", about=self._form.values)
            return
        state.lock(intent)
        self.set_class(True, "-review")
        self._panel.focus()
        self.step_changed(intent.id)
        self.show()

    # sending

    def do_create(self) -> None:
        self._unlock()
        intent = self.state.intent
        if intent is None or self.state.step is not CreateStep.READY:
            return

        def stands() -> bool:
            state = self.state
            return state.intent is intent and state.step is CreateStep.READY and not self.expired()

        ask_before_sending(
            self.app,
            self.session.live_guard,
            self.consent(),
            challenge_for(self._form.checked().recipient, intent.id),
            hide=self._hide,
            stands=stands,
            send=lambda: self._send(intent),
        )

    def _send(self, intent: Intent) -> None:
        """Hand the intent on to what creates it: it leaves once."""
        if intent.dex is not None:
            self._sign(intent)
            return
        if self.state.step is not CreateStep.READY or not self.controls.creates.create(intent):
            self.show_notice(NOT_SENT, "warning")
            return
        self.state.sent(intent, self.now())
        self.step_changed("sent")
        self.show()

    def _sign(self, intent: Intent) -> None:
        if self.state.step is not CreateStep.READY:
            return
        self.state.sent(intent, self.now())
        self.step_changed("sent")
        account = self._payer.account
        name, plan = (account.name, account.plan) if account is not None else ("", None)
        # Not awaited here: the pages above the first one, this one among them, go.
        self.app.call_later(self.controls.signing.swap, intent, wallet=name, plan=plan)

    def waiting(self) -> None:
        """No answer came; the desk looks for the order."""
        if self.state.step is CreateStep.SENT:
            self.state.looking()
            self.show()

    def ended(self, outcome: NotCreated | CreateUnknown) -> None:
        """The create came to an outcome that is no order."""
        self.refresh_frame()
        self.state.ended(outcome)
        self.step_changed(self.state.step.value)
        self.show()

    # while it stands

    def on_tick(self) -> None:
        if self.state.step is CreateStep.READY and self.expired():
            self.state.unlock()
            self.step_changed("expired")
        if self._again.is_due(self.session.clock.monotonic()):
            self._ask(by_itself=True)
        self.show()

    def session_changed(self) -> None:
        self._unlock()
        self.show()

    def _unlock(self) -> None:
        """What is locked is no longer what the form says: a name means another address now."""
        if self.state.step is not CreateStep.READY or self._stands():
            return
        # The focus stays: a key meant for the intent must not be typed into a field.
        self.state.unlock()
        self.step_changed("unlocked")
        self.show()
        self.show_notice(CHANGED_MEANWHILE, "warning", about=self._form.values)

    def _stands(self) -> bool:
        """Whether an intent is locked, and is what the form says."""
        intent, checked = self.state.intent, self._form.checked()
        return (
            self.state.step is CreateStep.READY
            and intent is not None
            and still_stands(
                intent, checked.recipient, checked.memo, checked.refund, checked.intermediate
            )
        )

    def on_descendant_focus(self) -> None:
        if self.focused is not None and self.focused is not self._panel:
            self.set_class(False, "-review")
        self.show()

    # keys

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
        said = self._form.complete_name()
        if said is not None:
            self.show_notice(said, "warning", about=self._form.values)

    def do_field_below(self) -> None:
        self._form.step(1)

    def do_field_above(self) -> None:
        self._form.step(-1)

    # a new quote

    def do_new_quote(self) -> None:
        """Ask again, keep what was typed, show what changed."""
        self._ask()

    def _ask(self, *, by_itself: bool = False) -> None:
        if self._asking or self.link is None:
            return
        self._asking = True
        self._again.begin(by_itself=by_itself)
        self.run_worker(self._fetch(), group="quotes", exclusive=True, exit_on_error=False)
        self.show()

    async def _fetch(self) -> None:
        # One route is asked for again: its kind of rate alone, so that it costs one quote.
        quotes, repeats = self.desk.link.quotes, self._again.may_repeat
        fixed = self.row.quote.fixed
        try:
            board = await quotes.ask_rate(self.board, fixed=fixed, on_repeat=repeats)
        except ClientError as error:
            self.call_later(self._quotes_failed, error)
        else:
            self.call_later(self._arrived, board)

    def _arrived(self, board: QuoteResult) -> None:
        self._asking = False
        self._again.answered()
        self.refresh_frame()
        before = self.row
        for screen in self.app.screen_stack:
            take = getattr(screen, "take", None)
            if take is not None:
                take(board)
        if not self.state.requoted(board):
            self.show()
            return
        self._find_account()
        if self._typing() or self._form.checked().problems:
            # Whoever types goes on typing: the next letter would be a key of the locked intent.
            self.show()
        else:
            self._lock()
        lost = lost_percent(before, self.row)
        if lost is not None:
            self.show_notice(worse_quote(self.board, self.row, lost), "warning")

    def _quotes_failed(self, error: ClientError) -> None:
        self._asking = False
        wait = self.link.api.budget.wait_for("quote") if self.link is not None else None
        self._again.refused(error, wait, self.session.clock.monotonic())
        self.show_failure(error)
        self.show()

    def work_failed(self, group: str) -> None:
        self._asking = False
        if group == "create" and self.state.step is CreateStep.SENT:
            self.waiting()

    # the wallet

    def _find_account(self) -> None:
        if self.link is not None:
            self._ask_wallet(self._payer.find(self.board, self.row))

    def _ask_wallet(self, question: Coroutine[Any, Any, None]) -> None:
        self.run_worker(question, group="wallet", exclusive=True, exit_on_error=False)

    def balances_changed(self) -> None:
        if self.link is not None:
            self._ask_wallet(self._payer.find_again(self.board, self.row))
        self.show()

    @on(BalanceKnown)
    def _balance_known(self, event: BalanceKnown) -> None:
        self._payer.own_balance = event.amount
        self.show()

    @on(OwnAccountsRead)
    def _own_read(self, event: OwnAccountsRead) -> None:
        self._form.own(event.accounts)
        self.show()

    @on(AccountRead)
    def _account_read(self, event: AccountRead) -> None:
        self._payer.read(event.found)
        self._form.own(event.found.own, event.found.payee)
        self.show()
        self._lock_by_itself(event.found)

    def _lock_by_itself(self, found: SwapAccount) -> None:
        """Once, where nothing is left to type: the own account pays and is paid, and what it
        takes is known. The key that starts the signing waits for a still screen as ever."""
        state = self.state
        lacks = self._payer.lack(state.board, state.row)
        if self._opened_locked or state.step is not CreateStep.OPEN or found.plan is None or lacks:
            return
        if self._form.complete and not self.expired():
            self._opened_locked = True
            self._lock()

    @on(AccountFailed)
    def _account_failed(self, event: AccountFailed) -> None:
        self._payer.failed(event.said)
        self.show()


def _what(board: QuoteResult) -> str:
    """``0.5 BTC → ETH``; the amount stands at the side that was stated."""
    sold, bought, amount = (
        board.token_in.symbol,
        board.token_out.symbol,
        copied_amount(board.amount),
    )
    if board.private_send:
        return f"{amount} {sold} privately"
    if board.wish.receive:
        return f"{sold} → {amount} {bought}"
    return f"{amount} {sold} → {bought}"

"""Whom to pay, then exactly what is about to be confirmed; ``c`` acts on that alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.flows.announcements import (
    code_and_request,
    failure_of_error,
    rate_worse,
    refused_fields,
)
from swapdesk.flows.consent import Consent, consent_for
from swapdesk.flows.create_outcome import NotCreated, Unknown
from swapdesk.flows.freezing import freeze
from swapdesk.flows.intent import Intent, IntentKind
from swapdesk.flows.notation import clock_time, copied_amount
from swapdesk.flows.requote import follow_route, lost_percent
from swapdesk.flows.wording import OUTCOME_UNKNOWN
from swapdesk.tui.commands.command import HIDDEN, READY, Command, Standing
from swapdesk.tui.commands.create import (
    Back,
    Complete,
    Create,
    FieldAbove,
    FieldBelow,
    NewQuote,
    NextField,
)
from swapdesk.tui.messages import QuotesArrived, QuotesFailed
from swapdesk.tui.page import Page, budget_of
from swapdesk.tui.screens.create_facts import Draft, FrozenPanel, intent_state, summary
from swapdesk.tui.screens.create_form import Checked, CreateForm
from swapdesk.tui.screens.create_words import BUSY, Step, money_of, verdict_of
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.check_line import Check, Verdict
from swapdesk.tui.widgets.intent_panel import IntentState
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.tui.widgets.text_rows import TextRows
from swapdesk.tui.widgets.typed_confirm import Question, TypedConfirm

if TYPE_CHECKING:
    from decimal import Decimal

    from swapdesk.flows.quoting import QuoteBoard
    from swapdesk.flows.ranking import RankedQuote


@dataclass
class TypedBefore:
    """Recipient and memo as typed, so that going back to the routes loses nothing."""

    recipient: str = ""
    memo: str = ""


class CreateScreen(Page):
    """The form of one chosen route. ``sent_intent`` is the id of the intent that left."""

    NAME = "Create"
    SPENDS = "exchange"
    VERBS = (Create, NewQuote, NextField, Complete, FieldBelow, FieldAbove, Back)
    AUTO_FOCUS: ClassVar[str | None] = ""

    def __init__(
        self, session: Session, board: QuoteBoard, row: RankedQuote, typed: TypedBefore
    ) -> None:
        """``typed`` is what the form begins with; it is kept up to date for the next form."""
        between = f"{board.token_in.symbol} → {board.token_out.symbol}"
        if board.private_send:
            between = f"{board.token_in.symbol} privately"
        super().__init__(session, context=f"{copied_amount(board.amount)} {between}")
        self.board, self.row = board, row
        self.sent_intent: str | None = None
        self.step = Step.OPEN
        self._intent: Intent | None = None
        self._was: Decimal | None = None
        self._said: Check | None = None
        self._asking = False
        self._consented = ("", Consent())
        self._typed = typed
        self._form = CreateForm(
            session.desk,
            board,
            refund="refund address" in row.badges,
            typed=(typed.recipient, typed.memo),
        )
        self._panel = FrozenPanel(IntentState([]), classes="side")
        self._summary = TextRows(id="summary")

    def compose_body(self) -> Iterable[Widget]:
        yield self._form
        yield self._summary

    def compose_side(self) -> Iterable[Widget]:
        yield self._panel

    def on_mount(self) -> None:
        super().on_mount()
        self._form.focus_first()
        self._show()

    # the form and its freezing

    @on(CreateForm.Edited)
    def _edited(self) -> None:
        """Another value: nothing is frozen any more."""
        if self.step in BUSY:
            return
        self._intent = None
        self.step = Step.OPEN
        self._typed.recipient, self._typed.memo = self._form.typed
        self._show()

    @on(CreateForm.Completed)
    def _completed(self) -> None:
        if self.step not in BUSY:
            self._freeze()

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        self.show_notice(event.reason, "warning")

    def _freeze(self) -> None:
        """What stands here now is what would be confirmed."""
        checked = self._form.checked()
        kind = IntentKind.PRIVATE_SEND if self.board.private_send else IntentKind.EXCHANGE
        self._intent = freeze(
            kind,
            self.row,
            self.board,
            checked.recipient,
            checked.memo,
            checked.refund,
            self.desk.clock,
        )
        self.step = Step.READY
        self.set_class(True, "-review")
        self._panel.focus()
        self.step_changed(self._intent.id)
        self._show()

    def _edit(self) -> None:
        self._intent = None
        if self.step is Step.READY:
            self.step = Step.OPEN
        self.set_class(False, "-review")
        self._form.focus_first()
        self._show()

    def _expired(self) -> bool:
        return self.row.expired(self.now())

    # drawing

    @property
    def counting(self) -> bool:
        return self.step in (Step.OPEN, Step.READY)

    def on_tick(self) -> None:
        if self.step is Step.READY and self._expired():
            self._intent = None
            self.step = Step.OPEN
            self.step_changed("expired")
        self._show()

    def session_changed(self) -> None:
        self._show()

    def on_descendant_focus(self) -> None:
        if self.focused is not None and self.focused is not self._panel:
            self.set_class(False, "-review")
        self.refresh_keys()

    def _show(self) -> None:
        checked = self._form.checked()
        self._form.show(checked)
        now = self.now()
        draft = Draft(
            self.board,
            self.row,
            checked.recipient,
            checked.memo,
            checked.refund,
            intent=self._intent,
            was=self._was,
            cost=self._cost(),
            verdict=self._verdict(checked),
        )
        self._panel.show(intent_state(draft, now))
        self._summary.show(summary(draft, now))
        self._say_money(checked)
        self.refresh_keys()

    def _cost(self) -> str:
        link = self.link
        budget = budget_of(link, "exchange") if link is not None else None
        return "1 exchange" if budget is None else f"1 exchange of {budget.left}"

    def _verdict(self, checked: Checked) -> Check | None:
        if self.step in (*BUSY, Step.FAILED):
            return self._said
        if self._asking:
            return Check(Verdict.UNKNOWN, "asking for a new quote")
        return verdict_of(self.step, self.row, checked, self._consent(), self.now())

    def _consent(self) -> Consent:
        """Found once for each quote: looking for imitations reads the whole list of tokens."""
        quote_id, consent = self._consented
        if quote_id != self.row.quote_id:
            consent = consent_for(self.board, self.row, self.desk.catalog, self.now())
            self._consented = (self.row.quote_id, consent)
        return consent

    def _say_money(self, checked: Checked) -> None:
        money = money_of(self.step, self.row, checked, self.now())
        self.set_money(money.where, money.next_, urgent=money.urgent)

    # keys

    def _typing(self) -> bool:
        return self.focused is not self._panel

    def verb_standing(self, verb: type[Command]) -> Standing:
        if verb is Back:
            return READY
        if self.step in BUSY:
            return HIDDEN
        if verb in (Complete, FieldBelow, FieldAbove):
            return READY if self._typing() else HIDDEN
        if verb is NextField:
            return READY if self._typing() else Standing(verb="edit")
        if self._typing():
            return HIDDEN
        over = self.step is Step.FAILED or self._expired()
        if verb is NewQuote:
            if not over:
                return HIDDEN
            return Standing(locked="asked already") if self._asking else Standing(cost="1 quote")
        return HIDDEN if over else self._create_standing()

    def _create_standing(self) -> Standing:
        problems = self._form.checked().problems
        if problems:
            return Standing(locked=f"{problems} {'problem' if problems == 1 else 'problems'}")
        if (refused := self._consent().refused) is not None:
            return Standing(locked=refused.rstrip("."))
        if not self.session.ready:
            return Standing(locked="the service is not connected")
        return READY if self._intent is not None else Standing(locked="enter freezes the intent")

    def do_next_field(self) -> None:
        if self._typing():
            self._form.next_field()
        else:
            self._edit()

    def do_complete(self) -> None:
        said = self._form.complete_name()
        if said is not None:
            self.show_notice(said, "warning")

    def do_field_below(self) -> None:
        self._form.step(1)

    def do_field_above(self) -> None:
        self._form.step(-1)

    # a new quote

    def do_new_quote(self) -> None:
        """Ask again, keep what was typed, show what changed."""
        if self._asking or self.link is None:
            return
        self._asking = True
        self.run_worker(self._fetch(), group="quotes", exclusive=True, exit_on_error=False)
        self._show()

    async def _fetch(self) -> None:
        quotes, board = self.desk.link.quotes, self.board
        try:
            if board.private_send:
                fresh = await quotes.ask_private_send(board.token_in, board.amount)
            else:
                fresh = await quotes.ask(board.token_in, board.token_out, board.amount)
        except ClientError as error:
            self.post_message(QuotesFailed(error))
        else:
            self.post_message(QuotesArrived(fresh))

    @on(QuotesArrived)
    def _arrived(self, event: QuotesArrived) -> None:
        self._asking = False
        self.step, self._said = Step.OPEN, None
        self.refresh_frame()
        before, row = self.row, follow_route(event.board, self.row)
        for screen in self.app.screen_stack:
            take = getattr(screen, "take", None)
            if take is not None:
                take(event.board)
        if row is None:
            self.step = Step.FAILED
            self._said = Check(Verdict.REFUSED, "This route is gone.", "esc shows the others.")
            self._show()
            return
        self.board, self.row = event.board, row
        self._was = before.key if row.key != before.key else None
        if self._form.checked().problems:
            self._show()
        else:
            self._freeze()
        lost = lost_percent(before, row)
        if lost is not None:
            said = rate_worse(self.board.token_out.symbol, row.key, lost)
            self.show_notice(said, "warning")

    @on(QuotesFailed)
    def _quotes_failed(self, event: QuotesFailed) -> None:
        self._asking = False
        cause = failure_of_error(event.error).cause
        self.show_notice(f"{cause} {code_and_request(event.error)}", "error")
        self._show()

    # creating

    def do_create(self) -> None:
        intent = self._intent
        if intent is None or self.step is not Step.READY:
            return
        guard = self.session.live_guard
        if guard.asks:

            def typed(yes: bool | None) -> None:
                if yes and self._intent is intent and not self._expired():
                    guard.agree()
                    self.do_create()

            self.app.push_screen(TypedConfirm(guard.question()), typed)
            return
        consent = self._consent()
        if not consent.phrase:
            self._send(intent)
            return

        def agreed(yes: bool | None) -> None:
            if yes and self._intent is intent and not self._expired():
                self._send(intent)

        question = Question("Before this order is created", consent.lines, consent.phrase, "agree")
        self.app.push_screen(TypedConfirm(question), agreed)

    def _send(self, intent: Intent) -> None:
        create = getattr(self.app, "create", None)
        if create is None or self.step is not Step.READY or not create(intent):
            self.show_notice("Another order is being created. This one was not sent.", "warning")
            return
        self.sent_intent = intent.id
        self.step = Step.SENT
        at = clock_time(self.now())
        self._said = Check(Verdict.UNKNOWN, f"asked at {at}, waiting for the answer")
        self.step_changed("sent")
        self._show()

    def waiting(self) -> None:
        """No answer came; the desk looks for the order."""
        if self.step is Step.SENT:
            self.step = Step.LOOKING
            self._said = Check(Verdict.WARNING, OUTCOME_UNKNOWN.cause, "The desk looks for it.")
            self._show()

    def ended(self, outcome: NotCreated | Unknown) -> None:
        """The create came to an outcome that is no order."""
        self.refresh_frame()
        if isinstance(outcome, Unknown):
            self.step = Step.UNKNOWN
            then = "It is not known yet. Nothing was paid. o shows the orders."
            self._said = Check(Verdict.WARNING, outcome.failure.cause, then)
        else:
            self.step, self._intent = Step.FAILED, None
            error = outcome.error
            second = code_and_request(error) if error is not None else outcome.code
            fields = " ".join(refused_fields(error)) if error is not None else ""
            self._said = Check(Verdict.REFUSED, f"{outcome.failure.cause} {fields}".strip(), second)
        self.step_changed(self.step.value)
        self._show()

    def work_failed(self, group: str) -> None:
        self._asking = False
        if group == "create" and self.step is Step.SENT:
            self.waiting()

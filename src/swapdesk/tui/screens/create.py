"""Whom to pay, then exactly what is about to be confirmed; ``c`` acts on that alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on

from swapdesk.flows.creation.confirm_intent import NotFreezable, freeze, still_stands
from swapdesk.flows.dex.dex_promise import NoDexSwap, promise_of
from swapdesk.flows.intents.intent import IntentKind
from swapdesk.flows.quotes.requote import follow_route, lost_percent
from swapdesk.flows.tracking.announcements import code_and_request, failure_of_error
from swapdesk.tui.commands.create import (
    Back,
    Complete,
    Create,
    Edit,
    FieldAbove,
    FieldBelow,
    NewQuote,
    NextField,
)
from swapdesk.tui.messages import QuotesArrived, QuotesFailed
from swapdesk.tui.quote_question import QuoteQuestion
from swapdesk.tui.screens.create_form import CreateForm
from swapdesk.tui.screens.create_view import CreateView
from swapdesk.tui.screens.create_words import (
    BUSY,
    CHANGED_MEANWHILE,
    Step,
    said_gone,
    worse_quote,
)
from swapdesk.tui.screens.frozen_panel import FrozenPanel
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.wire.encoding.numbers import NumberError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from swapdesk.wallet.accounts import Account


class CreateScreen(CreateView):
    """The form of one chosen route."""

    NAME = "Create"
    SPENDS = "exchange"
    VERBS = (Create, NewQuote, Edit, NextField, Complete, FieldBelow, FieldAbove, Back)
    AUTO_FOCUS: ClassVar[str | None] = ""

    def on_mount(self) -> None:
        self._form.focus_first()
        self.find_account()
        self.show()

    def accounts_known(self, accounts: Sequence[Account], payee: Account | None) -> None:
        """The wallet's own accounts are known as such, and ``payee`` is who gets it unless
        somebody else is named."""
        self._form.own(accounts, payee)

    # the form and its freezing

    @on(CreateForm.Edited)
    def _edited(self) -> None:
        """Another value: nothing is frozen any more."""
        if self.step in BUSY:
            return
        self._intent = None
        self.step = Step.OPEN
        self._form.keep_in(self._typed)
        self.settle_notice(self._form.values)
        self.show()

    @on(CreateForm.Completed)
    def _completed(self) -> None:
        if self.step not in BUSY:
            self._freeze()

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        self.show_notice(event.reason, "warning", about=self._form.values)

    @on(FrozenPanel.Laid)
    def _laid(self) -> None:
        """Another size: the frozen intent may be seen whole now, or no longer."""
        self.show()

    def _freeze(self) -> None:
        """What stands here now is what would be confirmed."""
        checked = self._form.checked()
        kind = IntentKind.PRIVATE_SEND if self.board.private_send else IntentKind.EXCHANGE
        try:
            self._intent = freeze(
                kind,
                self.row,
                self.board,
                checked.recipient,
                checked.memo,
                checked.refund,
                self.desk.clock,
                intermediate=checked.intermediate,
                dex=self.dex_terms(),
            )
            if self._intent.dex is not None:
                promise_of(self._intent)
        except (NotFreezable, NoDexSwap, NumberError) as refused:
            self._intent = None
            self.show_notice(f"Nothing was confirmed: {refused}.", "error", about=self._form.values)
            return
        self.step = Step.READY
        self.set_class(True, "-review")
        self._panel.focus()
        self.step_changed(self._intent.id)
        self.show()

    def _unlock(self) -> None:
        self._intent = None
        if self.step is Step.READY:
            self.step = Step.OPEN

    # while it stands

    def on_tick(self) -> None:
        if self.step is Step.READY and self.expired():
            self._intent = None
            self.step = Step.OPEN
            self.step_changed("expired")
        if self._again.is_due(self.session.clock.monotonic()):
            self._ask(by_itself=True)
        self.show()

    def session_changed(self) -> None:
        self._thaw()
        self.show()

    def do_create(self) -> None:
        self._thaw()
        super().do_create()

    def _thaw(self) -> None:
        """What is frozen is no longer what the form says: a name means another address now."""
        intent, checked = self._intent, self._form.checked()
        if intent is None or self.step is not Step.READY:
            return
        if still_stands(
            intent, checked.recipient, checked.memo, checked.refund, checked.intermediate
        ):
            return
        # The focus stays: a key meant for the intent must not be typed into a field.
        self._unlock()
        self.step_changed("thawed")
        self.show()
        self.show_notice(CHANGED_MEANWHILE, "warning", about=self._form.values)

    def on_descendant_focus(self) -> None:
        if self.focused is not None and self.focused is not self._panel:
            self.set_class(False, "-review")
        self.show()

    # keys

    def do_next_field(self) -> None:
        if self._typing():
            self._form.next_field()
        else:
            self._freeze()

    def do_edit(self) -> None:
        self._unlock()
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
        question, quotes = QuoteQuestion.of(self.board), self.desk.link.quotes
        fixed = self.row.quote.fixed
        told = self._again.may_repeat
        self.post_message(await question.rate(quotes, self.board, told, fixed=fixed))

    @on(QuotesArrived)
    def _arrived(self, event: QuotesArrived) -> None:
        self._asking = False
        self._again.answered()
        self.step, self._said = Step.OPEN, None
        self.refresh_frame()
        before, row = self.row, follow_route(event.board, self.row)
        for screen in self.app.screen_stack:
            take = getattr(screen, "take", None)
            if take is not None:
                take(event.board)
        if row is None:
            self.step = Step.FAILED
            self._said = said_gone()
            self.show()
            return
        self.board, self.row = event.board, row
        self.find_account()
        self._was = before.figure if row.figure != before.figure else None
        if self._typing() or self._form.checked().problems:
            # Whoever types goes on typing: the next letter would be a key of the locked intent.
            self.show()
        else:
            self._freeze()
        lost = lost_percent(before, row)
        if lost is not None:
            said = worse_quote(self.board, row, lost)
            self.show_notice(said, "warning")

    @on(QuotesFailed)
    def _quotes_failed(self, event: QuotesFailed) -> None:
        self._asking = False
        wait = self.link.api.budget.wait_for("quote") if self.link is not None else None
        self._again.refused(event.error, wait, self.session.clock.monotonic())
        cause = failure_of_error(event.error).cause
        self.show_notice(f"{cause} {code_and_request(event.error)}", "error")
        self.show()

    def work_failed(self, group: str) -> None:
        self._asking = False
        if group == "create" and self.step is Step.SENT:
            self.waiting()

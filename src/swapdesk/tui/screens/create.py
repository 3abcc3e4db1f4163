"""Whom to pay, then exactly what is about to be confirmed; ``c`` acts on that alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.flows.announcements import code_and_request, failure_of_error
from swapdesk.flows.consent import Consent, consent_for
from swapdesk.flows.create_checks import Checked, TypedBefore
from swapdesk.flows.dex_promise import NoDexSwap, promise_of
from swapdesk.flows.freezing import NotFreezable, freeze, still_stands
from swapdesk.flows.intent import IntentKind
from swapdesk.flows.notation import copied_amount
from swapdesk.flows.requote import follow_route, lost_percent
from swapdesk.tui.commands.command import Command, Standing
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
from swapdesk.tui.page import budget_of
from swapdesk.tui.quote_question import QuoteQuestion
from swapdesk.tui.screens.create_account import PaidFromWallet
from swapdesk.tui.screens.create_facts import Draft, FrozenPanel, intent_state, summary
from swapdesk.tui.screens.create_form import CreateForm
from swapdesk.tui.screens.create_keys import locked, standing_of
from swapdesk.tui.screens.create_words import (
    BUSY,
    CHANGED_MEANWHILE,
    Step,
    money_of,
    said_gone,
    verdict_of,
    worse_quote,
)
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.check_line import Check, Verdict
from swapdesk.tui.widgets.intent_panel import IntentState
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.tui.widgets.text_rows import TextRows
from swapdesk.wire.encoding.numbers import NumberError

if TYPE_CHECKING:
    from decimal import Decimal

    from swapdesk.flows.quoting import QuoteBoard
    from swapdesk.flows.ranking import RankedQuote
    from swapdesk.flows.recipients import RecipientCheck
    from swapdesk.flows.swap_account import SwapAccount


class CreateScreen(PaidFromWallet):
    """The form of one chosen route."""

    NAME = "Create"
    SPENDS = "exchange"
    VERBS = (Create, NewQuote, NextField, Complete, FieldBelow, FieldAbove, Back)
    AUTO_FOCUS: ClassVar[str | None] = ""

    def __init__(
        self, session: Session, board: QuoteBoard, row: RankedQuote, typed: TypedBefore
    ) -> None:
        """``typed`` is what the form begins with; it is kept up to date for the next form."""
        super().__init__(session, context=_what(board))
        self.board, self.row = board, row
        self._was: Decimal | None = None
        self._hidden: frozenset[int] = frozenset()
        self._seen_whole = False
        self._asking = False
        self._consented = ("", Consent())
        self._typed = typed
        self._form = CreateForm(session.desk, board, row, typed)
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
        self.find_account()
        self.show()

    def account_known(self, found: SwapAccount) -> None:
        """The wallet's own accounts are known as such, and one of them is who gets it unless
        somebody else is named."""
        self._form.own(found)

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

    def _edit(self) -> None:
        self._intent = None
        if self.step is Step.READY:
            self.step = Step.OPEN
        self.set_class(False, "-review")
        self._form.focus_first()
        self.show()

    def expired(self) -> bool:
        return self.row.expired(self.now())

    # drawing

    @property
    def counting(self) -> bool:
        return self.step in (Step.OPEN, Step.READY)

    def on_tick(self) -> None:
        if self.step is Step.READY and self.expired():
            self._intent = None
            self.step = Step.OPEN
            self.step_changed("expired")
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
        self._edit()
        self.step_changed("thawed")
        self.show_notice(CHANGED_MEANWHILE, "warning", about=self._form.values)

    def on_descendant_focus(self) -> None:
        if self.focused is not None and self.focused is not self._panel:
            self.set_class(False, "-review")
        self.show()

    def recipient(self) -> RecipientCheck:
        return self._form.checked().recipient

    def show(self) -> None:
        checked = self._form.checked()
        self._form.show(checked)
        if not checked.recipient.text and (waiting := self.lack_check()) is not None:
            self._form.say_recipient(waiting)
        now = self.now()
        draft = Draft(
            self.board,
            self.row,
            checked.recipient,
            checked.memo,
            checked.refund,
            checked.intermediate,
            hidden=self._hidden,
            intent=self._intent,
            was=self._was,
            cost=self._cost(),
            verdict=self._verdict(checked),
            account=self.account,
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

    def _verdict(self, checked: Checked) -> Check | None:
        if self.step in (*BUSY, Step.FAILED):
            return self._said
        if self._asking:
            return Check(Verdict.UNKNOWN, "asking for a new quote")
        if not checked.problems and not self.expired() and (lack := self.lack_check()) is not None:
            return lack
        return verdict_of(
            self.step, self.row, checked, self.consent(), self.now(), typing=self._typing()
        )

    def consent(self) -> Consent:
        """That of the quote, with what is to be said of the memos.

        The former is found once: looking for imitations reads the whole list of tokens.
        """
        quote_id, consent = self._consented
        if quote_id != self.row.quote_id:
            consent = consent_for(self.board, self.row, self.desk.catalog, self.now())
            self._consented = (self.row.quote_id, consent)
        checked = self._form.checked()
        refund = checked.refund.differs if checked.refund is not None else None
        return consent.also(checked.memo.differs).also(refund)

    def _say_money(self, checked: Checked) -> None:
        money = money_of(
            self.step,
            self.row,
            checked,
            self.now(),
            typing=self._typing(),
            whole=self._panel.whole,
            after=self.failed,
        )
        self.set_money(money.where, money.next_, urgent=money.urgent)

    def hide(self, positions: frozenset[int]) -> None:
        """Dots in place of what the user is asked to read elsewhere."""
        self._hidden = positions
        self._form.hide(positions)
        self.show()

    # keys

    def _typing(self) -> bool:
        return self.focused is not self._panel

    def verb_standing(self, verb: type[Command]) -> Standing:
        return standing_of(
            verb,
            self.step,
            typing=self._typing(),
            expired=self.expired(),
            asking=self._asking,
            on_chain=self.on_chain,
            locked=lambda: (
                self.lack()
                or locked(
                    self._form.checked(),
                    self.consent(),
                    connected=self.session.ready,
                    frozen=self._intent is not None,
                    whole=self._panel.whole,
                )
            ),
        )

    def do_next_field(self) -> None:
        if self._typing():
            self._form.next_field()
        else:
            self._edit()

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
        if self._asking or self.link is None:
            return
        self._asking = True
        self.run_worker(self._fetch(), group="quotes", exclusive=True, exit_on_error=False)
        self.show()

    async def _fetch(self) -> None:
        # One route is asked for again: its kind of rate alone, so that it costs one quote.
        question, quotes = QuoteQuestion.of(self.board), self.desk.link.quotes
        fixed = self.row.quote.fixed
        self.post_message(await question.rate(quotes, self.board, fixed=fixed))

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
            self._said = said_gone()
            self.show()
            return
        self.board, self.row = event.board, row
        self.find_account()
        self._was = before.figure if row.figure != before.figure else None
        if self._form.checked().problems:
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
        cause = failure_of_error(event.error).cause
        self.show_notice(f"{cause} {code_and_request(event.error)}", "error")
        self.show()

    def work_failed(self, group: str) -> None:
        self._asking = False
        if group == "create" and self.step is Step.SENT:
            self.waiting()


def _what(board: QuoteBoard) -> str:
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

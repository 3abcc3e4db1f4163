"""The form of one chosen route as it is drawn: fields, what would be confirmed, the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.widget import Widget

from swapdesk.flows.creation.confirm_intent import Consent, consent_for
from swapdesk.flows.creation.create_checks import Checked, TypedBefore
from swapdesk.flows.notation import copied_amount
from swapdesk.flows.quotes.asking_again import AskingAgain
from swapdesk.tui.commands.command import Command, Standing
from swapdesk.tui.page import budget_of
from swapdesk.tui.screens.create_account import PaidFromWallet
from swapdesk.tui.screens.create_facts import Draft, intent_state, summary
from swapdesk.tui.screens.create_form import CreateForm
from swapdesk.tui.screens.create_keys import locked, standing_of
from swapdesk.tui.screens.create_words import (
    BUSY,
    Step,
    money_of,
    verdict_of,
)
from swapdesk.tui.screens.frozen_panel import FrozenPanel
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.check_line import Check, Verdict
from swapdesk.tui.widgets.intent_panel import IntentState
from swapdesk.tui.widgets.text_rows import TextRows

if TYPE_CHECKING:
    from decimal import Decimal

    from swapdesk.flows.payees.recipients import RecipientCheck
    from swapdesk.flows.quotes.quoting import QuoteBoard
    from swapdesk.flows.quotes.ranking import RankedQuote


class CreateView(PaidFromWallet):
    """What stands on the screen; freezing, sending and the keys are the screen's."""

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
        self._again = AskingAgain()
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

    def expired(self) -> bool:
        return self.row.expired(self.now())

    # drawing

    @property
    def counting(self) -> bool:
        return self.step in (Step.OPEN, Step.READY)

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
            have=self.have,
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
            turn = self._again.turn
            said = "asking for a new quote"
            return Check(Verdict.UNKNOWN, f"{said}, {turn}" if turn else said)
        if again := self._said_again():
            return Check(Verdict.WARNING, "The calls of this window are used up:", again)
        if not checked.problems and not self.expired() and (lack := self.lack_check()) is not None:
            return lack
        return verdict_of(
            self.step, self.row, checked, self.consent(), self.now(), typing=self._typing()
        )

    def _said_again(self) -> str:
        """When a new quote is asked for again by itself; empty when it is not."""
        return self._again.words(self.session.clock.monotonic())

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

    def _typing(self) -> bool:
        return self.focused is not self._panel

    def verb_standing(self, verb: type[Command]) -> Standing:
        return standing_of(
            verb,
            self.step,
            typing=self._typing(),
            expired=self.expired(),
            asked="asked already" if self._asking else self._said_again(),
            most=self._again.most,
            on_chain=self.on_chain,
            at_end=lambda: self._form.at_end,
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

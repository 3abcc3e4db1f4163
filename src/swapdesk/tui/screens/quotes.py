"""Every route for one amount in one table; nothing is asked again unless a key says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.flows.announcements import failure_of_error, quote_ended, quotes_arrived
from swapdesk.flows.notation import countdown
from swapdesk.flows.quote_wish import QuoteWish
from swapdesk.flows.ranking import RankedQuote, former_places
from swapdesk.tui.commands.command import HIDDEN, READY, Command, Standing
from swapdesk.tui.commands.quotes import Back, Refresh, Review, SortRows
from swapdesk.tui.messages import QuotesArrived, QuotesFailed
from swapdesk.tui.page import Page
from swapdesk.tui.quote_question import QuoteQuestion
from swapdesk.tui.screens.quote_facts import error_rows, heading, ranked_by, value_rows
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, LineLike, Span
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.quote_table import (
    quote_columns,
    quote_rows,
    reason_text,
    unusable_at,
)
from swapdesk.tui.widgets.text_rows import HeadLine, TextRows

if TYPE_CHECKING:
    from decimal import Decimal

    from swapdesk.flows.quoting import QuoteBoard
    from swapdesk.tui.screens.create_form import TypedBefore
    from swapdesk.wire.tokens import Token

SAY_ASKING_AFTER = 0.3
MOVED_FOR = 1.0
ONE_QUOTE = "1 quote"
NORMAL = 100


class QuotesScreen(Page):
    """``recipient`` is what the line already named; the form begins with it."""

    NAME = "Quotes"
    SPENDS = "quote"
    VERBS = (Review, SortRows, Refresh, Back)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"

    def __init__(
        self,
        session: Session,
        token_in: Token,
        token_out: Token,
        amount: Decimal,
        *,
        private_send: bool = False,
        recipient: str = "",
    ) -> None:
        super().__init__(session)
        wish = QuoteWish(token_in, token_out, amount, private_send=private_send)
        self.question = QuoteQuestion(wish)
        self.recipient = recipient
        self.board: QuoteBoard | None = None
        self._error: ClientError | None = None
        self._asked_at: float | None = None
        self._by_time = False
        self._typed: TypedBefore | None = None
        self._former: dict[str, int] = {}
        self._head = HeadLine()
        self._table = LineTable(quote_columns(token_out.symbol), id="quotes")
        self._below = TextRows(classes="below")

    def compose_body(self) -> Iterable[Widget]:
        yield self._head
        yield self._table
        yield self._below

    def on_mount(self) -> None:
        super().on_mount()
        self.ask()

    # asking

    def ask(self) -> None:
        """One call for all routes; the rows in view stay until the answer is there."""
        if self._asked_at is not None or self.link is None:
            return
        self._asked_at = self.session.clock.monotonic()
        self._error = None
        self.set_timer(SAY_ASKING_AFTER, self._show)
        self.run_worker(self._fetch(), group="quotes", exclusive=True, exit_on_error=False)
        self._show()

    async def _fetch(self) -> None:
        self.post_message(await self.question.ask(self.desk.link.quotes))

    @on(QuotesArrived)
    def _arrived(self, event: QuotesArrived) -> None:
        self._asked_at = None
        self.take(event.board)
        self.show_notice(quotes_arrived(event.board))
        self.refresh_frame()

    @on(QuotesFailed)
    def _failed(self, event: QuotesFailed) -> None:
        self._asked_at = None
        self._error = event.error
        self._show()
        self.refresh_frame()

    def work_failed(self, group: str) -> None:
        self._asked_at = None
        self._show()

    def take(self, board: QuoteBoard) -> None:
        """Show another answer; the cursor follows its route, not its row number."""
        before, stood = self.board, self._row()
        self.board, self._error = board, None
        if before is not None:
            self._former = former_places(before.ranking, board.ranking)
            self.set_timer(MOVED_FOR, self._forget_former)
        self._show()
        follow = board.ranking.follow(stood) if stood is not None else None
        wanted = follow or board.ranking.default_at(self.now())
        if wanted is not None:
            self._table.move_to(wanted.quote_id)
        self.step_changed(board.received_at.isoformat())

    def _forget_former(self) -> None:
        self._former = {}
        self._show()

    # drawing

    @property
    def counting(self) -> bool:
        return self.board is not None and bool(self.board.ranking.rows)

    def on_tick(self) -> None:
        self._show()

    def session_changed(self) -> None:
        self._show()

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        self._show_below()
        self.refresh_keys()

    def _show(self) -> None:
        board = self.board
        asked = heading(self.question, self.recipient)
        self._head.show(asked, self._ranked_by())
        if board is not None:
            self._table.set_rows(
                quote_rows(board, self.now(), by_time=self._by_time, former=self._former)
            )
        self._table.set_empty(self._nothing())
        self._show_below()
        self._say_money()
        self.refresh_keys()

    def _ranked_by(self) -> Line:
        board = self.board
        if board is None:
            return []
        if self._asked_at is not None:
            return [Span("asking again", "status-moving")]
        short = self.app.size.width < NORMAL
        failed = self._error is not None
        return ranked_by(board, by_time=self._by_time, failed=failed, short=short)

    def _nothing(self) -> LineLike:
        if self._asked_at is not None:
            passed = self.session.clock.monotonic() - self._asked_at
            return f"asking for quotes, {passed:.1f} s" if passed >= SAY_ASKING_AFTER else ""
        if self._error is not None:
            return "No quotes. The reason stands below."
        return "The service has no route between these tokens." if self.board else ""

    def _show_below(self) -> None:
        rows: list[LineLike] = []
        if self._error is not None:
            rows += error_rows(self._error, self._wait())
        board = self.board
        if board is not None:
            entry = unusable_at(board, self._table.cursor_key)
            if entry is not None:
                rows.append([Span("Reason  ", "muted"), Span(reason_text(entry))])
            notes = self.app.size.width >= NORMAL
            rows += value_rows(board, self._row(), self.now(), notes=notes)
        self._below.show(rows)
        self._fit()

    def _fit(self) -> None:
        """The table takes what its rows need; what does not fit scrolls, the sentences stay."""
        body = self.query_one("#body")
        width = body.container_size.width - 4
        sentences = len(self._below.lines(width)) + 1 if self._below.rows else 0
        head = 1 if self.has_class("-short") else 2
        room = body.content_size.height - head - sentences
        wanted = len(self._table.rows) + self._table.head_height if self._table.rows else 3
        if room > 0:
            self._table.styles.height = max(3, min(wanted, room))

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._fit)

    def _say_money(self) -> None:
        funds = "in your wallet."
        board, row = self.board, self._row()
        if self._asked_at is not None and board is None:
            self.set_money(funds, "the service: it asks every route")
        elif self._error is not None and board is None:
            self.set_money(funds, failure_of_error(self._error).next)
        elif row is None:
            self.set_money(funds, "you: change the amount or the tokens")
        elif row.expired(self.now()):
            self.set_money(funds, "you: r asks again, 1 quote")
        else:
            left = (row.expires_at - self.now()).total_seconds()
            self.set_money(funds, f"you: choose a route in {countdown(left)}", urgent=left < 15)

    # keys

    def _row(self) -> RankedQuote | None:
        """The usable route under the cursor."""
        key = self._table.cursor_key
        return self.board.ranking.find(key) if self.board is not None and key else None

    def _wait(self) -> float | None:
        return self.link.api.budget.wait_for("quote") if self.link is not None else None

    def verb_standing(self, verb: type[Command]) -> Standing:
        if verb is Review:
            row = self._row()
            if row is None:
                return HIDDEN
            return HIDDEN if row.expired(self.now()) else READY
        if verb is Refresh:
            if self._asked_at is not None:
                return Standing(locked="asked already")
            wait = self._wait()
            if wait:
                return Standing(locked=f"next one in {countdown(wait)}")
            return Standing(cost=ONE_QUOTE)
        if verb is SortRows:
            if self.board is None or len(self.board.ranking.rows) < 2:
                return HIDDEN
            return Standing(verb="sort by net" if self._by_time else "sort by time")
        return READY

    def do_refresh(self) -> None:
        self.ask()

    def do_sort_rows(self) -> None:
        self._by_time = not self._by_time
        self._show()

    def do_review(self) -> None:
        self._table.action_choose()

    def _typed_before(self) -> TypedBefore:
        from swapdesk.tui.screens.create_form import TypedBefore

        if self._typed is None:
            self._typed = TypedBefore(self.recipient)
        return self._typed

    @on(LineTable.Chosen)
    def _chosen_row(self, event: LineTable.Chosen) -> None:
        board = self.board
        if board is None:
            return
        entry = unusable_at(board, event.key)
        if entry is not None:
            self.show_notice(f"This route cannot be chosen: {reason_text(entry)}.", "warning")
            return
        row = board.ranking.find(event.key)
        if row is None:
            return
        if row.expired(self.now()):
            self.show_notice(f"{quote_ended(row.expires_at)} r asks again, {ONE_QUOTE}.", "warning")
        elif not row.choosable:
            self.show_notice("This route pays nothing: its fees take all of it.", "warning")
        else:
            from swapdesk.tui.screens.create import CreateScreen

            self.app.push_screen(CreateScreen(self.session, board, row, self._typed_before()))

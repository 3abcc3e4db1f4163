"""The comparison as it is drawn: rows, sentences below them, the panel, the money line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Vertical
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.flows.notation import countdown
from swapdesk.flows.quotes.provider_record import ProviderRecord, provider_records
from swapdesk.flows.quotes.quote_columns import compare_route_types
from swapdesk.flows.quotes.quote_order import Arrangement
from swapdesk.flows.quotes.quote_request import cost_in_words
from swapdesk.flows.quotes.ranking import RankedQuote, former_places
from swapdesk.flows.quotes.requote import AskingAgain
from swapdesk.flows.quotes.waterfall import Waterfall, waterfall
from swapdesk.flows.tracking.announcements import failure_of_error, without_route_next
from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.tui.page import Page
from swapdesk.tui.screens.quote_facts import (
    QuoteQuestion,
    heading,
    nothing_yet,
    ranked_by,
    rows_below,
    unusable_row,
)
from swapdesk.tui.screens.waterfall import WaterfallView
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, LineLike, Span, line_of, wrapped
from swapdesk.tui.widgets.detail_rows import RecordView
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import HeadLine, TextRows
from swapdesk.tui.widgets.quote_table import (
    WaysView,
    badge_notes,
    compared_symbol,
    note_width,
    quote_columns,
    quote_rows,
    unusable_at,
)
from swapdesk.tui.widgets.table_layout import MARGIN

if TYPE_CHECKING:
    from swapdesk.flows.creation.create_checks import TypedBefore
    from swapdesk.flows.quotes.quote_request import QuoteRequest
    from swapdesk.flows.quotes.quoting import QuoteResult

MOVED_FOR = 1.0
NORMAL, ROOMY, WIDE = 100, 120, 160
PANEL = 44


class QuotesView(Page):
    """One answer and what is known of the route under the cursor; the keys are the screen's."""

    def __init__(
        self,
        session: Session,
        wish: QuoteRequest,
        *,
        recipient: str = "",
        typed: TypedBefore | None = None,
    ) -> None:
        """``typed``: what the form that follows begins with."""
        super().__init__(session)
        self.question = QuoteQuestion(wish)
        self.recipient = recipient
        self.board: QuoteResult | None = None
        self.arrangement = Arrangement()
        self._error: ClientError | None = None
        self._asked_at: float | None = None
        self._again = AskingAgain()
        self._only_fixed = False
        self._explained = False
        self._typed = typed
        self._former: dict[str, int] = {}
        self._former_until = 0.0
        self._head = HeadLine()
        self._heads = quote_columns(wish)
        self._table = LineTable(self._heads, id="quotes")
        self._below = TextRows(classes="below")
        self._ways = WaysView()
        self._why = WaterfallView()
        self._record = RecordView()
        self._records: dict[str, ProviderRecord] | None = None
        self._side = Vertical(self._why, self._record, classes="side")

    def compose_body(self) -> Iterable[Widget]:
        yield self._head
        yield self._table
        yield self._below
        yield self._ways

    def compose_side(self) -> Iterable[Widget]:
        yield self._side

    def take(self, board: QuoteResult) -> None:
        """Show another answer; the cursor follows its route, not its row number."""
        before, stood = self.board, self.row
        self._records = None
        self.board, self._error = board, None
        self.question = QuoteQuestion(board.wish)
        if before is not None:
            self._former = former_places(before.ranking, board.ranking)
            self._former_until = self.session.clock.monotonic() + MOVED_FOR
            self.set_timer(MOVED_FOR, self._forget_former)
        self._show()
        follow = board.ranking.follow(stood) if stood is not None else None
        signs = board.token_in.chain_data.kind in KINDS
        wanted = follow or board.ranking.default_at(self.now(), signs=signs)
        if wanted is not None and not self._table.move_to(wanted.quote_id) and self.composed:
            self.arrangement = self.arrangement.unfolded()
            self._show()
            self._table.move_to(wanted.quote_id)
        self.step_changed(board.received_at.isoformat())

    def _forget_former(self) -> None:
        left = self._former_until - self.session.clock.monotonic()
        if left > 0:
            self.set_timer(left, self._forget_former)
            return
        self._former = {}
        self._show()

    def on_mount(self) -> None:
        self.watch(self._table, "below", self._say_head, init=False)

    # drawing

    @property
    def composed(self) -> bool:
        """Whether the widgets stand in a running application: before they are composed and
        after the screen is removed an answer is kept and nothing is drawn."""
        return self.is_running and self._table.is_attached

    @property
    def counting(self) -> bool:
        if self._said_again():
            return True
        return self.board is not None and bool(self.board.ranking.rows)

    def _said_again(self) -> str:
        """When the desk asks again by itself; empty when it does not."""
        return self._again.words(self.session.clock.monotonic())

    def on_tick(self) -> None:
        self._show()

    def session_changed(self) -> None:
        self._show()

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        self._show_below()
        self.refresh_keys()

    def _show(self) -> None:
        if not self.composed:
            return
        board = self.board
        self.set_class(self._panel_open, "-explained")
        self._say_head()
        if board is not None:
            self._set_heads(board)
            self._table.set_rows(
                quote_rows(
                    board,
                    self.now(),
                    self._columns,
                    arrangement=self.arrangement,
                    former=self._former,
                )
            )
            symbol = compared_symbol(board.wish)
            head = "You send" if board.wish.receive else "You get, net"
            self._ways.show(compare_route_types(board, self.now()), head, symbol)
        passed = None
        if self._asked_at is not None:
            passed = self.session.clock.monotonic() - self._asked_at
        answered, turn = board is not None, self._again.turn
        self._table.set_empty(nothing_yet(passed, self._error, answered=answered, turn=turn))
        self._show_below()
        self._say_money()
        self.refresh_keys()

    def _set_heads(self, board: QuoteResult) -> None:
        """The columns that this answer needs, in the order of its rows."""
        note = note_width(self.arrangement.arrange(board.ranking, self.now()))
        heads = quote_columns(board.wish, all_in=self.arrangement.all_in, note=note)
        if heads != self._heads:
            self._heads = heads
            self._table.set_columns(heads)

    def _say_head(self) -> None:
        if self.composed:
            self._head.show(heading(self.question.wish, self.recipient), *self._ranked_by())

    def _ranked_by(self) -> list[Line]:
        if self.board is None:
            return []
        if self._asked_at is not None:
            turn = self._again.turn
            said = f"asking again, {turn}" if turn else "asking again"
            return [[Span(said, "status-moving")]]
        lines = ranked_by(self.board, self.arrangement, failed=self._error is not None)
        count = _count_below(self._table)
        return [*([*count, *line] for line in lines), lines[-1]]

    def _show_below(self) -> None:
        if not self.composed:
            return
        board, now = self.board, self.now()
        notes: list[Line] = []
        if board is not None:
            noted = [one.row for one in self.arrangement.arrange(board.ranking, now)]
            notes = badge_notes(noted, all_of_them=self.app.size.width >= NORMAL)
        entry = unusable_at(board, self._table.cursor_key) if board is not None else None
        rows = rows_below(
            board,
            self.row,
            entry,
            now,
            error=self._error,
            wait=self._wait(),
            again=self._said_again(),
            notes=notes,
            named=self.desk.catalog.provider_name,
        )
        if board is not None and entry is None and 0 < self._room(rows) < self._wanted:
            # Those that cannot be used stand below the rows in view.
            rows = [*unusable_row(board, self.arrangement.only), *rows]
        self._below.show(rows)
        if board is not None:
            self._why.show(self.explanation, board.token_in.symbol, board.token_out.symbol)
            self._show_record()
        self._fit()

    def _show_record(self) -> None:
        """What became of this desk's orders at the provider under the cursor, on wide screens."""
        row, link = self.row, self.link
        if row is None or row.quote.swap is None or link is None or not self._panel_open:
            self._record.show(None, named=False)
            return
        if not link.tracker.past_known:
            self._record.show(None, named=False)
            return
        if self._records is None:
            self._records = provider_records(link.tracker.orders())
        self._record.show(self._records.get(row.quote.swap), named=True)

    def _fit(self) -> None:
        """The table takes what its rows need; what does not fit scrolls, the sentences stay."""
        room = self._room(self._below.rows)
        if room > 0:
            self._table.styles.height = max(3, min(self._wanted, room))

    @property
    def _wanted(self) -> int:
        """Rows of the screen that the whole table takes."""
        return len(self._table.rows) + self._table.head_height if self._table.rows else 3

    def _room(self, rows: Sequence[LineLike]) -> int:
        """Rows of the screen that these sentences leave for the table; 0 before there is one."""
        body = self._table.parent
        if not isinstance(body, Widget) or not self.composed:
            return 0
        width = self._columns
        sentences = sum(len(wrapped(line_of(row), width)) for row in rows) + bool(rows)
        if self.has_class("-tall"):
            ways = self._ways.lines(width)
            sentences += len(ways) + 1 if ways else 0
        head = 1 if self.has_class("-short") else 2
        return body.content_size.height - head - sentences

    def on_resize(self) -> None:
        self.call_after_refresh(self._show)

    def _say_money(self) -> None:
        funds = "in your wallet."
        board, row = self.board, self.row
        if self._asked_at is not None and board is None:
            self.set_money(funds, "the service: it asks every route")
        elif self._asked_at is None and (again := self._said_again()):
            self.set_money(funds, f"the desk: it asks {again}")
        elif self._error is not None and board is None:
            self.set_money(funds, failure_of_error(self._error).next)
        elif row is None:
            self.set_money(funds, without_route_next(board))
        elif row.expired(self.now()):
            cost = cost_in_words(self.question.wish, self._again.most)
            self.set_money(funds, f"you: r asks again, {cost}")
        else:
            left = (row.expires_at - self.now()).total_seconds()
            self.set_money(funds, f"you: choose a route in {countdown(left)}", urgent=left < 15)

    # keys

    @property
    def row(self) -> RankedQuote | None:
        """The usable route under the cursor."""
        key = self._table.cursor_key
        return self.board.ranking.find(key) if self.board is not None and key else None

    @property
    def explanation(self) -> Waterfall | None:
        """The waterfall of the route under the cursor."""
        board, row = self.board, self.row
        return waterfall(board, row) if board is not None and row is not None else None

    @property
    def _panel_open(self) -> bool:
        width = self.app.size.width
        return self.board is not None and (width >= WIDE or (self._explained and width >= ROOMY))

    @property
    def _columns(self) -> int:
        """Cells of a row beside the panel."""
        return self.app.size.width - 2 * MARGIN - (PANEL if self._panel_open else 0)

    def _wait(self) -> float | None:
        return self.link.api.budget.wait_for("quote") if self.link is not None else None


def _count_below(table: LineTable) -> Line:
    """How many routes stand below those on the screen."""
    first = len(table.rows) - table.below
    count = sum(row.selectable for row in table.rows[first:])
    return [Span(f"{count} below · ", "muted")] if count else []

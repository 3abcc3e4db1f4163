"""The waterfall of one route where the screen is too narrow for it beside the table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from textual.widget import Widget

from swapdesk.flows.notation import countdown, expected_minutes, table_amount
from swapdesk.flows.quotes.quote_columns import provider_name
from swapdesk.flows.quotes.quote_request import cost_in_words
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.waterfall import AllIn, Close, NextQuote, PreviousQuote, Review
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, Span
from swapdesk.tui.widgets.lines_view import HeadLine
from swapdesk.tui.widgets.quote_table import route_word

if TYPE_CHECKING:
    from swapdesk.flows.quotes.quote_order import Arrangement
    from swapdesk.flows.quotes.quoting import QuoteResult
    from swapdesk.flows.quotes.ranking import RankedQuote
    from swapdesk.flows.quotes.waterfall import Waterfall


class Comparison(Protocol):
    """The routes side by side, with the cursor on one of them."""

    board: QuoteResult | None
    arrangement: Arrangement

    @property
    def row(self) -> RankedQuote | None:
        """The usable route under the cursor."""

    @property
    def explanation(self) -> Waterfall | None:
        """The waterfall of that route."""

    def step(self, steps: int) -> None:
        """The usable route this far from the cursor."""

    def do_all_in(self) -> None:
        """Rank by the other amount."""

    def do_review(self) -> None:
        """Take the route."""


class WaterfallScreen(Page):
    """Follows the cursor of the comparison it was opened from."""

    NAME = "Quotes"
    SPENDS = "quote"
    VERBS = (Review, Close, NextQuote, AllIn, PreviousQuote)
    DEFAULT_CSS = """
    WaterfallScreen WaterfallView { margin: 1 0 0 0; }
    WaterfallScreen.-short WaterfallView { margin: 0; }
    """

    def __init__(self, session: Session, quotes: Comparison) -> None:
        super().__init__(session)
        self._quotes = quotes
        self._head = HeadLine()
        self._view = WaterfallView()

    def compose_body(self) -> Iterable[Widget]:
        yield self._head
        yield self._view

    def on_mount(self) -> None:
        self._show()

    @property
    def counting(self) -> bool:
        return True

    def on_tick(self) -> None:
        self._show()

    def session_changed(self) -> None:
        self._show()

    def _show(self) -> None:
        quotes, row, board = self._quotes, self._quotes.row, self._quotes.board
        if row is None or board is None:
            return
        left = (row.expires_at - self.now()).total_seconds()
        self.context = f"why {table_amount(row.key)} {board.token_out.symbol}"
        line: Line = [
            Span(f"{row.place}   "),
            route_word(row.quote.type),
            Span(f"  {provider_name(row)}  "),
            Span(table_amount(row.key), bold=True),
            Span(f" {board.token_out.symbol}", "muted"),
        ]
        right: Line = [
            Span(f"{expected_minutes(row.quote.duration)}   ", "muted"),
            Span(countdown(left), "muted" if left <= 0 else "foreground"),
        ]
        self._head.show(line, right)
        self._view.show(quotes.explanation, board.token_in.symbol, board.token_out.symbol)
        if left > 0:
            said = f"you: choose a route in {countdown(left)}"
            self.set_money("in your wallet.", said, urgent=left < 15)
        else:
            cost = cost_in_words(board.wish)
            self.set_money("in your wallet.", f"you: e, then r asks again, {cost}")
        self.refresh_frame()
        self.refresh_keys()

    def verb_standing(self, verb: type[Command]) -> CommandState:
        row, board = self._quotes.row, self._quotes.board
        if verb is Review:
            return HIDDEN if row is None or row.expired(self.now()) else READY
        if verb in (NextQuote, PreviousQuote, AllIn):
            several = board is not None and len(board.ranking.rows) > 1
            if several and verb is AllIn and self._quotes.arrangement.all_in:
                return CommandState(verb="net ranking")
            if several and verb is NextQuote:
                return CommandState(key="[ ]")
            return READY if several else HIDDEN
        return READY

    def do_next_quote(self) -> None:
        self._quotes.step(1)
        self._show()

    def do_previous_quote(self) -> None:
        self._quotes.step(-1)
        self._show()

    def do_all_in(self) -> None:
        self._quotes.do_all_in()
        self._show()

    async def do_close(self) -> None:
        await self.app.pop_screen()

    async def do_review(self) -> None:
        await self.app.pop_screen()
        self._quotes.do_review()

"""The third column of the first screen, from 160 cells: last events of orders, and markets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from swapdesk.flows.notation import clock_time, day, percent, usd
from swapdesk.tui.lines_view import LinesView
from swapdesk.tui.spans import Line, Span, cut, fill, push_right
from swapdesk.tui.widgets.recent_lists import ROLE_OF_LEVEL
from swapdesk.tui.widgets.section_label import section_line

if TYPE_CHECKING:
    from datetime import datetime

    from swapdesk.flows.catalog.token_row import TokenRow
    from swapdesk.flows.tracking.recent_activity import RecentEvent

MOST_EVENTS = 6
MOST_MARKETS = 4
_TIME, _ID, _SYMBOL, _PRICE, _CHANGE = 12, 8, 10, 14, 10


class HomeNews(LinesView):
    """Both lists below one another; nothing of either where it is empty."""

    DEFAULT_CSS = """
    HomeNews { padding: 0 2; }
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._events: list[tuple[str, RecentEvent]] = []
        self._markets: list[TokenRow] = []

    def show(
        self, events: Sequence[RecentEvent], markets: Sequence[TokenRow], now: datetime
    ) -> None:
        """Times of another day stand with their day."""
        self._events = [(_time(one.at, now), one) for one in events]
        self._markets = list(markets)
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        rows: list[Line] = []
        if self._events:
            rows.append(section_line("Last events", "", width))
            rows += [_event(time, one, width) for time, one in self._events]
        if self._markets:
            rows += [*([[]] if rows else []), section_line("Markets of your tokens", "USD", width)]
            rows += [_market(one, width) for one in self._markets]
        return rows


def _time(at: datetime, now: datetime) -> str:
    return clock_time(at) if at.date() == now.date() else day(at, now)


def _event(time: str, event: RecentEvent, width: int) -> Line:
    return cut(
        [
            *fill(Span(time, "muted"), _TIME),
            *fill(Span(event.order, bold=True), _ID),
            Span(event.word, ROLE_OF_LEVEL[event.level]),
        ],
        width,
    )


def _market(row: TokenRow, width: int) -> Line:
    role = "muted"
    if row.change:
        role = "amount-up" if row.change > 0 else "amount-down"
    line: Line = [
        *fill(Span(row.symbol), _SYMBOL),
        *push_right(Span(usd(row.price)), _PRICE),
        *push_right(Span(percent(row.change), role), _CHANGE),
    ]
    rest = width - _SYMBOL - _PRICE - _CHANGE - 2
    return [*line, Span("  "), *cut(Span(row.chain_name, "muted"), max(0, rest))]

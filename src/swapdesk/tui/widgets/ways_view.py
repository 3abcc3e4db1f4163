"""Same amount, three ways: one row for each kind of route, a missing one with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swapdesk.flows.notation import expected_minutes, table_amount
from swapdesk.flows.quotes.route_type_comparison import RouteTypeBest
from swapdesk.tui.spans import Line, Span, cut, fill, push_right
from swapdesk.tui.widgets.lines_view import LinesView, section_line

_KIND, _AMOUNT, _TAKES = 9, 18, 8
_KNOWS_FROM = 104


class WaysView(LinesView):
    """Hidden until there is an answer, and below 36 rows."""

    DEFAULT_CSS = """
    WaysView { margin: 1 0 0 0; }
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._ways: tuple[RouteTypeBest, ...] = ()
        self._head, self._symbol = "", ""

    def show(self, ways: Sequence[RouteTypeBest], head: str, symbol: str) -> None:
        """``head`` of the amounts (``You get, net``) and their ``symbol``."""
        shown = (tuple(ways), head, symbol)
        if shown != (self._ways, self._head, self._symbol):
            self._ways, self._head, self._symbol = shown
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        return ways_lines(self._ways, self._head, self._symbol, width) if self._ways else []


def ways_lines(ways: Sequence[RouteTypeBest], head: str, symbol: str, width: int) -> list[Line]:
    """A label, heads, one row a way; who knows whom goes first on narrow screens."""
    knows = width >= _KNOWS_FROM
    rest = width - _KIND - _AMOUNT - _TAKES - 3
    holds = rest // 2 + 4 if knows else rest
    heads: Line = [
        Span(" " * _KIND),
        *push_right(Span(head, "muted"), _AMOUNT),
        *push_right(Span("Takes", "muted"), _TAKES),
        Span("   "),
        *fill(Span("Holds your money meanwhile", "muted"), holds),
    ]
    if knows:
        heads += cut(Span("Knows who pays whom", "muted"), rest - holds)
    rows = [section_line("Same amount, three ways", "", width), heads]
    for way in ways:
        line: Line = fill(Span(way.kind, f"route-{way.kind}"), _KIND)
        if way.best is None:
            rows.append([*line, *cut(Span(f"  {way.missing}", "muted"), width - _KIND)])
            continue
        line += push_right(Span(f"{table_amount(way.best.figure)} {symbol}"), _AMOUNT)
        line += push_right(Span(expected_minutes(way.best.quote.duration)), _TAKES)
        line += [Span("   "), *fill(Span(way.holds), holds)]
        if knows:
            line += cut(Span(way.knows), rest - holds)
        rows.append(line)
    return rows

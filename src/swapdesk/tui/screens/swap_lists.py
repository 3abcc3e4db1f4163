"""The lists of the first page: recent lines, open orders, news, and examples of a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from swapdesk.flows.notation import clock_time, day, percent, tracker_amount, usd
from swapdesk.tui.spans import Line, Span, cut, fill, push_right
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import FittedLines, SectionLabel, TextRows, section_line
from swapdesk.tui.widgets.table_layout import Column, Row

if TYPE_CHECKING:
    from swapdesk.flows.catalog.catalog import Catalog
    from swapdesk.flows.catalog.token_row import TokenRow
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.intents.intent import Intent
    from swapdesk.flows.orders.order_status import OrderStatus
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.flows.quotes.recent import Recent
    from swapdesk.flows.tracking.recent_activity import RecentEvent
    from swapdesk.flows.tracking.tracking import Tracker


MOST = 6
ROLE_OF_LEVEL = {
    "waiting": "status-waiting",
    "moving": "status-moving",
    "done": "status-done",
    "trouble": "status-trouble",
    "back": "status-trouble",
    "expired": "muted",
}


class RecentLines(LineTable):
    """Lines of earlier intents; the key of a row is its line."""

    def __init__(self, **place: Any) -> None:
        columns = [
            Column("line", "", 18, grow=1),
            Column("route", "", 8, priority=2),
            Column("at", "", 11, "right", priority=1, role="muted"),
        ]
        super().__init__(columns, heads=False, empty="Nothing asked yet.", **place)
        self._recent: dict[str, Recent] = {}

    def fill(self, intents: Iterable[Intent], catalog: Catalog, now: datetime) -> None:
        from swapdesk.flows.quotes.recent import recent_lines

        self._recent = {line.text: line for line in recent_lines(intents, catalog, MOST)}
        self.set_rows(
            Row(
                line.text,
                {
                    "line": line.text,
                    "route": Span(line.route, f"route-{line.route}"),
                    "at": day(line.at, now),
                },
            )
            for line in self._recent.values()
        )

    def chosen(self, key: str) -> Recent | None:
        return self._recent.get(key)


class OpenOrders(LineTable):
    """Open orders, nearest deadline first; the key of a row is the order's id."""

    def __init__(self, **place: Any) -> None:
        columns = [
            Column("id", "", 6),
            Column("what", "", 16, grow=1, priority=3),
            Column("state", "", 15),
            Column("time", "", 11, "right", priority=2, role="muted"),
        ]
        super().__init__(columns, heads=False, empty="No order is open.", **place)

    def show(self, tracked: Iterable[Any], now: datetime) -> None:
        from swapdesk.flows.orders.order_status import order_status

        rows = [(one, order_status(one, now)) for one in tracked]
        self.set_rows(_row(one, said) for one, said in rows if not said.ended)


def _row(tracked: TrackedOrder, said: OrderStatus) -> Row:
    """In the words of the tracker."""
    order = tracked.order
    sent, received = tracked.symbols
    return Row(
        tracked.service_id,
        {
            "id": Span(tracked.short_id, bold=True),
            "what": f"{tracker_amount(order.in_amount, 'pay')} {sent} → {received}",
            "state": Span(said.word, ROLE_OF_LEVEL[said.level]),
            "time": said.time.text,
        },
    )


MOST_EVENTS = 6
MOST_MARKETS = 4
_TIME, _ID, _SYMBOL, _PRICE, _CHANGE = 12, 8, 10, 14, 10


def news_lines(
    events: Sequence[RecentEvent], markets: Sequence[TokenRow], now: datetime, width: int
) -> list[Line]:
    """Both lists below one another; nothing of either where it is empty. Times of another day stand
    with their day."""
    rows: list[Line] = []
    if events:
        rows.append(section_line("Last events", "", width))
        rows += [_event(_time(one.at, now), one, width) for one in events]
    if markets:
        rows += [*([[]] if rows else []), section_line("Markets of your tokens", "USD", width)]
        rows += [_market(one, width) for one in markets]
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


TWO_FROM = 92
EXAMPLES = (
    ("0.5 btc eth", "sell 0.5 BTC, buy ETH"),
    ("=2 btc eth", "get exactly 2 ETH, sell BTC"),
    ("0.5 eth @bob", "private send to bob"),
    ("900 usdc.base sol", "name the chain after a dot"),
    ("$500 btc to eth", "dollars; or 1k, 50%, max"),
    ("usdc bitcoin:…", "pay a payment link"),
)


def how_lines(width: int) -> list[Line]:
    """Two examples a row from 92 cells, else one."""
    if width < TWO_FROM:
        return [_example(line, means, 19) for line, means in EXAMPLES]
    column = width // 2
    return [
        [*_padded(_example(*EXAMPLES[at], 17), column), *_example(*EXAMPLES[at + 1], 19)]
        for at in range(0, len(EXAMPLES), 2)
    ]


def _example(line: str, means: str, size: int) -> Line:
    return [Span(line.ljust(size)), Span(means, "muted")]


def _padded(line: Line, width: int) -> Line:
    used = sum(len(span.text) for span in line)
    return [*line, Span(" " * max(0, width - used))]


COLOURS_OFFERED = "Colours: ctrl+p, theme. beacon for low vision, iris for colour blindness."

NEWS_FROM = 160
MOST_OPEN = 50
"""Open orders listed here; the order table has them all."""


class SwapLists(Vertical):
    """Recent lines, open orders, examples, and a greeting where nothing happened yet."""

    DEFAULT_CSS = """
    SwapLists { height: auto; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._recent = RecentLines(id="recent")
        self._open = OpenOrders(id="open")
        self._open_label = SectionLabel("Open orders")
        self._news, self._how = FittedLines(), FittedLines()
        self._asked: list[Intent] = []
        """What was confirmed at this desk, newest first."""
        self._welcome = TextRows(id="welcome")

    def compose(self) -> ComposeResult:
        yield Horizontal(
            Vertical(SectionLabel("Recent"), self._recent),
            Vertical(self._open_label, self._open),
            Vertical(self._news, id="news"),
            id="lists",
        )
        yield Vertical(SectionLabel("How to write it"), self._how, id="how")
        yield self._welcome

    def on_mount(self) -> None:
        self._how.show(how_lines)

    @property
    def tables(self) -> tuple[LineTable, LineTable]:
        """Recent lines and open orders."""
        return self._recent, self._open

    @property
    def open_count(self) -> int:
        return len(self._open.rows)

    @property
    def filled(self) -> LineTable | None:
        """The first list that has rows."""
        return next((table for table in self.tables if table.rows), None)

    def chosen(self, key: str) -> Recent | None:
        """The recent line of a row."""
        return self._recent.chosen(key)

    def fill(self, tracker: Tracker | None, catalog: Catalog, now: datetime) -> int:
        """All rows anew; how many orders are known."""
        from swapdesk.flows.quotes.recent import newest_intents

        self._asked = [] if tracker is None else newest_intents(tracker.known())
        self._recent.fill(self._asked, catalog, now)
        if tracker is not None:
            self.show_open(tracker, now)
        count = 0 if tracker is None else tracker.open_count
        self._open_label.show("Open orders", f"{count:,}" if count else "")
        return 0 if tracker is None else tracker.count

    def tell(self, desk: Desk, now: datetime) -> None:
        """Last events and markets of the orders that were filled in, where the screen has a
        column for them."""
        if self.app.size.width < NEWS_FROM:
            return
        from swapdesk.flows.tracking.recent_activity import markets_of, recent_events

        events = recent_events(desk.journal, MOST_EVENTS, desk.link.tracker.get)
        markets = markets_of(self._asked, desk.catalog, MOST_MARKETS)
        self._news.show(partial(news_lines, events, markets, now))

    def show_open(self, tracker: Tracker, now: datetime) -> None:
        """The open orders alone: their countdowns."""
        self._open.show(tracker.nearest(MOST_OPEN), now)

    def greet(self, catalog: Catalog | None) -> None:
        """A sentence where nothing was asked yet; None for none."""
        if catalog is None:
            self._welcome.show([])
            return
        said = f"This is a sandbox with {len(catalog.chains())} chains and {catalog.count} tokens."
        self._welcome.show(
            [
                Span(f"{said} Nothing here is real money.", "muted"),
                Span(COLOURS_OFFERED, "muted"),
            ]
        )

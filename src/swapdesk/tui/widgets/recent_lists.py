"""What was asked before, and the orders that are open: the two lists of the first screen."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from swapdesk.flows.notation import day, tracker_amount
from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.table_layout import Column, Row

if TYPE_CHECKING:
    from swapdesk.flows.catalog.catalog import Catalog
    from swapdesk.flows.intents.intent import Intent
    from swapdesk.flows.orders.order_status import OrderStatus
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.flows.quotes.recent import Recent

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

"""A desk for the tests that need a real terminal: a table of orders, or one hostile text."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from swapdesk.clock import SystemClock
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.tui.base_screen import DeskScreen
from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.terminal import SafeApp
from swapdesk.tui.widgets.frame import FrameState
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.order_table import order_columns, order_row
from swapdesk.tui.widgets.table_layout import Row
from swapdesk.wire.orders import DisplayStatus, Order

NOW = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)


def order(number: int) -> Row:
    """A row of the tracker as it is drawn there."""
    known = Order(
        service_id=f"h8K{number:03}PdT5mXcVbN3wRtY7z",
        created=NOW,
        display_status=DisplayStatus.EXCHANGE_IN_PROGRESS.value,
        in_status=3,
        anonymous=False,
        swap_name="Halyard",
        in_amount=Decimal("0.5"),
        in_symbol="BTC",
        out_amount=Decimal(f"{number}.524108"),
        out_symbol="ETH",
        eta=Decimal(14),
    )
    tracked = TrackedOrder(known, None, None, ended=False, seen_at=NOW, source="stream")
    return order_row(tracked, order_status(tracked, NOW + timedelta(minutes=6)), wide=True)


class Orders(DeskScreen):
    """One text, or the table of ``orders``."""

    def __init__(self, text: str) -> None:
        super().__init__(FrameState("Orders", context=text, stream="live", age=1), SystemClock())
        self.text = text
        self.table = LineTable(order_columns(wide=True))

    def compose_body(self) -> list[Widget]:
        if self.text != "orders":
            return [Static(Content(self.text)), Static(Content("end of it"))]
        self.table.set_rows(order(number) for number in range(1, 101))
        return [self.table]

    def on_mount(self) -> None:
        self.set_money("in your wallet.", "you: choose an order")


class Desk(SafeApp[None]):
    def __init__(self, text: str) -> None:
        super().__init__(glyph_set=GlyphSet.UNICODE)
        self.text = text

    def compose(self) -> ComposeResult:
        yield from ()

    def on_mount(self) -> None:
        self.push_screen(Orders(self.text))

    def on_desk_screen_go(self, event: DeskScreen.Go) -> None:
        self.exit()


if __name__ == "__main__":
    Desk(sys.argv[1].encode("ascii").decode("unicode_escape")).run()

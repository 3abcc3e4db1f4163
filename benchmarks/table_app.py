"""The baseline of live tables: a DataTable whose changed cells are set message by message.

``python -m benchmarks.table_app PORT ROWS``. It reads the same stream with the standard
library's JSON, and answers the key ``k`` with a counter.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from textual.app import App, ComposeResult
from textual.events import Key
from textual.widgets import DataTable, Static
from websockets.asyncio.client import connect

COLUMNS = ("Order", "You send", "You get", "Route", "State", "In", "Changed")
_CHANGING = ("You get", "State", "In", "Changed")


class TableApp(App[None]):
    CSS = "DataTable { height: 1fr; }"

    def __init__(self, port: int, rows: int) -> None:
        super().__init__()
        self._port = port
        self._rows = rows
        self._keys = 0
        self._known: set[str] = set()

    def compose(self) -> ComposeResult:
        yield DataTable(cursor_type="row")
        yield Static("K=00000000", id="count")

    def on_mount(self) -> None:
        table = self.query_one(DataTable)
        for column in COLUMNS:
            table.add_column(column, key=column, width=14)
        table.focus()
        self.run_worker(self._follow(), exit_on_error=True)

    def on_key(self, event: Key) -> None:
        if event.key == "k":
            self._keys += 1
            self.query_one("#count", Static).update(f"K={self._keys:08d}")

    async def _follow(self) -> None:
        url = f"ws://127.0.0.1:{self._port}/v2/ws"
        headers = {"Authorization": "benchmark:benchmark"}
        async with connect(url, additional_headers=headers, compression=None) as socket:
            await socket.recv()
            await socket.send('{"type":"subscribe"}')
            async for message in socket:
                frame = json.loads(message)
                if frame["type"] == "order_update":
                    self._show(frame["data"])

    def _show(self, order: dict[str, Any]) -> None:
        table, key = self.query_one(DataTable), order["serviceId"]
        cells = (
            key[:6],
            f"{order['inAmount']} {order['inSymbol']}",
            f"{order['outAmount']} {order['outSymbol']}",
            "private",
            order["displayStatus"],
            str(order["inStatus"]),
            order["modified"][11:19],
        )
        if key not in self._known:
            self._known.add(key)
            table.add_row(*cells, key=key)
            return
        for column, cell in zip(COLUMNS, cells, strict=True):
            if column in _CHANGING:
                table.update_cell(key, column, cell)


if __name__ == "__main__":
    TableApp(int(sys.argv[1]), int(sys.argv[2])).run()

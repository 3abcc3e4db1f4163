"""The rows of the tracker: open orders, then finished ones, each under its label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from swapdesk.flows.order_filter import matches
from swapdesk.flows.order_summary import summarise
from swapdesk.tui.spans import LineLike
from swapdesk.tui.widgets.empty_state import Nothing, empty_line
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.order_table import order_columns, order_row
from swapdesk.tui.widgets.table_layout import Blank, Row, Section, TableRow

if TYPE_CHECKING:
    from swapdesk.flows.tracked_order import TrackedOrder

OPEN = "section open"
NONE_YET = Nothing("No orders yet.", "n", "starts a swap")


@dataclass(frozen=True, slots=True)
class Drawn:
    """What stands in the table for an order, and whether it stands under the finished ones."""

    tracked: TrackedOrder
    row: Row
    ended: bool


class OrderList(LineTable):
    """Rows keep their place while their cells change; the cursor stays on its order."""

    def __init__(self, **place: Any) -> None:
        super().__init__(order_columns(wide=False), **place)
        self._wide = False
        self._drawn: dict[str, Drawn] = {}
        self._total = (0, 0)
        """Open orders and all orders, without the filter."""

    @property
    def known(self) -> int:
        """How many orders there are, without the filter."""
        return self._total[1]

    @property
    def running(self) -> bool:
        """Whether an order among the rows is open."""
        return any(not one.ended for one in self._drawn.values())

    def running_in_view(self) -> list[str]:
        """Ids of the open orders that are on the screen now."""
        drawn = ((key, self._drawn.get(key)) for key in self.visible_keys())
        return [key for key, one in drawn if one is not None and not one.ended]

    def set_wide(self, wide: bool) -> bool:
        """Columns for this width; True when they are others, and :meth:`fill` is due."""
        if wide == self._wide:
            return False
        self._wide = wide
        self._drawn.clear()
        self.set_columns(order_columns(wide=wide))
        return True

    def say(self, sentence: LineLike) -> None:
        """No rows, and why."""
        self._drawn.clear()
        self.set_empty(sentence)
        self.set_rows([])

    def redraw(self, tracked: TrackedOrder, now: datetime) -> bool:
        """Draw an order in its place; False when its place is elsewhere, and all rows are due."""
        known = self._drawn.get(tracked.service_id)
        drawn = self._draw(tracked, now)
        if known is None or known.ended != drawn.ended:
            return False
        self._drawn[tracked.service_id] = drawn
        self.update_row(drawn.row)
        return True

    def fill(
        self, orders: Sequence[TrackedOrder], text: str, now: datetime, *, running: int, stale: str
    ) -> None:
        """The orders that ``text`` keeps; ``running`` of all of them are open."""
        drawn: dict[str, Drawn] = {}
        for tracked in orders:
            known = self._drawn.get(tracked.service_id)
            # Rows of an unchanged order are kept: the tick brings their times up to date.
            if known is None or known.tracked is not tracked or text:
                if text and not matches(text, tracked, summarise(tracked, now), now):
                    continue
                known = self._draw(tracked, now)
            drawn[tracked.service_id] = known
        self._drawn = drawn
        self._total = (running, len(orders))
        self.set_empty(
            f"No order matches {text!r}. esc clears the filter." if orders else empty_line(NONE_YET)
        )
        self.set_rows(self._grouped(stale))

    def relabel(self, stale: str) -> None:
        """``stale`` stands beside the open orders while nothing tells of their changes."""
        row = self.rows[0] if self.rows else None
        if isinstance(row, Section) and row.key == OPEN and row.stale != stale:
            self.update_row(Section(row.key, row.label, row.fact, stale))

    def _draw(self, tracked: TrackedOrder, now: datetime) -> Drawn:
        summary = summarise(tracked, now)
        return Drawn(tracked, order_row(tracked, summary, wide=self._wide), summary.ended)

    def _grouped(self, stale: str) -> list[TableRow]:
        open_ = [one.row for one in self._drawn.values() if not one.ended]
        finished = [one.row for one in self._drawn.values() if one.ended]
        running, known = self._total
        rows: list[TableRow] = []
        if open_:
            rows += [Section(OPEN, "Open", _fact(len(open_), running), stale), *open_]
        if finished:
            rows += [Blank("gap")] if open_ else []
            fact = _fact(len(finished), known - running)
            rows += [Section("section finished", "Finished", fact), *finished]
        return rows


def _fact(shown: int, whole: int) -> str:
    return str(shown) if shown == whole else f"{shown} of {whole}"

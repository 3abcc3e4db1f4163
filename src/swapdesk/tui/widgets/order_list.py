"""The rows of the tracker: what needs you, what is open, what is not signed, what is over, each
under its label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from swapdesk.flows.data_age import left_out_words
from swapdesk.flows.orders.order_listing import EVERYTHING, FilterLine, Group, group_of
from swapdesk.flows.orders.order_status import RowTime, order_status, time_at
from swapdesk.tui.spans import LineLike
from swapdesk.tui.widgets.empty_state import Nothing, empty_line
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.order_table import amount_cells, order_columns, order_row, row_at
from swapdesk.tui.widgets.table_layout import Blank, Row, Section, Sketch, TableLayout, TableRow

if TYPE_CHECKING:
    from swapdesk.flows.orders.order_status import OrderStatus
    from swapdesk.flows.orders.tracked_order import TrackedOrder

NONE_YET = Nothing("No orders yet.", "n", "starts a swap")
PAST_COMES = "older ones are being read"
UNREADABLE = "Cannot be read"
STEP, FILTERED_STEP = 100, 25
"""Rows laid out between two breaths of the event loop, a few milliseconds: a filter reads all that
an order says."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Which orders, in their sequence, and what stands beside their labels."""

    orders: Sequence[TrackedOrder]
    kept: FilterLine = EVERYTHING
    counts: Mapping[Group, int] = field(default_factory=dict)
    """How many of all orders stand in each group, without the filter."""
    stale: str = ""
    whole: bool = True
    """Whether older ones are not still being read."""
    skipped: int = 0
    """Orders of the service that cannot be read."""


@dataclass(slots=True)
class Drawn:
    """What stands in the table for an order, and under which label.

    The order is the newest that is known; out of view its row is a sketch. ``summary`` is what
    its row says, but for the time if ``time`` is a later one."""

    tracked: TrackedOrder
    row: Row | Sketch
    group: Group
    summary: OrderStatus | None = None
    time: RowTime | None = None


class OrderList(LineTable):
    """Rows keep their place while their cells change; the cursor stays on its order.

    A long list is measured in steps: :meth:`filling` is to be run to its end, with a breath
    between its steps. Only rows in view are laid out.
    """

    def __init__(self, now: Callable[[], datetime], **place: Any) -> None:
        super().__init__(order_columns(wide=False), **place)
        self._now = now
        self._wide = False
        self._drawn: dict[str, Drawn] = {}
        self._total: dict[Group, int] = {}
        """How many orders there are, without the filter."""
        self._open_label: Section | None = None
        self._skipped = 0

    @property
    def known(self) -> int:
        """How many orders there are, without the filter."""
        return sum(self._total.values())

    @property
    def shown(self) -> list[TrackedOrder]:
        """The orders that stand in the table, in their sequence."""
        found = (self._drawn.get(row.key) for row in self.rows)
        return [one.tracked for one in found if one is not None]

    @property
    def running(self) -> bool:
        """Whether an order among the rows is open."""
        return any(one.group is Group.OPEN for one in self._drawn.values())

    def running_in_view(self) -> list[str]:
        """Ids of the open orders that are on the screen now."""
        drawn = ((key, self._drawn.get(key)) for key in self.visible_keys())
        return [key for key, one in drawn if one is not None and one.group is Group.OPEN]

    def set_wide(self, wide: bool) -> bool:
        """Columns for this width; True when they are others, and the rows are due."""
        if wide == self._wide:
            return False
        self._wide = wide
        self._drawn.clear()
        self.set_columns(order_columns(wide=wide))
        return True

    def say(self, sentence: LineLike) -> None:
        """No rows, and why."""
        self._drawn.clear()
        self._open_label = None
        self.set_empty(sentence)
        self.set_rows([])

    def redraw(self, tracked: Iterable[TrackedOrder], now: datetime, skipped: int = 0) -> bool:
        """Draw orders in their place; those out of view when they come into it. False when one
        has its place elsewhere or others are ``skipped``, and all rows are due."""
        if skipped != self._skipped:
            return False
        visible = set(self.visible_keys())
        timed: list[TableRow] = []
        for one in tracked:
            known = self._drawn.get(one.service_id)
            if known is None:
                return False
            same = known.tracked is one
            if not same and known.group is not group_of(one):
                return False
            if one.service_id in visible:
                before = known.row
                if not same or not self._timed(known, now):
                    self._put(one, now)
                elif known.row is not before:
                    timed.append(known.row)
            elif not same:
                self._out_of_view(known, one)
        self.update_rows(timed)
        return True

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.catch_up(self._now())

    def catch_up(self, now: datetime) -> None:
        """Lay out what came into view."""
        for key in self.visible_keys():
            one = self._drawn.get(key)
            if one is not None and isinstance(one.row, Sketch):
                self._put(one.tracked, now)

    def laid(self, row: TableRow) -> TableRow:
        one = self._drawn.get(row.key) if isinstance(row, Sketch) else None
        if one is None:
            return row
        if isinstance(one.row, Sketch):
            self._lay(one, self._now())
        return one.row

    def fill(self, shown: Shown, now: datetime) -> None:
        """All rows at once."""
        for _ in self.filling(shown, now):
            pass

    def filling(self, shown: Shown, now: datetime) -> Iterator[None]:
        """Lay the rows out anew; the first ones stand after the first step, and the table of
        before goes on standing meanwhile when there is one."""
        drawn: dict[str, Drawn] = {}
        measured = TableLayout(order_columns(wide=self._wide))
        first = not self._drawn
        step = STEP if shown.kept.empty else FILTERED_STEP
        for at, tracked in enumerate(shown.orders, start=1):
            one = self._kept(tracked, shown.kept, now, measured)
            if one is not None:
                drawn[tracked.service_id] = one
                measured.measure(one.row)
            if at % step == 0:
                if first and drawn:
                    first = False
                    self._set(dict(drawn), shown)
                yield
        self._set(drawn, shown, measured)

    def relabel(self, stale: str) -> None:
        """``stale`` stands beside the open orders while nothing tells of their changes."""
        label = self._open_label
        if label is not None and label.stale != stale:
            self._open_label = replace(label, stale=stale)
            self.update_row(self._open_label)

    def _kept(
        self, tracked: TrackedOrder, kept: FilterLine, now: datetime, layout: TableLayout
    ) -> Drawn | None:
        if not kept.empty and not kept.keeps(tracked, order_status(tracked, now), now):
            return None
        known = self._drawn.get(tracked.service_id)
        if known is None or known.tracked is not tracked:
            known = Drawn(tracked, Sketch(tracked.service_id), group_of(tracked))
        # Rows of an unchanged order are kept: the tick brings their times up to date.
        if isinstance(known.row, Sketch) and known.row.needs is None:
            known.row.needs = layout.needs(amount_cells(tracked))
        return known

    def _put(self, tracked: TrackedOrder, now: datetime) -> None:
        """Draw an order in view."""
        summary = order_status(tracked, now)
        row = order_row(tracked, summary, wide=self._wide)
        self._drawn[tracked.service_id] = Drawn(tracked, row, group_of(tracked), summary)
        self.update_row(row)

    def _timed(self, one: Drawn, now: datetime) -> bool:
        """Put the time of an unchanged order in its row; False when the time changes more."""
        said = one.summary
        time = time_at(said, one.tracked, now) if said is not None else None
        if said is None or time is None or not isinstance(one.row, Row):
            return False
        if time != (one.time or said.time):
            one.row, one.time = row_at(one.row, said, time, wide=self._wide), time
        return True

    def _lay(self, one: Drawn, now: datetime) -> None:
        one.summary, one.time = order_status(one.tracked, now), None
        one.row = order_row(one.tracked, one.summary, wide=self._wide)
        self._rows.put(one.row)

    def _out_of_view(self, known: Drawn, tracked: TrackedOrder) -> None:
        """Keep the newest state; its row is laid out when it comes into view."""
        known.tracked, known.summary, known.time = tracked, None, None
        if not (isinstance(known.row, Sketch) and known.row.needs is None):
            known.row = Sketch(tracked.service_id)
            self._rows.put(known.row)

    def _set(
        self, drawn: dict[str, Drawn], shown: Shown, measured: TableLayout | None = None
    ) -> None:
        self._drawn = drawn
        self._total = dict(shown.counts)
        self._skipped = shown.skipped
        said = left_out_words(shown.skipped)
        none = f"{shown.kept.nothing(len(shown.orders))} esc clears the filter. {said}".rstrip()
        # With orders that cannot be read it is not known that there are none.
        self.set_empty(none if shown.orders else said or empty_line(NONE_YET))
        self.set_rows(self._grouped(shown), measured)

    def _grouped(self, shown: Shown) -> list[TableRow]:
        groups: dict[Group, list[TableRow]] = {group: [] for group in Group}
        for one in self._drawn.values():
            groups[one.group].append(one.row)
        rows: list[TableRow] = []
        if shown.skipped and self._drawn:
            fact = f"{shown.skipped:,}, left out or as last known"
            rows.append(Section("section unreadable", UNREADABLE, fact))
        self._open_label = None
        for group, found in groups.items():
            coming = group is Group.FINISHED and not shown.whole
            if not found and not coming:
                continue
            rows += [Blank(f"gap {group}")] if rows else []
            fact = _fact(len(found), self._total[group])
            if coming:
                fact = f"{fact}, {PAST_COMES}"
            label = Section(f"section {group}", group.value, fact)
            if group is Group.OPEN:
                label = self._open_label = replace(label, stale=shown.stale)
            rows += [label, *found]
        return rows


def _fact(shown: int, whole: int) -> str:
    return str(shown) if shown == whole else f"{shown} of {whole}"

"""The table of all orders, and the pane about the order under the cursor.

The rows are grouped under labels: needs you, open, not signed, put away, finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.chain.addresses.payments import memo_label, short_memo_label
from swapdesk.flows.notation import Elapsed, grouped_address, tracker_amount
from swapdesk.flows.orders.order_fields import route_of
from swapdesk.flows.orders.order_listing import (
    EVERYTHING,
    FilterLine,
    Group,
    group_of,
    left_out_words,
)
from swapdesk.flows.orders.order_status import order_status, time_at
from swapdesk.flows.orders.situations import HUES
from swapdesk.tui.glyphs import (
    DONE,
    ENDED,
    MOVING,
    REFUNDED,
    REFUSED,
    TROUBLE,
    UNKNOWN,
    WAITING,
)
from swapdesk.tui.spans import Line, LineLike, Span, width_of, wrapped
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import FittedLines, section_line
from swapdesk.tui.widgets.stage_line import StageMark, StageState, stage_spans
from swapdesk.tui.widgets.table_layout import (
    Cell,
    Column,
    Prose,
    Row,
    Section,
    Sketch,
    TableLayout,
    TableRow,
)

if TYPE_CHECKING:
    from swapdesk.flows.intents.intent import Intent
    from swapdesk.flows.orders.order_status import OrderStatus
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.wire.orders import Order


SIGNS = {
    sign: (glyph, HUES[sign])
    for sign, glyph in (
        ("waiting", WAITING),
        ("moving", MOVING),
        ("done", DONE),
        ("trouble", TROUBLE),
        ("failed", REFUSED),
        ("back", REFUNDED),
        ("expired", ENDED),
        ("unknown", UNKNOWN),
    )
}
_MARKS = {
    "waiting": StageMark.WAITING,
    "moving": StageMark.MOVING,
    "done": StageMark.DONE,
    "trouble": StageMark.TROUBLE,
    "back": StageMark.BACK,
    "expired": StageMark.EXPIRED,
}


def order_columns(wide: bool) -> list[Column]:
    """Returns the columns of the table of orders. ``wide`` is for screens of 120 cells or more."""
    columns = [
        Column("mark", "", 1),
        Column("id", "Order", 6, gap=1),
        Column("send", "You send", 12, "point", gap=1, unit=5),
        Column("get", "You get", 14, "point", unit=5),
        Column("route", "Route", 8, priority=2),
        Column("stage", "Stage", 17, priority=4, gap=1),
        Column("state", "State", 17, gap=2)
        if wide
        else Column("state", "State", 15, gap=1, grow=1),
    ]
    if wide:
        columns.append(Column("next", "Next", 8, priority=1, grow=1))
    columns.append(Column("time", "Time", 11 if wide else 9, "right", priority=3, gap=1))
    return columns


def amount_cells(tracked: TrackedOrder) -> dict[str, Cell]:
    from swapdesk.flows.orders.order_fields import shown

    sent, _ = tracked.symbols
    return {
        "send": f"{tracker_amount(tracked.order.in_amount, 'pay')} {sent}",
        "get": " ".join(shown(tracked.proceeds)).rstrip(),
    }


def order_row(tracked: TrackedOrder, summary: OrderStatus, *, wide: bool) -> Row:
    order = tracked.order
    _, role = SIGNS[summary.sign]
    route = route_of(order)
    calm = calm_role(summary)
    waits = summary.yours or not summary.ended
    cells: dict[str, Cell] = {
        "mark": sign_span(summary),
        "id": tracked.short_id,
        **amount_cells(tracked),
        "route": Span(route, f"route-{route}"),
        "stage": stage_spans(stage_of(summary)),
        "state": Span(summary.word, role, bold=summary.yours),
        "next": Span(summary.actor.removeprefix("the "), calm) if waits else "",
        "time": time_cell(summary.time, calm, wide=wide),
    }
    return Row(tracked.service_id, cells)


def row_at(row: Row, summary: OrderStatus, time: Elapsed, *, wide: bool) -> Row:
    """Returns a copy of ``row`` with the new ``time``. ``summary`` is the state of the order in
    ``row``."""
    return Row(row.key, {**row.cells, "time": time_cell(time, calm_role(summary), wide=wide)})


def time_cell(time: Elapsed, calm: str, *, wide: bool) -> Span:
    return Span(time.text if wide else time.short, "status-trouble" if time.late else calm)


def calm_role(summary: OrderStatus) -> str:
    """Returns the colour role for cells without a colour of their own. The colour is brighter if
    the user has to act next."""
    return "foreground" if summary.yours else "muted"


def sign_span(summary: OrderStatus) -> Span:
    glyph, role = SIGNS[summary.sign]
    return Span(glyph, role)


def stage_of(summary: OrderStatus) -> StageState:
    mark = StageMark.ENDED if summary.not_signed else stage_mark(summary.level)
    return StageState(summary.stage, len(summary.stages), mark)


def stage_mark(level: str) -> StageMark:
    return _MARKS.get(level, StageMark.WAITING)


def pair_spans(tracked: TrackedOrder) -> Line:
    """Returns what an order swaps, as ``0.5 BTC → 14.524108 ETH``. The second amount is the
    expected payout until money has arrived or come back, and then the actual amount."""
    from swapdesk.flows.orders.order_sentence import pair_parts

    return [
        Span(text, bold=True) if amount else Span(text, "muted")
        for text, amount in pair_parts(tracked)
    ]


def empty_line(sentence: str, key: str, verb: str) -> Line:
    """Returns a row such as ``No orders yet. n starts a swap.``: ``sentence``, then ``key``, then
    ``verb``, the words for what the key does."""
    return [
        Span(f"{sentence} ", "muted"),
        Span(key, "accent", bold=True),
        Span(f" {verb}.", "muted"),
    ]


PAST_COMES = "older ones are being read"
UNREADABLE = "Cannot be read"
STEP, FILTERED_STEP = 100, 25
"""Orders laid out before other tasks may run, without and with a filter."""


class Shown(Struct, frozen=True):
    """The orders that the table shows, from top to bottom. ``kept`` is the filter. ``stale`` is the
    age of outdated data, as ``41s old``; empty if the data is fresh."""

    orders: Sequence[TrackedOrder]
    kept: FilterLine = EVERYTHING
    counts: Mapping[Group, int] = field(default_factory=dict)
    """Number of orders in each group without the filter."""
    stale: str = ""
    whole: bool = True
    """False while older orders are still being read from the journal."""
    skipped: int = 0
    """Number of orders of the service that the desk cannot read."""


class Drawn(Struct):
    """An order in the table as it was when its row was made."""

    tracked: TrackedOrder
    row: Row | Sketch
    group: Group
    summary: OrderStatus | None = None
    time: Elapsed | None = None


class OrderList(LineTable):
    """The table of orders. To lay out a long list, iterate over :meth:`filling`, with pauses for
    other tasks."""

    def __init__(self, now: Callable[[], datetime], **place: Any) -> None:
        super().__init__(order_columns(wide=False), **place)
        self._now = now
        self._wide = False
        self._drawn: dict[str, Drawn] = {}
        self._shown = Shown(())
        self._open_label: Section | None = None

    @property
    def shown(self) -> list[TrackedOrder]:
        shown = (self._drawn.get(row.key) for row in self.rows)
        return [drawn.tracked for drawn in shown if drawn is not None]

    @property
    def running(self) -> bool:
        return any(drawn.group is Group.OPEN for drawn in self._drawn.values())

    def running_in_view(self) -> list[str]:
        drawn = {key: self._drawn.get(key) for key in self.visible_keys()}
        return [key for key, order in drawn.items() if order and order.group is Group.OPEN]

    def set_wide(self, wide: bool) -> bool:
        """Sets the columns for a wide screen or a normal screen. Returns True if the columns
        changed; the caller must then fill the table again."""
        if wide == self._wide:
            return False
        self._wide = wide
        self._drawn.clear()
        self.set_columns(order_columns(wide=wide))
        return True

    def say(self, sentence: LineLike) -> None:
        self._drawn.clear()
        self._open_label = None
        self.set_empty(sentence)
        self.set_rows([])

    def redraw(self, orders: Iterable[TrackedOrder], skipped: int = 0) -> bool:
        """Redraws only the rows of ``orders``. Returns False if that is not enough and the caller
        must fill the whole table again. ``skipped`` is the number of unreadable orders."""
        if skipped != self._shown.skipped:
            return False
        visible, now = set(self.visible_keys()), self._now()
        changed: list[TableRow] = []
        for tracked in orders:
            drawn = self._drawn.get(tracked.service_id)
            if drawn is None:
                return False
            before = drawn.row
            if drawn.tracked is not tracked:
                if drawn.group is not group_of(tracked):
                    return False
                drawn = self._drawn[tracked.service_id] = self._new(tracked)
            row = self._current(drawn, now) if tracked.service_id in visible else drawn.row
            if row is not before:
                changed.append(row)
        self.update_rows(changed)
        return True

    def fill(self, shown: Shown) -> None:
        for _ in self.filling(shown):
            pass

    def filling(self, shown: Shown) -> Iterator[None]:
        """Lays out all rows of ``shown`` and yields after each step. Old rows stay until the last
        step."""
        kept: dict[str, Drawn] = {}
        measured = TableLayout(order_columns(wide=self._wide))
        first, now = not self._drawn, self._now()
        step = STEP if shown.kept.empty else FILTERED_STEP
        for at, tracked in enumerate(shown.orders, start=1):
            if shown.kept.empty or shown.kept.keeps(tracked, order_status(tracked, now), now):
                drawn = self._drawn.get(tracked.service_id)
                if drawn is None or drawn.tracked is not tracked:
                    drawn = self._new(tracked)
                # Rows of an unchanged order are kept: the tick brings their times up to date.
                if isinstance(drawn.row, Sketch) and not drawn.row.needs:
                    drawn.row.needs = measured.needs(amount_cells(tracked))
                kept[tracked.service_id] = drawn
                measured.measure(drawn.row)
            if at % step == 0:
                if first and kept:
                    first = False
                    self._set(dict(kept), shown)
                yield
        self._set(kept, shown, measured)

    def relabel(self, stale: str) -> None:
        """Shows ``stale``, the age of outdated data, as ``41s old``, beside the label of the open
        orders."""
        label = self._open_label
        if label is not None and label.stale != stale:
            self._open_label = replace(label, stale=stale)
            self.update_rows([self._open_label])

    def _new(self, tracked: TrackedOrder) -> Drawn:
        """Returns ``tracked`` with a sketch (a row whose cells are not made yet). The sketch must
        not refer to the ``Drawn`` that contains it, because such a cycle would waste memory."""
        sketch = Sketch(tracked.service_id, partial(self._row_of, tracked))
        return Drawn(tracked, sketch, group_of(tracked))

    def _row_of(self, tracked: TrackedOrder) -> Row:
        drawn = self._drawn.get(tracked.service_id)
        if drawn is None or drawn.tracked is not tracked:
            # Of a table that is about to have other rows.
            drawn = self._new(tracked)
        return self._current(drawn, self._now())

    def _current(self, drawn: Drawn, now: datetime) -> Row:
        time = time_at(drawn.summary, drawn.tracked, now) if drawn.summary is not None else None
        if drawn.summary is None or time is None or not isinstance(drawn.row, Row):
            drawn.summary = order_status(drawn.tracked, now)
            drawn.time = drawn.summary.time
            drawn.row = order_row(drawn.tracked, drawn.summary, wide=self._wide)
        elif time != drawn.time:
            drawn.row = row_at(drawn.row, drawn.summary, time, wide=self._wide)
            drawn.time = time
        return drawn.row

    def _set(
        self, drawn: dict[str, Drawn], shown: Shown, measured: TableLayout | None = None
    ) -> None:
        self._drawn = drawn
        self._shown = shown
        skipped = left_out_words(shown.skipped)
        none = f"{shown.kept.nothing(len(shown.orders))} esc clears the filter. {skipped}".rstrip()
        # With orders that cannot be read it is not known that there are none.
        self.set_empty(
            none if shown.orders else skipped or empty_line("No orders yet.", "n", "starts a swap")
        )
        self.set_rows(self._grouped(), measured)

    def _grouped(self) -> list[TableRow]:
        shown = self._shown
        groups: dict[Group, list[TableRow]] = {group: [] for group in Group}
        for drawn in self._drawn.values():
            groups[drawn.group].append(drawn.row)
        rows: list[TableRow] = []
        if shown.skipped and self._drawn:
            fact = f"{shown.skipped:,}, left out or as last known"
            rows.append(Section("section unreadable", UNREADABLE, fact))
        self._open_label = None
        for group, members in groups.items():
            coming = group is Group.FINISHED and not shown.whole
            if not members and not coming:
                continue
            rows += [Prose(f"gap {group}")] if rows else []
            fact = _fact(len(members), shown.counts[group])
            if coming:
                fact = f"{fact}, {PAST_COMES}"
            label = Section(f"section {group}", group.value, fact)
            if group is Group.OPEN:
                label = self._open_label = replace(label, stale=shown.stale)
            rows += [label, *members]
        return rows


def _fact(shown: int, whole: int) -> str:
    return str(shown) if shown == whole else f"{shown} of {whole}"


LABEL = 9


class OrderPane(FittedLines):
    """A widget about one order. It always has the same number of rows, so that the table above does
    not move."""

    DEFAULT_CSS = """
    OrderPane { height: 4; }
    OrderPane.-roomy { height: 7; }
    """

    @property
    def rows(self) -> int:
        return 7 if self.has_class("-roomy") else 4


def side_lines(
    tracked: TrackedOrder, summary: OrderStatus, fact: str, facts: Sequence[Fact], width: int
) -> list[Line]:
    """Returns the rows about an order for the panel beside the table."""
    about: list[Line] = [pair_spans(tracked), [], _state(summary), _funds(summary)]
    rows: list[Line] = [[], section_line(tracked.short_id, "", width)]
    for line in ([Span(fact, "muted")], [], *about, _next(summary), _by(summary)):
        rows += wrapped(line, width)
    # Beside the table a value has no room behind its label.
    for entry in facts:
        rows += [[], [Span(entry.label, "muted")]]
        rows += facts_lines([replace(entry, label="", link="")], width, label=2)
    return rows


def pane_lines(tracked: TrackedOrder, summary: OrderStatus, width: int, rows: int) -> list[Line]:
    """Returns exactly ``rows`` rows about an order. At least the order's state and who acts next
    are always shown."""
    last = wrapped([*_next(summary), *_by(summary, sentence=True)], width)
    first = wrapped([*_state(summary), Span(" "), *_funds(summary)], width)
    if len(first) + len(last) > rows:
        first = wrapped(_state(summary), width)
    if len(first) + len(last) > rows:
        last = wrapped(_next(summary), width)
    shown = [*first[: max(1, rows - len(last))], *last][:rows]
    extra = _addresses(tracked, summary, width)
    if len(shown) + 1 + len(extra) <= rows:
        shown += [[], *extra]
    return shown + [[] for _ in range(rows - len(shown))]


def _state(summary: OrderStatus) -> Line:
    glyph, role = SIGNS[summary.sign]
    return [Span(f"{glyph} {summary.told}", role)]


def _funds(summary: OrderStatus) -> Line:
    return [Span(f"Funds {summary.money}", "muted")]


def _next(summary: OrderStatus) -> Line:
    return [
        Span("Next ", "muted"),
        Span(summary.actor, bold=summary.actor == "you"),
        Span(f": {summary.act}."),
    ]


def _by(summary: OrderStatus, *, sentence: bool = False) -> Line:
    if summary.actor == "nobody":
        return []
    text = f"{summary.by[:1].upper()}{summary.by[1:]}."
    return [Span(f" {text}" if sentence else text, "muted")]


def _addresses(tracked: TrackedOrder, summary: OrderStatus, width: int) -> list[Line]:
    order = tracked.order
    rows: list[Line] = []
    shown = [("Deposit", order.deposit_address if summary.payable else None)]
    shown += [("Pays", order.receiver_address)]
    for label, address in shown:
        if address is None:
            continue
        line: Line = [Span(label.ljust(LABEL), "muted"), Span(grouped_address(address))]
        if width_of(line) <= width:
            rows.append(line)
    return rows


def payout_memo(order: Order, intent: Intent | None) -> list[Fact]:
    """Returns the memo of the payout, labelled with the chain's word for a memo. If the user chose
    to send none, the fact says so. Empty if neither applies."""
    kind = order.out_token.chain_data.kind if order.out_token is not None else None
    if kind is None:
        kind = intent.token_out.kind if intent is not None else ""
    label = f"With {short_memo_label(memo_label(kind)).lower()}"
    if order.receiver_tag:
        return [Fact(label, order.receiver_tag, copy=order.receiver_tag)]
    if intent is not None and intent.memo_waived:
        return [Fact(label, [Span("none, as you typed", "status-waiting")])]
    return []

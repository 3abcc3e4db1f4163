"""What is said of the order under the cursor, below the tracker or at its right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from swapdesk.flows.notation import grouped_address
from swapdesk.tui.spans import Line, Span, width_of, wrapped
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.lines_view import LinesView, section_line
from swapdesk.tui.widgets.order_table import SIGNS, pair_spans

if TYPE_CHECKING:
    from swapdesk.flows.orders.order_status import OrderStatus
    from swapdesk.flows.orders.tracked_order import TrackedOrder

LABEL = 9


class OrderPane(LinesView):
    """A fixed number of rows, so that the table above never moves."""

    DEFAULT_CSS = """
    OrderPane { height: 4; }
    OrderPane.-roomy { height: 7; }
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._said: tuple[TrackedOrder, OrderStatus] | None = None

    def show(self, tracked: TrackedOrder, summary: OrderStatus) -> None:
        self._said = (tracked, summary)
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        if self._said is None:
            return []
        return pane_lines(*self._said, width, 7 if self.has_class("-roomy") else 4)


class OrderSide(LinesView):
    """The order in full, beside the table of a wide screen."""

    DEFAULT_CSS = """
    OrderSide { padding: 0 2; height: 100%; }
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._rows: tuple[str, list[Line], tuple[Fact, ...]] | None = None

    def show(
        self, tracked: TrackedOrder, summary: OrderStatus, fact: str, facts: list[Fact]
    ) -> None:
        """``fact`` stands beside the id; ``facts`` are those of the order's own screen."""
        said: list[Line] = [pair_spans(tracked), [], _told(summary), _funds(summary)]
        about: list[Line] = [[Span(fact, "muted")], [], *said, _next(summary), _by(summary)]
        self._rows = (tracked.short_id, about, tuple(facts))
        self.redraw()

    def clear(self) -> None:
        self._rows = None
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        if self._rows is None:
            return []
        head, said, facts = self._rows
        rows: list[Line] = [[], section_line(head, "", width)]
        for line in said:
            rows += wrapped(line, width)
        # Beside the table a value has no room behind its label.
        for one in facts:
            value = Fact("", one.value, one.address, one.note, one.was, one.below, bold=one.bold)
            rows += [[], [Span(one.label, "muted")], *facts_lines([value], width, label=2)]
        return rows


def pane_lines(tracked: TrackedOrder, summary: OrderStatus, width: int, rows: int) -> list[Line]:
    """What is, where the money is, who acts next, until when; and the addresses where they fit.

    What happened and who acts next are never left out for the rest.
    """
    last = wrapped([*_next(summary), *_by(summary, sentence=True)], width)
    said = wrapped([*_told(summary), Span(" "), *_funds(summary)], width)
    if len(said) + len(last) > rows:
        said = wrapped(_told(summary), width)
    if len(said) + len(last) > rows:
        last = wrapped(_next(summary), width)
    shown = [*said[: max(1, rows - len(last))], *last][:rows]
    extra = _addresses(tracked, summary, width)
    if len(shown) + 1 + len(extra) <= rows:
        shown += [[], *extra]
    return shown + [[] for _ in range(rows - len(shown))]


def _told(summary: OrderStatus) -> Line:
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

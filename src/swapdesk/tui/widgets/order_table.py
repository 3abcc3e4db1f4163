"""Orders as rows: open ones first, finished ones below, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.flows.notation import tracker_amount
from swapdesk.flows.orders.order_fields import route_of
from swapdesk.flows.orders.order_status import RowTime
from swapdesk.tui.glyphs import (
    BECOMES,
    DONE,
    ENDED,
    MOVING,
    REFUNDED,
    REFUSED,
    TROUBLE,
    UNKNOWN,
    WAITING,
)
from swapdesk.tui.spans import Line, Span
from swapdesk.tui.widgets.stage_line import Mark, StageState, stage_spans
from swapdesk.tui.widgets.table_layout import Cell, Column, Row

if TYPE_CHECKING:
    from swapdesk.flows.orders.order_status import OrderStatus
    from swapdesk.flows.orders.tracked_order import TrackedOrder

SIGNS = {
    "waiting": (WAITING, "status-waiting"),
    "moving": (MOVING, "status-moving"),
    "done": (DONE, "status-done"),
    "trouble": (TROUBLE, "status-trouble"),
    "failed": (REFUSED, "status-trouble"),
    "back": (REFUNDED, "status-waiting"),
    "expired": (ENDED, "muted"),
    "unknown": (UNKNOWN, "muted"),
}
_MARKS = {
    "waiting": Mark.WAITING,
    "moving": Mark.MOVING,
    "done": Mark.DONE,
    "trouble": Mark.TROUBLE,
    "back": Mark.BACK,
    "expired": Mark.EXPIRED,
}


def order_columns(wide: bool) -> list[Column]:
    """``wide``: a screen of 120 cells and more, with who acts next and long times."""
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
    """The cells whose columns grow to what is in them."""
    from swapdesk.flows.orders.order_fields import shown

    sent, _ = tracked.symbols
    return {
        "send": f"{tracker_amount(tracked.order.in_amount, 'pay')} {sent}",
        "get": " ".join(shown(tracked.proceeds)).rstrip(),
    }


def order_row(tracked: TrackedOrder, summary: OrderStatus, *, wide: bool) -> Row:
    """One order. Beside grey a row has the hue of its state and that of its route; the word of
    the state is bold where you act next."""
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


def row_at(row: Row, summary: OrderStatus, time: RowTime, *, wide: bool) -> Row:
    """The row of an order with another time; ``summary`` is what the row says."""
    return Row(row.key, {**row.cells, "time": time_cell(time, calm_role(summary), wide=wide)})


def time_cell(time: RowTime, calm: str, *, wide: bool) -> Span:
    return Span(time.text if wide else time.short, "status-trouble" if time.late else calm)


def calm_role(summary: OrderStatus) -> str:
    """What is no hue of a state: brighter where you act next."""
    return "foreground" if summary.yours else "muted"


def sign_span(summary: OrderStatus) -> Span:
    """The glyph of a state in its hue."""
    glyph, role = SIGNS[summary.sign]
    return Span(glyph, role)


def stage_of(summary: OrderStatus) -> StageState:
    """The stage line of an order."""
    mark = Mark.ENDED if summary.not_signed else _MARKS[summary.level]
    return StageState(summary.stage, len(summary.stages), mark)


def pair_spans(tracked: TrackedOrder) -> Line:
    """``0.5 BTC → 14.524108 ETH``; what it was to be, or what came back, of one that ended
    otherwise."""
    from swapdesk.flows.orders.order_fields import ProceedsOutcome, deposit_doubted, unsaid

    sent, _ = tracked.symbols
    found = tracked.proceeds
    paid: Line = [Span(f"{tracker_amount(tracked.order.in_amount, 'pay')} {sent}", bold=True)]
    if deposit_doubted(tracked.order, tracked.intent):
        paid.append(Span(" asked for", "muted"))
    if unsaid(found):
        back = Span(found.symbol, bold=True)
        return [*paid, Span(f" {BECOMES} the ", "muted"), back, Span(" came back", "muted")]
    words = {ProceedsOutcome.MISSED: "was to be ", ProceedsOutcome.CAME_BACK: "came back "}.get(
        found.outcome, ""
    )
    return [
        *paid,
        Span(f" {BECOMES} {words}", "muted"),
        Span(f"{tracker_amount(found.amount)} {found.symbol}", bold=True),
    ]

"""What the batch planner shows of a plan: its rows, the line above them and the plan below."""

from __future__ import annotations

from collections.abc import Mapping

from swapdesk.client.budget import Allowance
from swapdesk.flows.batch.plan import BatchPlan
from swapdesk.flows.batch.planned import PlannedRow
from swapdesk.flows.batch.sheet import Column as Cell
from swapdesk.flows.batch_log import JournaledBatch, RowState
from swapdesk.flows.notation import exact_amount, short_address
from swapdesk.tui.glyphs import DONE, REFUSED, TROUBLE
from swapdesk.tui.spans import Line, LineLike, Span
from swapdesk.tui.widgets.table_layout import Column, Row

COLUMNS = (
    Column("row", "#", 4, "right"),
    Column("name", "Name", 8),
    Column("address", "Address", 13, priority=2, role="muted"),
    Column("amount", "Amount", 12, "point", unit=6),
    Column("buys", "Buys", 6),
    Column("route", "Route", 8, priority=1),
    Column("state", "State", 24, grow=1),
)
EMPTY = (
    "Load a CSV with l. The columns are: to, amount, token, chain, memo, route, sell, refund."
    " x writes a template."
)
_GLYPHS = {
    "ready": (DONE, "status-done"),
    "look": (TROUBLE, "status-waiting"),
    "problem": (REFUSED, "status-trouble"),
}
_ENDS = {
    RowState.PLANNED: ("look", "waits to be created"),
    RowState.UNKNOWN: ("look", "outcome unknown"),
    RowState.CREATED: ("ready", "created"),
    RowState.FAILED: ("problem", "failed"),
    RowState.DIFFERS: ("problem", "differs; do not pay"),
}


def table_rows(plan: BatchPlan, batch: JournaledBatch | None) -> list[Row]:
    """``batch``: what became of the rows, once they were created."""
    ends = {row.number: row for row in batch.rows} if batch is not None else {}
    rows: list[Row] = []
    for planned in plan.rows:
        level: str = planned.state
        said = planned.state if not planned.findings else _said(planned)
        end = ends.get(planned.number)
        if end is not None:
            level, said = _ENDS[end.state]
            said = f"{said}: {end.reason}" if end.reason else said
        glyph, role = _GLYPHS[level]
        state: Line = [Span(glyph, role), Span(f" {said}", "muted" if level == "ready" else role)]
        rows.append(Row(str(planned.number), {**_cells(planned), "state": state}))
    return rows


def _said(row: PlannedRow) -> str:
    return (row.problems or row.findings)[0].short


def _cells(row: PlannedRow) -> dict[str, LineLike]:
    order, number = row.order, str(row.number)
    if order is None:
        typed = row.row.cell(Cell.TO)
        return {
            "row": number,
            "name": typed[:8] if typed.startswith("@") else "—",
            "address": short_address(typed) if typed and not typed.startswith("@") else "",
            "amount": "—",
            "buys": row.row.cell(Cell.TOKEN)[:6],
            "route": row.row.cell(Cell.ROUTE)[:8] or "standard",
        }
    amount = f"{exact_amount(order.amount)} {order.token_in.symbol}"
    return {
        "row": number,
        "name": Span(order.label, bold=True) if order.label else "—",
        "address": short_address(order.recipient),
        "amount": amount,
        "buys": order.token_out.symbol,
        "route": Span(order.route, f"route-{order.route}"),
    }


def head_line(plan: BatchPlan) -> Line:
    """``USDC on Ethereum → 6 tokens   ● 16 ready   ▲ 1 to look at   ✗ 3 problems``."""
    sold = plan.totals
    line: Line = []
    if sold:
        first = sold[0].token
        text = (
            f"{first.symbol} on {first.chain_data.name}"
            if len(sold) == 1
            else f"{len(sold)} tokens"
        )
        bought = {row.order.token_out.id for row in plan.rows if row.order is not None}
        word = "token" if len(bought) == 1 else "tokens"
        line += [Span(text, bold=True), Span(f" → {len(bought)} {word}   ")]
    for state, word in (("ready", "ready"), ("look", "to look at"), ("problem", "problems")):
        count = sum(row.state == state for row in plan.rows)
        if count or state == "ready":
            glyph, role = _GLYPHS[state]
            said = "problem" if state == "problem" and count == 1 else word
            line.append(Span(f"{glyph} {count} {said}   ", role))
    return [*line, Span(plan.sheet.said, "muted")]


def plan_lines(plan: BatchPlan, left: Allowance | None) -> list[LineLike]:
    """Totals, orders, calls and what is signed."""
    totals = ", ".join(f"{exact_amount(one.amount)} {one.token.symbol}" for one in plan.totals)
    routes: Mapping[str, int] = plan.routes
    orders = ", ".join(f"{count} {route}" for route, count in routes.items())
    budget = "" if left is None else f", exchanges {left.left} of {left.limit} left"
    groups = ", ".join(f"{len(one.rows)} on {one.chain_name}" for one in plan.groups[:3])
    more = f" and {len(plan.groups) - 3} more" if len(plan.groups) > 3 else ""
    word = "group" if len(plan.groups) == 1 else "groups"
    return [
        [Span("Total   ", "muted"), Span(totals or "—")],
        [Span("Orders  ", "muted"), Span(f"{sum(routes.values())}: {orders}" if orders else "—")],
        [
            Span("Groups  ", "muted"),
            Span(f"{len(plan.groups)} {word}: {groups}{more}" if groups else "—"),
        ],
        [
            Span("Calls   ", "muted"),
            Span(f"{plan.creates} create, {plan.builds} build, {plan.submits} submit{budget}"),
        ],
    ]

"""Rows of a batch as a table: what each asks for, what is wrong with it, what came of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.cells import cell_len

from swapdesk.flows.batch.plan import BatchPlan
from swapdesk.flows.batch.planned import PlannedOrder, PlannedRow
from swapdesk.flows.batch.sheet import Column as Cell
from swapdesk.flows.journal.batch_records import JournaledBatch, JournaledRow, RowState
from swapdesk.flows.notation import about_amount, exact_amount, grouped_address, short_address
from swapdesk.flows.orders.order_status import OrderStatus
from swapdesk.tui.glyphs import DONE, NOTHING, REFUSED, TROUBLE, UNKNOWN, WAITING
from swapdesk.tui.spans import Line, LineLike, Span
from swapdesk.tui.widgets.order_table import SIGNS
from swapdesk.tui.widgets.table_layout import Column, Row
from swapdesk.wire.encoding.numbers import AmountError, parse_amount

ROOMY = 100
"""Cells from which the route has a column of its own."""
NAMED = 120
"""Cells from which a name and its address have one each."""
WIDE = 160
"""Cells from which addresses stand whole."""
LEVELS = {
    "ready": (DONE, "status-done"),
    "look": (TROUBLE, "status-waiting"),
    "problem": (REFUSED, "status-trouble"),
}
LONGEST_ADDRESS = 78
"""Cells of the longest address of a chain, in groups; what is longer is none."""
_WORDS = {"ready": "ready", "look": "to look at", "problem": "problem"}
_ENDS = {
    RowState.PLANNED: (WAITING, "status-waiting", "waits to be created"),
    RowState.UNKNOWN: (UNKNOWN, "status-waiting", "outcome unknown"),
    RowState.CREATED: (DONE, "status-done", "created"),
    RowState.FAILED: (REFUSED, "status-trouble", "failed"),
    RowState.DIFFERS: (REFUSED, "status-trouble", "differs; do not pay"),
}


def batch_columns(plan: BatchPlan | None, width: int) -> tuple[Column, ...]:
    """Columns on a screen of ``width`` cells, both sides of a row in all of them. Below
    :data:`ROOMY` there is no route, below :data:`NAMED` a recipient has one column; from
    :data:`WIDE` on addresses are whole and the reason has its own column, and so has the refund
    address where the file names one."""
    rows = plan.rows if plan is not None else ()
    number = Column("row", "#", 4, "right")
    unit = _unit(rows)
    # With one token for all rows its name is in the head, where there is no room for both.
    each = 0 if unit and width < ROOMY else 6
    sells = Column("sells", f"Sells {unit}".rstrip(), 10, "point", unit=each)
    arrives = Column("arrives", "Arrives", max(11, _widest(map(_arrives, rows))))
    route = Column("route", "Route", 8)
    state = Column("state", "State", 20, grow=1)
    if width < NAMED:
        # A name where there is one, else the address: the row under the cursor tells both.
        to = Column("to", "Recipient", 13)
        return (number, to, sells, arrives, *((route,) if width >= ROOMY else ()), state)
    head = (number, Column("name", "Name", 8))
    if width < WIDE:
        address = Column("address", "Address", 13, role="muted")
        return (*head, address, sells, arrives, route, state)
    address = Column("address", "Address", _widest(map(_recipient, rows)), role="muted")
    refund = _widest(map(_refund, rows))
    columns = [*head, address, sells, arrives, route, Column("state", "State", 22)]
    if refund:
        columns.append(Column("refund", "Comes back to", refund, priority=0, role="muted"))
    return (*columns, Column("reason", "Reason", 20, priority=1, grow=1))


def _unit(rows: Iterable[PlannedRow]) -> str:
    """The symbol of what is sold where that is one token in all rows, and a short one."""
    sold = {_sold(row) for row in rows}
    symbol = sold.pop() if len(sold) == 1 else ""
    return symbol if 0 < cell_len(symbol) <= LONGEST_UNIT else ""


def _sold(row: PlannedRow) -> str:
    if row.order is not None:
        return row.order.token_in.symbol
    return row.row.cell(Cell.SELL).partition(".")[0][:LONGEST_UNIT].upper()


LONGEST_UNIT = 6
LONGEST_AMOUNT = 18
"""Characters of what is written for an amount and is none."""


def batch_rows(
    plan: BatchPlan,
    batch: JournaledBatch | None,
    orders: Mapping[str, OrderStatus],
    width: int,
) -> list[Row]:
    """``batch``: what became of the rows, once they were created; ``orders``: how their orders
    stand, by id, as far as they are followed."""
    ends = {row.number: row for row in batch.rows} if batch is not None else {}
    bare = width < ROOMY and bool(_unit(plan.rows))
    return [
        _row(row, ends.get(row.number), orders, wide=width >= WIDE, bare=bare) for row in plan.rows
    ]


def _row(
    planned: PlannedRow,
    end: JournaledRow | None,
    orders: Mapping[str, OrderStatus],
    *,
    wide: bool,
    bare: bool,
) -> Row:
    if end is None:
        glyph, role = LEVELS[planned.state]
        found = (planned.problems or planned.findings or (None,))[0]
        word, reason = _WORDS[planned.state], found.short if found is not None else ""
        said = word if wide else reason or word
    else:
        glyph, role, said, reason = _end(end, orders.get(end.service_id or ""))
    state: Line = [Span(glyph, role), Span(f" {said}", "muted" if role == "status-done" else role)]
    cells: dict[str, LineLike] = {**_cells(planned, wide=wide, bare=bare), "state": state}
    if wide:
        cells |= {"reason": Span(reason, role), "refund": _refund(planned)}
    return Row(str(planned.number), cells)


def rows_below(plan: BatchPlan, last: int) -> tuple[LineLike, LineLike]:
    """What stands below row ``last`` of the file: how many rows, and the first problem among
    them; empty where nothing does."""
    below = [row for row in plan.rows if row.number > last]
    if not below:
        return "", ""
    count = f"{len(below):,} row{'' if len(below) == 1 else 's'} below"
    wrong = [row.number for row in below if row.state == "problem"]
    if not wrong:
        return Span(count, "muted"), ""
    several = f"{len(wrong):,} problem{'' if len(wrong) == 1 else 's'} below"
    where = f"row {wrong[0]}" if len(wrong) == 1 else f"the next in row {wrong[0]}"
    return Span(count, "muted"), Span(f"{REFUSED} {several}, {where}", "status-trouble")


def row_detail(planned: PlannedRow, end: JournaledRow | None) -> str:
    """All that is wrong with a row, one after another; both sides of one that is an order, or can
    become one."""
    reasons = _reasons(planned, end)
    sound = not planned.problems if end is None else end.state is RowState.CREATED
    if planned.order is not None and sound:
        reasons.append(_sides(planned.order))
    return " ".join(reasons)


def _sides(order: PlannedOrder) -> str:
    """``Sells 250 USDC on Ethereum; ≈ 107.9 XRP on XRP Ledger arrive at @rita rJMd 7zSS …``."""
    sold, bought = order.token_in, order.token_out
    memo = f", memo {order.memo}" if order.memo is not None else ""
    return (
        f"Sells {exact_amount(order.amount)} {sold.symbol} on {sold.chain_data.name};"
        f" {about_amount(order.about)} {bought.symbol} on {bought.chain_data.name} arrive at"
        f" {f'{order.label} ' if order.label else ''}{grouped_address(order.recipient)}{memo}."
    )


def _reasons(planned: PlannedRow, end: JournaledRow | None) -> list[str]:
    if end is not None:
        return [end.reason] if end.reason else []
    found = [*planned.problems, *(one for one in planned.findings if one not in planned.problems)]
    return [f"{one.reason} {one.do}" for one in found]


def _end(end: JournaledRow, order: OrderStatus | None) -> tuple[str, str, str, str]:
    if end.state is RowState.CREATED and order is not None and order.sign != "waiting":
        return *SIGNS[order.sign], order.word, ""
    return *_ENDS[end.state], end.reason or ""


def _cells(row: PlannedRow, *, wide: bool, bare: bool) -> dict[str, LineLike]:
    order = row.order
    typed = row.row.cell(Cell.TO)
    name = order.label if order is not None else typed if typed.startswith("@") else None
    address = _recipient(row)
    whole = wide and cell_len(address) <= LONGEST_ADDRESS
    shown = {
        "row": str(row.number),
        "name": Span(name[:8], bold=order is not None) if name else NOTHING,
        "address": address if whole else _shortened(row),
        "to": Span(name[:13], bold=order is not None) if name else _shortened(row) or NOTHING,
        "arrives": _arrives(row),
        "route": row.row.cell(Cell.ROUTE)[:8] or "standard",
    }
    if order is None:
        return {**shown, "sells": _typed_amount(row, bare=bare)}
    amount = exact_amount(order.amount)
    return {
        **shown,
        "sells": amount if bare else f"{amount} {order.token_in.symbol}",
        "route": Span(order.route, f"route-{order.route}"),
    }


def _arrives(row: PlannedRow) -> str:
    """``≈ 107.9 XRP``; of a row that is wrong what is to be bought, as it was written."""
    order = row.order
    if order is None:
        return row.row.cell(Cell.BUY)[:LONGEST_UNIT]
    return f"{about_amount(order.about)} {order.token_out.symbol[:LONGEST_UNIT]}"


def _typed_amount(row: PlannedRow, *, bare: bool) -> LineLike:
    """The amount of a row that is wrong elsewhere; what is no amount stands as it was written."""
    typed = row.row.cell(Cell.SELL_AMOUNT)
    try:
        amount = exact_amount(parse_amount(typed))
    except AmountError:
        return Span(typed[:LONGEST_AMOUNT], "status-trouble") if typed else NOTHING
    symbol = row.row.cell(Cell.SELL).partition(".")[0][:6]
    return f"{amount} {symbol}" if symbol and not bare else amount


def _recipient(row: PlannedRow) -> str:
    if row.order is not None:
        return grouped_address(row.order.recipient)
    typed = row.row.cell(Cell.TO)
    return "" if typed.startswith("@") else grouped_address(typed)


def _shortened(row: PlannedRow) -> str:
    if row.order is not None:
        return short_address(row.order.recipient)
    typed = row.row.cell(Cell.TO)
    return "" if not typed or typed.startswith("@") else short_address(typed)


def _refund(row: PlannedRow) -> str:
    refund = row.order.refund if row.order is not None else None
    return grouped_address(refund) if refund else ""


def _widest(texts: Iterable[str]) -> int:
    sizes = [cell_len(one) for one in texts]
    return max((one for one in sizes if one <= LONGEST_ADDRESS), default=0)

"""Texts of the batch page: facts above and below the rows, and the rows as a table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from rich.cells import cell_len

from swapdesk.client.budget import Allowance
from swapdesk.flows.batch.plan import BatchPlan, Means, PlannedGroup, Total
from swapdesk.flows.batch.planned import (
    TEMPLATE,
    PlannedOrder,
    PlannedRow,
    RowWord,
    SheetColumn,
)
from swapdesk.flows.journal.batch_records import JournaledBatch, JournaledRow, RowState
from swapdesk.flows.notation import about_amount, exact_amount, grouped_address, short_address
from swapdesk.flows.orders.order_status import OrderStatus
from swapdesk.tui.glyphs import BECOMES, DONE, ENDED, NOTHING, REFUSED, TROUBLE, UNKNOWN, WAITING
from swapdesk.tui.spans import Line, LineLike, Span, fill, joined, line_of, width_of, wrapped
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
    "skipped": (ENDED, "muted"),
}
LONGEST_ADDRESS = 78
"""Cells of the longest address of a chain, in groups; what is longer is none."""
_WORDS = {"ready": "ready", "look": "to look at", "problem": "problem", "skipped": "skipped"}
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
    :data:`WIDE` on addresses are whole, and the refund address has a column where the file names
    one. The state, which says what is wrong, has what room is left."""
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
    back = Column("refund", "Comes back to", refund, priority=0, role="muted")
    return (*head, address, sells, arrives, route, *((back,) if refund else ()), state)


def _unit(rows: Iterable[PlannedRow]) -> str:
    """The symbol of what is sold where that is one token in all rows, and a short one."""
    sold = {_sold(row) for row in rows}
    symbol = sold.pop() if len(sold) == 1 else ""
    return symbol if 0 < cell_len(symbol) <= LONGEST_UNIT else ""


def _sold(row: PlannedRow) -> str:
    if row.order is not None:
        return row.order.token_in.symbol
    return row.row.cell(SheetColumn.SELL).partition(".")[0][:LONGEST_UNIT].upper()


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
        found = None if planned.skipped else (planned.problems or planned.findings or (None,))[0]
        said = found.short if found is not None else _WORDS[planned.state]
    else:
        glyph, role, said, reason = _end(end, orders.get(end.service_id or ""))
        said = f"{said}: {reason}" if wide and reason else said
    state: Line = [Span(glyph, role), Span(f" {said}", "muted" if role == "status-done" else role)]
    cells: dict[str, LineLike] = {**_cells(planned, wide=wide, bare=bare), "state": state}
    if wide:
        cells["refund"] = _refund(planned)
    return Row(str(planned.number), cells, "muted" if planned.skipped else "")


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
    if planned.skipped:
        return " ".join(["It is skipped: no order is created.", *_reasons(planned, end)])
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
    typed = row.row.cell(SheetColumn.TO)
    name = order.label if order is not None else typed if typed.startswith("@") else None
    address = _recipient(row)
    whole = wide and cell_len(address) <= LONGEST_ADDRESS
    shown = {
        "row": str(row.number),
        "name": Span(name[:8], bold=order is not None) if name else NOTHING,
        "address": address if whole else _shortened(row),
        "to": Span(name[:13], bold=order is not None) if name else _shortened(row) or NOTHING,
        "arrives": _arrives(row),
        "route": row.row.cell(SheetColumn.ROUTE)[:8] or "standard",
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
        return row.row.cell(SheetColumn.BUY)[:LONGEST_UNIT]
    return f"{about_amount(order.about)} {order.token_out.symbol[:LONGEST_UNIT]}"


def _typed_amount(row: PlannedRow, *, bare: bool) -> LineLike:
    """The amount of a row that is wrong elsewhere; what is no amount stands as it was written."""
    typed = row.row.cell(SheetColumn.SELL_AMOUNT)
    try:
        amount = exact_amount(parse_amount(typed))
    except AmountError:
        return Span(typed[:LONGEST_AMOUNT], "status-trouble") if typed else NOTHING
    symbol = row.row.cell(SheetColumn.SELL).partition(".")[0][:6]
    return f"{amount} {symbol}" if symbol and not bare else amount


def _recipient(row: PlannedRow) -> str:
    if row.order is not None:
        return grouped_address(row.order.recipient)
    typed = row.row.cell(SheetColumn.TO)
    return "" if typed.startswith("@") else grouped_address(typed)


def _shortened(row: PlannedRow) -> str:
    if row.order is not None:
        return short_address(row.order.recipient)
    typed = row.row.cell(SheetColumn.TO)
    return "" if not typed or typed.startswith("@") else short_address(typed)


def _refund(row: PlannedRow) -> str:
    refund = row.order.refund if row.order is not None else None
    return grouped_address(refund) if refund else ""


def _widest(texts: Iterable[str]) -> int:
    sizes = [cell_len(one) for one in texts]
    return max((one for one in sizes if one <= LONGEST_ADDRESS), default=0)


EMPTY = (
    f"The columns of a file are: {', '.join(TEMPLATE)}. Outside the field, l loads a file"
    " and x writes a template."
)
LABEL = 9
TWO_COLUMNS = 72
"""Cells from which facts stand beside one another."""
MOST = 3
"""Groups that are named; of more only the number."""
LEAST_TOKENS = 3
ROWS_A_TOKEN = 4
"""Tokens that are named: so many on the lowest screen, and one more for each few rows beyond."""
LOWEST = 24


def tokens_named(height: int) -> int:
    """How many tokens have room in the totals of a screen of so many rows."""
    return LEAST_TOKENS + max(0, height - LOWEST) // ROWS_A_TOKEN


class PlanState(Struct, frozen=True):
    """``exchanges`` and ``reads`` are what the service still allows, None where it does not
    tell. ``built`` and ``gas`` are what a bundle is and costs, once there is one; ``paid`` by
    what it was paid; ``stopped`` is why the work on it stopped. ``heads`` says how amounts are
    read where the file does not. ``row`` is what is to be said of the row under the cursor, by its
    number. ``tokens`` are named in the totals, of more only the number; ``asks``: what the wallet
    has says whether they can be paid."""

    plan: BatchPlan
    means: Sequence[Means] = ()
    exchanges: Allowance | None = None
    reads: Allowance | None = None
    built: str = ""
    gas: str = ""
    paid: str = ""
    stopped: str = ""
    heads: str = ""
    row: tuple[int, str] | None = None
    tokens: int = LEAST_TOKENS
    asks: bool = True


_MADE = (
    (RowState.CREATED, DONE, "status-done", "created"),
    (RowState.PLANNED, WAITING, "status-waiting", "waiting"),
    (RowState.UNKNOWN, UNKNOWN, "status-waiting", "unknown"),
    (RowState.FAILED, REFUSED, "status-trouble", "failed"),
    (RowState.DIFFERS, REFUSED, "status-trouble", "not as asked for"),
)


def head_line(plan: BatchPlan, width: int, made: JournaledBatch | None = None) -> Line:
    """``USDC on Ethereum → 6 tokens   ● 16 ready   ▲ 1 to look at   ✗ 3 problems``, and what
    became of the rows once they were created. Where not all has room, the tokens stand below
    alone."""
    sold = plan.totals
    line: Line = []
    tokens: Line = []
    if sold:
        first = sold[0].token
        text = (
            f"{first.symbol} on {first.chain_data.name}"
            if len(sold) == 1
            else f"{len(sold)} tokens"
        )
        bought = {row.order.token_out.id for row in plan.rows if row.order and not row.skipped}
        word = "token" if len(bought) == 1 else "tokens"
        tokens = [Span(text, bold=True), Span(f" {BECOMES} {len(bought)} {word}   ")]
    if made is not None:
        for end, glyph, role, word in _MADE:
            if count := sum(row.state is end for row in made.rows):
                line.append(Span(f"{glyph} {count} {word}   ", role))
    states: tuple[tuple[RowWord, str], ...] = (("skipped", "skipped"),)
    if made is None:
        states = (("ready", "ready"), ("look", "to look at"), ("problem", "problems"), *states)
    for state, word in states:
        count = plan.count(state)
        if count or state == "ready":
            glyph, role = LEVELS[state]
            said = "problem" if state == "problem" and count == 1 else word
            line.append(Span(f"{glyph} {count} {said}   ", role))
    return [*tokens, *line] if width_of([*tokens, *line]) <= width else line


def plan_lines(state: PlanState, width: int) -> list[Line]:
    """Totals and what the wallet has of them, orders, groups, calls, signatures, gas."""
    plan = state.plan
    facts: list[tuple[str, Line]] = [
        *(
            [("Heads", line_of(f"{TROUBLE} {state.heads}", "status-waiting"))]
            if state.heads
            else []
        ),
        ("Total", _totals(state)),
        ("Arrives", _arrivals(plan, state.tokens)),
        ("Orders", _orders(plan)),
        ("Groups", _groups(plan)),
    ]
    if state.paid:
        # What was signed and asked for is over.
        facts.append(("Paid", line_of(state.paid)))
    else:
        facts.append(("Sign", line_of(state.built) if state.built else _signatures(plan)))
        if (gas := _gas(state)) is not None:
            facts.append(("Gas", gas))
        facts.append(("Calls", _calls(state)))
    if state.row is not None:
        number, said = state.row
        facts.append((f"Row {number}", line_of(said)))
    if state.stopped:
        facts.append(("Stopped", line_of(f"{TROUBLE} {state.stopped}", "status-waiting")))
    return _laid(facts, width)


def _laid(facts: Sequence[tuple[str, Line]], width: int) -> list[Line]:
    """Two facts in a row where both have half of it; what has not wraps under its label."""
    half = width // 2
    rows: list[Line] = []
    at = 0
    while at < len(facts):
        first = _labelled(facts[at])
        second = _labelled(facts[at + 1]) if at + 1 < len(facts) else None
        fits = second is not None and width_of(first) < half and width_of(second) <= width - half
        if width >= TWO_COLUMNS and fits and second is not None:
            rows.append([*fill(first, half), *second])
            at += 2
            continue
        label, content = facts[at]
        lines = wrapped(content, width - LABEL)
        heads = [fill(Span(label, "muted"), LABEL), *([Span(" " * LABEL)] for _ in lines[1:])]
        rows += [[*head, *line] for head, line in zip(heads, lines, strict=True)]
        at += 1
    return rows


def _labelled(fact: tuple[str, Line]) -> Line:
    return [*fill(Span(fact[0], "muted"), LABEL), *fact[1]]


def _totals(state: PlanState) -> Line:
    """What is missing stands first, so that no other total hides it. Once something is paid, what
    the wallet has says nothing about it."""
    by_chain = {} if state.paid else {one.chain: one for one in state.means}
    asks = state.asks and not state.paid
    said = [(one, by_chain.get(one.token.chain_data.short_name)) for one in state.plan.totals]
    said.sort(key=lambda one: one[1] is None or one[1].missing(one[0]) is None)
    line = joined([_total(one, means, asks) for one, means in said[: state.tokens]], ", ")
    if more := len(said) - state.tokens:
        line += _more_tokens(more)
    return line or [Span("—")]


def _more_tokens(count: int) -> Line:
    return [] if count < 0 else [Span(f" and {count} more token{'' if count == 1 else 's'}")]


def _arrivals(plan: BatchPlan, tokens: int) -> Line:
    """``≈ 0.04123 ETH on Base, ≈ 107.9 XRP on XRP Ledger``."""
    found = plan.arrivals
    said = ", ".join(
        f"{about_amount(one.about)} {one.token.symbol} on {one.token.chain_data.name}"
        for one in found[:tokens]
    )
    return [*line_of(said or "—"), *_more_tokens(len(found) - tokens or -1)]


def _total(total: Total, means: Means | None, asks: bool) -> LineLike:
    """``18,011.25 of 18,420.75 USDC on Ethereum in wallet trading``."""
    amount = exact_amount(total.amount)
    what = f"{total.token.symbol} on {total.token.chain_data.name}"
    if means is None:
        return f"{amount} {what}; what the wallet has is not known" if asks else f"{amount} {what}"
    if means.problem:
        return [Span(f"{amount} {what}. "), Span(f"{TROUBLE} {means.problem}", "status-waiting")]
    if means.filling:
        symbol = total.token.symbol
        return f"{amount} {what}; the faucet sends {symbol} to wallet {means.wallet}"
    has = means.has(total.token)
    if has is None:
        return f"{amount} {what}; what wallet {means.wallet} has is not known"
    lack = means.missing(total)
    role = "foreground" if lack is None else "status-waiting"
    said = [
        Span(amount, role, amount=True),
        Span(f" of {exact_amount(has)} {what} in wallet {means.wallet}", role),
    ]
    if lack is None:
        return said
    missing = f"; {exact_amount(lack)} {total.token.symbol} are missing"
    return [Span(f"{TROUBLE} ", role), *said, Span(missing, role)]


def _orders(plan: BatchPlan) -> Line:
    routes = plan.routes
    orders = ", ".join(f"{count} {route}" for route, count in routes.items())
    return line_of(f"{sum(routes.values())}: {orders}" if orders else "—")


def _groups(plan: BatchPlan) -> Line:
    """``2: 50 and 12 on Ethereum``; a group sells on one chain and has at most 50 rows."""
    groups = plan.groups
    if not groups:
        return line_of("—")
    named = ", ".join(f"{len(one.rows)} on {one.chain_name}" for one in groups[:MOST])
    more = f" and {len(groups) - MOST} more" if len(groups) > MOST else ""
    return line_of(f"{len(groups)}: {named}{more}")


def _signatures(plan: BatchPlan) -> Line:
    groups = plan.groups
    if not groups:
        return line_of("—")
    if len(groups) > 1:
        total = sum(one.signatures for one in groups)
        said = ", ".join(_how(one) for one in groups[:MOST])
        more = f" and {len(groups) - MOST} more" if len(groups) > MOST else ""
        return line_of(f"{total} times: {said}{more}")
    return line_of(_how(groups[0]))


def _how(group: PlannedGroup) -> str:
    """``1 bundle of 20 transfers``."""
    rows, times = len(group.rows), group.signatures
    transfers = f"{rows} transfer{'' if rows == 1 else 's'}"
    if group.paid == "bundle":
        return f"1 bundle of {transfers}"
    return f"{times} transaction{'' if times == 1 else 's'} of {transfers}"


def _calls(state: PlanState) -> Line:
    plan = state.plan
    said = f"{plan.creates} create, {plan.builds} build, {plan.submits} submit"
    for name, left in (("exchanges", state.exchanges), ("reads", state.reads)):
        if left is not None:
            said += f"; {name} {left.left:,} of {left.limit:,} left"
    return line_of(said)


def _gas(state: PlanState) -> Line | None:
    """What the bundle says, once it was built; before it what there is to pay gas from."""
    if state.gas:
        return line_of(state.gas)
    known = [one for one in state.means if one.coin is not None]
    if not known:
        return None
    coins = ", ".join(
        f"{exact_amount(one.coin)} {one.coin_symbol}" for one in known[:MOST] if one.coin
    )
    wallet = known[0].wallet
    if not coins:
        return [Span(f"{TROUBLE} wallet {wallet} has nothing to pay it from", "status-waiting")]
    return line_of(f"told by the build; wallet {wallet} has {coins}")

"""What stands above and below the rows of a batch: what it is, and what it takes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swapdesk.client.budget import Allowance
from swapdesk.flows.batch.means import Means
from swapdesk.flows.batch.plan import BatchPlan, PlannedGroup, Total
from swapdesk.flows.batch.sheet import TEMPLATE
from swapdesk.flows.journal.batch_records import JournaledBatch, RowState
from swapdesk.flows.notation import about_amount, exact_amount
from swapdesk.tui.glyphs import BECOMES, DONE, REFUSED, TROUBLE, UNKNOWN, WAITING
from swapdesk.tui.screens.batch_rows import LEVELS
from swapdesk.tui.spans import Line, LineLike, Span, fill, joined, line_of, width_of, wrapped
from swapdesk.tui.widgets.lines_view import LinesView

EMPTY = (
    f"The columns of a file are: {', '.join(TEMPLATE)}. Outside of the field l asks for a file"
    " and x writes a template."
)
LABEL = 9
TWO_COLUMNS = 72
"""Cells from which facts stand beside one another."""
MOST = 3
"""Tokens and groups that are named; of more only the number."""


@dataclass(frozen=True)
class PlanState:
    """``exchanges`` and ``reads`` are what the service still allows, None where it does not
    tell. ``built`` and ``gas`` are what a bundle is and costs, once there is one; ``paid`` by
    what it was paid; ``stopped`` is why the work on it stopped. ``heads`` says how amounts are
    read where the file does not. ``row`` is what is to be said of the row under the cursor, by its
    number."""

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


class PlanPane(LinesView):
    """The facts of a plan, two beside one another where there is room."""

    def __init__(self) -> None:
        super().__init__(id="pane")
        self.state: PlanState | None = None

    def show(self, state: PlanState) -> None:
        if state != self.state:
            self.state = state
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        return plan_lines(self.state, width) if self.state is not None else []


_MADE = (
    (RowState.CREATED, DONE, "status-done", "created"),
    (RowState.PLANNED, WAITING, "status-waiting", "waiting"),
    (RowState.UNKNOWN, UNKNOWN, "status-waiting", "unknown"),
    (RowState.FAILED, REFUSED, "status-trouble", "failed"),
    (RowState.DIFFERS, REFUSED, "status-trouble", "not as asked for"),
)


def head_line(plan: BatchPlan, made: JournaledBatch | None = None) -> Line:
    """``USDC on Ethereum → 6 tokens   ● 16 ready   ▲ 1 to look at   ✗ 3 problems``, and what
    became of the rows once they were created."""
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
        line += [Span(text, bold=True), Span(f" {BECOMES} {len(bought)} {word}   ")]
    if made is not None:
        for end, glyph, role, word in _MADE:
            if count := sum(row.state is end for row in made.rows):
                line.append(Span(f"{glyph} {count} {word}   ", role))
        return line
    for state, word in (("ready", "ready"), ("look", "to look at"), ("problem", "problems")):
        count = sum(row.state == state for row in plan.rows)
        if count or state == "ready":
            glyph, role = LEVELS[state]
            said = "problem" if state == "problem" and count == 1 else word
            line.append(Span(f"{glyph} {count} {said}   ", role))
    return line


def plan_lines(state: PlanState, width: int) -> list[Line]:
    """Totals and what the wallet has of them, orders, groups, calls, signatures, gas."""
    plan = state.plan
    facts: list[tuple[str, Line]] = [
        *(
            [("Heads", line_of(f"{TROUBLE} {state.heads}", "status-waiting"))]
            if state.heads
            else []
        ),
        # What the wallet had says nothing about what is paid already.
        ("Total", _totals(plan, () if state.paid else state.means)),
        ("Arrives", _arrivals(plan)),
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


def _totals(plan: BatchPlan, means: Sequence[Means]) -> Line:
    by_chain = {one.chain: one for one in means}
    line = joined(
        [_total(one, by_chain.get(one.token.chain_data.short_name)) for one in plan.totals[:MOST]],
        ", ",
    )
    if len(plan.totals) > MOST:
        line.append(Span(f" and {len(plan.totals) - MOST} more tokens"))
    return line or [Span("—")]


def _arrivals(plan: BatchPlan) -> Line:
    """``≈ 0.04123 ETH on Base, ≈ 107.9 XRP on XRP Ledger``."""
    found = plan.arrivals
    said = ", ".join(
        f"{about_amount(one.about)} {one.token.symbol} on {one.token.chain_data.name}"
        for one in found[:MOST]
    )
    more = f" and {len(found) - MOST} more tokens" if len(found) > MOST else ""
    return line_of(f"{said}{more}" or "—")


def _total(total: Total, means: Means | None) -> LineLike:
    """``18,011.25 of 18,420.75 USDC in wallet trading``."""
    symbol, amount = total.token.symbol, exact_amount(total.amount)
    if means is None:
        return f"{amount} {symbol}"
    if means.problem:
        return [Span(f"{amount} {symbol}. "), Span(f"{TROUBLE} {means.problem}", "status-waiting")]
    has = means.held.get(total.token.id)
    if means.filling:
        return f"{amount} {symbol}; the faucet sends {symbol} to wallet {means.wallet}"
    if has is None:
        return f"{amount} {symbol}"
    said = f"{amount} of {exact_amount(has)} {symbol} in wallet {means.wallet}"
    lack = means.missing(total)
    if lack is None:
        return said
    return Span(f"{TROUBLE} {said}; {exact_amount(lack)} are missing", "status-waiting")


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

"""A plan as a command prints it: a table, sentences, or one document."""

from __future__ import annotations

from swapdesk.cli.output import Output
from swapdesk.client.budget import Allowance
from swapdesk.flows.batch.document import plan_document
from swapdesk.flows.batch.finding import UNLESS_MEANT
from swapdesk.flows.batch.plan import BatchPlan, PlannedGroup
from swapdesk.flows.batch.planned import PlannedRow
from swapdesk.flows.batch.sheet import Column
from swapdesk.flows.notation import exact_amount


def tell_plan(output: Output, plan: BatchPlan, left: Allowance | None) -> None:
    if output.json:
        output.document(plan_document(plan, left))
        return
    rows = [_row(row) for row in plan.rows]
    output.table(("row", "line", "recipient", "amount", "sells", "buys", "route", "state"), rows)
    for row in plan.rows:
        for one in row.findings:
            place = f"Row {row.number}, line {row.row.line}"
            column = f", column {one.column}" if one.column is not None else ""
            do = "" if one.do == UNLESS_MEANT else f" {one.do}"
            output.say(f"{place}{column}: {one.reason}{do}")
    if any(one.do == UNLESS_MEANT for row in plan.rows for one in row.findings):
        output.talk("Rows to look at are created as they stand: nothing is to be done if meant so.")
    if plan.sheet.unused:
        output.talk(f"Columns that are not used: {', '.join(plan.sheet.unused)}.")
    output.facts(
        [
            ("Read as", plan.sheet.said),
            (
                "Rows",
                f"{plan.count('ready')} ready, {plan.count('look')} to look at, "
                f"{plan.count('problem')} with problems",
            ),
            (
                "Total",
                ", ".join(
                    f"{exact_amount(one.amount)} {one.token.symbol} on {one.token.chain_data.name}"
                    for one in plan.totals
                ),
            ),
            ("Orders", ", ".join(f"{count} {route}" for route, count in plan.routes.items())),
            *((f"Group {group.number}", group_words(group)) for group in plan.groups),
            ("Calls", calls_words(plan)),
            ("Budget", "" if left is None else f"exchanges {left.left} of {left.limit} left"),
        ]
    )


def group_words(group: PlannedGroup) -> str:
    """``20 rows on Ethereum, 1 bundle of 20 transfers, signed once``, for each token once."""
    count = len(group.rows)
    words = f"{count} row{'' if count == 1 else 's'} on {group.chain_name}"
    if group.paid == "bundle":
        signed = "signed once" if group.signatures == 1 else f"{group.signatures} signatures"
        return f"{words}, 1 bundle of {count} transfers, {signed}"
    if group.paid == "solana":
        return f"{words}, {group.signatures} transactions or more, each signed"
    return f"{words}, each deposit paid by itself"


def calls_words(plan: BatchPlan) -> str:
    """``1 create, 1 build, 1 submit``."""
    return f"{plan.creates} create, {plan.builds} build, {plan.submits} submit"


def _row(row: PlannedRow) -> tuple[str, ...]:
    order = row.order
    said = row.state if not row.findings else (row.problems or row.findings)[0].short
    if order is None:
        cells = tuple(
            row.row.cell(column)[:44]
            for column in (Column.TO, Column.AMOUNT, Column.SELL, Column.TOKEN, Column.ROUTE)
        )
        return str(row.number), str(row.row.line), *cells, said
    name = f"{order.label} " if order.label else ""
    return (
        str(row.number),
        str(row.row.line),
        f"{name}{order.recipient}",
        exact_amount(order.amount),
        f"{order.token_in.symbol}.{order.token_in.chain_data.short_name}",
        f"{order.token_out.symbol}.{order.token_out.chain_data.short_name}",
        order.route,
        said,
    )

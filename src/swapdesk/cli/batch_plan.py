"""``batch template`` and ``batch plan``: a file to begin with, and a file judged, as a table,
sentences or one document.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import Exit, bad_input
from swapdesk.cli.output import Output
from swapdesk.cli.session import CommandSession
from swapdesk.flows.batch.means import means_of_command
from swapdesk.flows.batch.plan import (
    BatchPlan,
    PlannedGroup,
    Total,
    against_means,
    plan_document,
)
from swapdesk.flows.batch.planned import (
    UNLESS_MEANT,
    PlannedRow,
    Sheet,
    SheetColumn,
    skipping,
)
from swapdesk.flows.batch.planner import BatchPlanner
from swapdesk.flows.batch.reading import UnreadableFile, read_bytes, template, with_decimal_commas
from swapdesk.flows.notation import about_amount, counted, exact_amount
from swapdesk.flows.orders.order_export import write_export
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.wire.operation import RateClass
from swapdesk.wire.tokens import Token


class TemplateDocument(Struct, frozen=True):
    """The text of the file, or where it was written."""

    template: str | UnsetType = UNSET
    file: str | UnsetType = UNSET


COMMA_OFFER = (
    "Every problem is a decimal comma. --decimal-comma reads 1,5 as 1.5, and 1,234 as 1.234."
)


def tell_plan(session: CommandSession, plan: BatchPlan, output: Output | None = None) -> None:
    output = output or session.call.output
    left = session.link.api.budget.left(RateClass.EXCHANGE)
    if output.json:
        output.document(plan_document(plan, left))
        return
    rows = [_row(row) for row in plan.rows]
    output.table(("row", "line", "recipient", "sells", "arrives", "route", "state"), rows)
    wanted = [row for row in plan.rows if not row.skipped]
    for row in wanted:
        for one in row.findings:
            place = f"Row {row.number}, line {row.row.line}"
            column = f", column {one.column}" if one.column is not None else ""
            do = "" if one.do == UNLESS_MEANT else f" {one.do}"
            output.say(f"{place}{column}: {one.reason}{do}")
    if any(one.do == UNLESS_MEANT for row in wanted for one in row.findings):
        output.talk("Rows to look at are created as they stand: nothing is to be done if meant so.")
    if plan.comma_problem is not None:
        output.talk(COMMA_OFFER)
    if plan.sheet.unused:
        output.talk(f"Columns that are not used: {', '.join(plan.sheet.unused)}.")
    output.facts(
        [
            ("Read as", plan.sheet.said),
            (
                "Rows",
                f"{plan.count('ready')} ready, {plan.count('look')} to look at, "
                f"{plan.count('problem')} with problems"
                + (f", {skipped} skipped" if (skipped := plan.count("skipped")) else ""),
            ),
            ("Sells", sells_words(plan)),
            *(("Wallet", wallet_words(plan, total)) for total in plan.totals),
            ("Arrives", arrives_words(plan)),
            ("Orders", ", ".join(f"{count} {route}" for route, count in plan.routes.items())),
            *((f"Group {group.number}", group_words(group)) for group in plan.groups),
            ("Calls", calls_words(plan)),
            ("Budget", "" if left is None else f"exchanges {left.left} of {left.limit} left"),
        ]
    )


def sells_words(plan: BatchPlan) -> str:
    """``250 USDC on Ethereum``, one for each token that is sold."""
    return ", ".join(
        f"{exact_amount(total.amount)} {total.token.symbol} on {total.token.chain_data.name}"
        for total in plan.totals
    )


def wallet_words(plan: BatchPlan, total: Total) -> str:
    """``10,000 of 50,000 USDC on Ethereum in trading; 40,000 are missing``, or why it is not
    known."""
    what = f"{total.token.symbol} on {total.token.chain_data.name}"
    payer = plan.payer(total)
    has = payer.has(total.token) if payer is not None else None
    if payer is None or has is None:
        why = f": {payer.problem}" if payer is not None and payer.problem else "."
        return f"what it has of {what} is not known{why}"
    lack = payer.missing(total)
    missing = "" if lack is None else f"; {exact_amount(lack)} are missing"
    return f"{exact_amount(has)} of {exact_amount(total.amount)} {what} in {payer.wallet}{missing}"


def arrives_words(plan: BatchPlan) -> str:
    """``≈ 107.9 XRP on XRP Ledger``, one for each token that is bought."""
    return ", ".join(
        f"{about_amount(arrival.about)} {arrival.token.symbol} on {arrival.token.chain_data.name}"
        for arrival in plan.arrivals
    )


def group_words(group: PlannedGroup) -> str:
    """``20 rows on Ethereum, 1 bundle of 20 transfers, signed once``, for each token once."""
    count = len(group.rows)
    words = f"{count} row{'' if count == 1 else 's'} on {group.chain_name}"
    if group.paid == "bundle":
        signed = "signed once" if group.signatures == 1 else f"{group.signatures} signatures"
        return f"{words}, 1 bundle of {counted(count, 'transfer')}, {signed}"
    if group.paid == "solana":
        return f"{words}, {group.signatures} transactions or more, each signed"
    return f"{words}, each deposit paid by itself"


def calls_words(plan: BatchPlan) -> str:
    """``1 create, 1 build, 1 submit``."""
    return f"{plan.creates} create, {plan.builds} build, {plan.submits} submit"


def _row(row: PlannedRow) -> tuple[str, ...]:
    order = row.order
    found = () if row.skipped else row.problems or row.findings
    said = found[0].short if found else row.state
    if order is None:
        cells = row.row
        sold = f"{cells.cell(SheetColumn.SELL_AMOUNT)[:44]} {cells.cell(SheetColumn.SELL)[:44]}"
        texts = (cells.cell(SheetColumn.TO)[:44], sold.strip(), cells.cell(SheetColumn.BUY)[:44])
        return str(row.number), str(cells.line), *texts, cells.cell(SheetColumn.ROUTE)[:44], said
    name = f"{order.label} " if order.label else ""
    return (
        str(row.number),
        str(row.row.line),
        f"{name}{order.recipient}",
        f"{exact_amount(order.amount)} {_spec(order.token_in)}",
        f"{about_amount(order.about)} {_spec(order.token_out)}",
        order.route,
        said,
    )


def _spec(token: Token) -> str:
    return f"{token.symbol}.{token.chain_data.short_name}"


def write_template(call: CliContext, out: Path | None) -> None:
    settings = call.settings()
    book = AddressBook.load(settings.places.address_book, sandbox=not settings.live)
    content = template(book).encode()
    if out is None:
        call.output.file(content, document=TemplateDocument(template=content.decode()))
    else:
        written = new_file(out, content)
        document = TemplateDocument(file=str(written))
        call.output.talk(f"Written: {written}.", document=document)


def new_file(out: Path, content: bytes) -> Path:
    """Write a file of this very name. Exit 2 when there is one, or it cannot be written."""
    if os.path.lexists(out):
        raise bad_input("FILE_EXISTS", f"{out.name} is there already.", field="out")
    try:
        return write_export(out, content)
    except OSError as error:
        said = error.strerror or "it cannot be written"
        raise bad_input("FILE", f"{out.name}: {said}.", field="out") from None


async def planned(
    session: CommandSession,
    file: Path,
    sell: str,
    decimal_comma: bool,
    skip: Collection[int],
    *,
    payer: str = "",
) -> BatchPlan:
    """The plan of a file without the rows to ``skip``, with its limits and what ``payer`` has for
    it; what its heads do not say is told. Exit 2 for a file that is none."""
    try:
        content = await asyncio.to_thread(read_bytes, file)
        sheet = await _planner(session, sell).read(file.name, content)
        if decimal_comma:
            sheet = with_decimal_commas(sheet)
    except UnreadableFile as error:
        facts: dict[str, Any] = {} if error.line is None else {"line": error.line}
        raise bad_input(error.code, f"{error.reason} {error.do}", field="file", **facts) from None
    plan = await planned_sheet(session, without_rows(sheet, skip), sell, payer=payer)
    if plan.heads_note:
        session.call.output.talk(plan.heads_note)
    return plan


def without_rows(sheet: Sheet, skip: Collection[int]) -> Sheet:
    """Exit 2 for a number that no row has."""
    try:
        return skipping(sheet, skip)
    except KeyError as error:
        said = f"{sheet.name} has no row {error.args[0]}."
        raise bad_input("NO_ROW", said, field="skip") from None


async def planned_sheet(
    session: CommandSession, sheet: Sheet, sell: str, *, payer: str = ""
) -> BatchPlan:
    """The plan of rows that were read. Without a ``payer`` any account of the wallet may pay."""
    await session.load_catalog()
    planner, desk = _planner(session, sell), session.desk
    plan = await planner.with_limits(await planner.judged(sheet), session.link.api)
    means = await means_of_command(desk, plan, payer)
    return replace(against_means(plan, means), means=means)


def _planner(session: CommandSession, sell: str) -> BatchPlanner:
    desk = session.desk
    return BatchPlanner(
        desk.catalog, desk.book, desk.journal, desk.clock, sell, live=desk.settings.live
    )


async def show_plan(
    session: CommandSession, file: Path, sell: str, decimal_comma: bool, skip: Collection[int]
) -> int:
    plan = await planned(session, file, sell, decimal_comma, skip)
    await session.link.learn_rate_limits()
    tell_plan(session, plan)
    if plan.unasked is not None:
        raise plan.unasked
    return Exit.BAD_INPUT if plan.problems else Exit.DONE

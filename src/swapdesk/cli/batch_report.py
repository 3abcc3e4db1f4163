"""A batch as it is read: ``batch template`` and ``batch plan`` before its orders are there, ``batch
status`` and ``batch export`` after.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType, field

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import CommandError, Exit, bad_input, of_client_error
from swapdesk.cli.output import Output
from swapdesk.cli.session import CommandSession
from swapdesk.client.errors import ClientError, NotFound
from swapdesk.flows.batch.batches import Batch, find_batch, newest_batches
from swapdesk.flows.batch.means import means_of_command
from swapdesk.flows.batch.plan import (
    BatchPlan,
    BudgetDocument,
    PlanDocument,
    Total,
    against_means,
    with_payers,
)
from swapdesk.flows.batch.planner import BatchPlanner
from swapdesk.flows.batch.progress import (
    PAY_OUT,
    GroupStanding,
    ResultRow,
    Until,
    journaled_orders,
    or_take_back,
    payouts_of,
    result_rows,
    results_csv,
    standings,
)
from swapdesk.flows.batch.reading import UnreadableFile, read_bytes, template, with_decimal_commas
from swapdesk.flows.batch.rows import (
    ACT_WORDS,
    UNLESS_MEANT,
    ActWord,
    Group,
    Row,
    Sheet,
    skipping,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import Operation
from swapdesk.flows.journal.payments import paid_orders, sum_of
from swapdesk.flows.notation import Moment, about_amount, counted, exact_amount
from swapdesk.flows.orders.order_export import write_export
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.wire.operation import RateClass
from swapdesk.wire.orders import Order
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
        budget = None
        if left is not None:
            budget = BudgetDocument(left.left, left.limit, round(left.resets_in))
        output.document(PlanDocument(plan, budget))
        return
    rows = [_row(row) for row in plan.rows]
    output.table(("row", "line", "recipient", "sells", "arrives", "route", "state"), rows)
    wanted = [row for row in plan.rows if not row.skipped]
    for row in wanted:
        for one in row.findings:
            place = f"Row {row.number}, line {row.line}"
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
                f"{plan.ready} ready, {plan.look} to look at, {plan.wrong} with problems"
                + (f", {plan.skipped} skipped" if plan.skipped else ""),
            ),
            ("Sells", sells_words(plan)),
            *(("Wallet", wallet_words(total)) for total in plan.totals),
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


def wallet_words(total: Total) -> str:
    """``10,000 of 50,000 USDC on Ethereum in trading; 40,000 are missing``, or why it is not
    known."""
    what = f"{total.token.symbol} on {total.token.chain_data.name}"
    payer, has = total.payer, total.held
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


def group_words(group: Group) -> str:
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
    return f"{plan.calls.create} create, {plan.calls.build} build, {plan.calls.submit} submit"


def _row(row: Row) -> tuple[str, ...]:
    order = row.order
    found = () if row.skipped else row.problems or row.findings
    said = found[0].short if found else row.state
    if order is None:
        sold = f"{row.cell('sell_amount')[:44]} {row.cell('sell')[:44]}"
        texts = (row.cell("to")[:44], sold.strip(), row.cell("buy")[:44])
        return str(row.number), str(row.line), *texts, row.cell("route")[:44], said
    name = f"{order.label} " if order.label else ""
    return (
        str(row.number),
        str(row.line),
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
    return with_payers(against_means(plan, means), means)


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


LOOK = "swapdesk orders list shows the orders"
LEFT = "swapdesk wallet balance lists what gas left over in the smart account"
_COMMANDS = {Until.BUILT: "build", Until.SIGNED: "sign", Until.SETTLED: "submit"}


class TransactionFacts(Struct, frozen=True, rename="camel"):
    """One transaction that the wallet signed for a group; ``serviceIds`` are the orders whose
    deposits it pays itself."""

    paying: Literal["fund", "part"] = field(name="for")
    token: str
    contract: str | None
    amount: Decimal
    state: ActWord
    hash: str | None
    service_ids: Sequence[str]
    code: str | None


class GroupDocument(Struct, frozen=True):
    """``bundle`` is None before it is built, ``rows`` are numbers of rows."""

    PRINTED: ClassVar = {
        "group": "standing.group.number", "chain": "standing.group.chain",
        "paid": "standing.group.paid", "state": "standing.group.word",
        "multiId": "standing.group.multi_id", "code": "standing.group.act.code",
        "rows": "standing.group.numbers", "standing": "standing.word",
        "leftOut": "standing.left_out", "bundle": "standing.bundle", "payments": "payments",
        "money": "money", "next": "next",
    }  # fmt: skip

    standing: GroupStanding
    payments: list[TransactionFacts]
    money: str
    next: str


class BatchDocument(Struct, frozen=True):
    """Every group with its bundle, every row of the file. ``money`` and ``next`` are of the first
    group that is not over, else of the first that did not arrive, else of the last."""

    batch: str
    file: str
    created: Moment
    groups: list[GroupDocument]
    rows: list[ResultRow]
    money: str
    next: str


class ResultsDocument(Struct, frozen=True):
    """The results of a batch."""

    batch: str
    rows: list[ResultRow]


class ResultsFileDocument(Struct, frozen=True):
    """The file that the results were written to, and how many rows it has."""

    batch: str
    file: str
    rows: int


def _group(standing: GroupStanding, orders: Mapping[str, Order]) -> GroupDocument:
    return GroupDocument(
        standing,
        [_payment(act) for act in standing.payments],
        money_words(standing, orders),
        next_words(standing, orders),
    )


def group_facts(
    standing: GroupStanding, orders: Mapping[str, Order] | None = None
) -> list[tuple[str, str]]:
    """The same for a person."""
    facts = [
        ("Group", f"{standing.group.number} {standing.group.multi_id or ''}".strip()),
        ("Stands", standing.word),
        ("Plan", standing.plan),
    ]
    facts += [
        (
            "Funding" if act.kind == "fund" else "Transaction",
            f"{exact_amount(sum_of(act).amount)} {sum_of(act).symbol} {act.hash}",
        )
        for act in standing.payments
        if act.hash is not None
    ]
    if standing.bundle is not None and standing.bundle.operation.hash is not None:
        facts.append(("Paid by", standing.bundle.operation.hash))
    funds = f"{money_words(standing, orders or {})}."
    return [*facts, ("Funds", funds), ("Next", next_words(standing, orders))]


def money_words(standing: GroupStanding, orders: Mapping[str, Order]) -> str:
    """Where the money of the group is, without a point: at the recipients, as far as the orders
    say so."""
    payouts = payouts_of([standing], orders)
    return (payouts.whereabouts if payouts is not None else "") or standing.whereabouts


def next_words(standing: GroupStanding, orders: Mapping[str, Order] | None = None) -> str:
    """Who acts next, and by which command."""
    batch = standing.batch_id[:8]
    if standing.group.multi_id is None:
        waits = standing.group.act.open
        return f"you: swapdesk batch {'resume' if waits else 'create --failed'} {batch}"
    if standing.over:
        payouts = payouts_of([standing], orders or {})
        return payouts.next(LOOK, LEFT) if payouts is not None else PAY_OUT
    due = standing.next
    if due is None:
        return "nobody: no row of it became an order"
    next_ = f"you: swapdesk batch {_COMMANDS[due]} {batch} --group {standing.group.number}"
    return or_take_back(next_, standing) if due is Until.BUILT else next_


def _payment(act: Operation) -> TransactionFacts:
    paid = sum_of(act)
    return TransactionFacts(
        paying="fund" if act.kind == "fund" else "part",
        token=paid.symbol,
        contract=paid.contract,
        amount=paid.amount,
        state=ACT_WORDS[act.state],
        hash=act.hash,
        service_ids=paid_orders(act),
        code=act.code,
    )


Asked = tuple[Mapping[str, Order], ClientError | None]
"""The orders of a batch by id, and why not all were asked after; those are as the journal has
them."""


def _end_of(output: Output, batch: Batch, error: ClientError | None) -> int:
    """Say what could not be asked; exit 3 to 8 for it, else 0."""
    if error is None:
        return Exit.DONE
    told = of_client_error(error)
    output.talk(
        f"Not all orders could be asked after: {told.message}",
        "They are shown as the journal has them, and go on without this command."
        f" Next you: swapdesk batch status {batch.id[:8]} asks again.",
    )
    return told.exit


async def show_status(session: CommandSession, name: str | None) -> int:
    """What became of a batch, asked for anew; groups that wait or are unknown stay so."""
    found = require_batch(session, name)
    return tell_batch(session, found, await ask_orders(session, found))


async def export_batch(session: CommandSession, name: str | None, out: Path | None) -> int:
    """One line for each row that was created."""
    found = require_batch(session, name)
    orders, error = await ask_orders(session, found)
    rows = result_rows(found, orders)
    output = session.call.output
    if out is not None:
        written = new_file(out, results_csv(rows))
        document = ResultsFileDocument(found.id, str(written), len(rows))
        output.talk(f"Written: {written}.", document=document)
    else:
        output.file(results_csv(rows), document=ResultsDocument(found.id, rows))
    return _end_of(output, found, error)


def tell_batch(session: CommandSession, batch: Batch, asked: Asked = ({}, None)) -> int:
    """How it stands now, by the journal and the orders ``asked`` after."""
    output, journal = session.call.output, session.desk.journal
    orders, error = asked
    if output.json:
        output.document(batch_document(journal, batch, orders))
    else:
        batch_table(output, journal, batch, orders)
    return _end_of(output, batch, error)


def require_batch(session: CommandSession, batch: str | None) -> Batch:
    ledger = session.desk.journal.ledger
    if batch is None:
        newest = newest_batches(ledger, 1)
        if newest:
            return newest[0]
        raise CommandError(
            Exit.NOT_FOUND,
            "NOT_FOUND",
            "No batch was created here.",
            next="you: swapdesk batch create FILE makes one",
        )
    found = find_batch(ledger, batch)
    if found is None:
        raise CommandError(
            Exit.NOT_FOUND,
            "NOT_FOUND",
            "The journal holds no batch that begins so.",
            money="where the journal of the desk that created it says",
            next="you: swapdesk batch status shows the newest one; check the profile",
        )
    return found


async def ask_orders(
    session: CommandSession,
    batch: Batch,
    of: Callable[[Group], bool] = lambda _: True,
) -> Asked:
    """Orders of the groups that are meant by ``of``, each asked after once, with one call a group,
    and not after the first call that fails. Those the service forgot are as the journal has
    them."""
    orders = journaled_orders(session.desk.journal, batch)
    for group in batch.groups:
        if group.multi_id is None or not of(group):
            continue
        try:
            status = await session.link.api.get_multi_exchange(group.multi_id)
        except NotFound:
            continue
        except ClientError as error:
            return orders, error
        orders.update((order.service_id, order) for order in status.orders)
    return orders, None


def batch_document(journal: Journal, batch: Batch, orders: Mapping[str, Order]) -> BatchDocument:
    found = standings(journal, batch.id)
    groups = [_group(one, orders) for one in found]
    at = groups[_at(found, orders)]
    return BatchDocument(
        batch=batch.id,
        file=batch.file,
        created=batch.created,
        groups=groups,
        rows=result_rows(batch, orders),
        money=at.money,
        next=at.next,
    )


def batch_table(
    output: Output, journal: Journal, batch: Batch, orders: Mapping[str, Order]
) -> None:
    output.facts([("Batch", batch.id), ("File", batch.file)])
    rows = result_rows(batch, orders)
    output.table(
        ("row", "recipient", "sells", "buys", "state", "order", "order state", "reason"),
        [
            (
                str(row.row),
                row.to,
                f"{row.sell_amount} {row.sell}".strip(),
                row.buy if "." in row.buy else f"{row.buy}.{row.chain}".rstrip("."),
                row.state,
                row.service_id or "",
                row.order_state or "",
                row.reason or "",
            )
            for row in rows
        ],
    )
    for one in standings(journal, batch.id):
        output.facts(group_facts(one, orders))


def _at(found: tuple[GroupStanding, ...], orders: Mapping[str, Order]) -> int:
    open_ = [at for at, one in enumerate(found) if not one.over]
    if open_:
        return open_[0]
    told = [payouts_of([one], orders) for one in found]
    waits = [at for at, one in enumerate(told) if one is not None and not one.done]
    return waits[0] if waits else len(found) - 1

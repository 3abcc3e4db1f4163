"""What became of a batch and how its groups are paid: ``batch status`` and ``batch export``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from msgspec import Struct, field

from swapdesk.cli.batch_plan import new_file
from swapdesk.cli.command_error import CommandError, Exit, of_client_error
from swapdesk.cli.output import Output
from swapdesk.cli.session import CommandSession
from swapdesk.client.errors import ClientError, NotFound
from swapdesk.flows.batch.group_outcomes import or_take_back
from swapdesk.flows.batch.group_status import GroupStanding, Until, standings
from swapdesk.flows.batch.progress import (
    PAY_OUT,
    ResultRow,
    journaled_orders,
    payouts_of,
    result_rows,
    results_csv,
)
from swapdesk.flows.journal.batch_records import (
    BundleState,
    JournaledBatch,
    JournaledBundle,
    JournaledGroup,
    Paying,
    WalletPayment,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.notation import Moment, exact_amount
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.orders import Order

LOOK = "swapdesk orders list shows the orders"
LEFT = "swapdesk wallet balance lists what gas left over in the smart account"
_COMMANDS = {Until.BUILT: "build", Until.SIGNED: "sign", Until.SETTLED: "submit"}


class BundleItemFacts(Struct, frozen=True, rename="camel"):
    """What is signed once: deposits of one token. ``contract`` None: the coin of the chain."""

    token: str
    contract: str | None
    amount: Decimal
    service_ids: list[str]


class NeedFacts(Struct, frozen=True):
    """What the smart account lacks."""

    token: str
    contract: str | None
    amount: Decimal


class BundleFacts(Struct, frozen=True, rename="camel"):
    """Amounts are in whole tokens, ``gasAtMost`` in the coin of the chain."""

    number: int
    state: BundleState
    account: str
    smart_account: str | None
    items: list[BundleItemFacts]
    needs: list[NeedFacts]
    gas_at_most: Decimal
    expires: Moment
    signatures: int
    tx_hash: str | None
    code: str | None
    reason: str | None


class GroupPayment(Struct, frozen=True, rename="camel"):
    """One transaction that the wallet signed for a group; ``serviceIds`` are the orders whose
    deposits it pays itself."""

    paying: Paying = field(name="for")
    token: str
    contract: str | None
    amount: Decimal
    state: StepState
    hash: str | None
    service_ids: Sequence[str]
    code: str | None


class GroupDocument(Struct, frozen=True, rename="camel"):
    """``bundle`` is None before it is built, ``rows`` are numbers of rows."""

    group: int
    chain: str
    paid: str
    state: StepState
    multi_id: str | None
    code: str | None
    rows: list[int]
    standing: str
    left_out: int
    bundle: BundleFacts | None
    payments: list[GroupPayment]
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
    group = standing.group
    return GroupDocument(
        group=group.number,
        chain=group.chain,
        paid=group.paid,
        state=group.state,
        multi_id=group.multi_id,
        code=group.code,
        rows=[row.number for row in group.rows],
        standing=standing.word,
        left_out=standing.left_out,
        bundle=None if standing.bundle is None else _bundle(standing, standing.bundle),
        payments=[_payment(one) for one in standing.payments],
        money=money_words(standing, orders),
        next=next_words(standing, orders),
    )


def _bundle(standing: GroupStanding, bundle: JournaledBundle) -> BundleFacts:
    built = bundle.built
    return BundleFacts(
        number=bundle.number,
        state=bundle.state,
        account=built.account,
        smart_account=built.sender if built.kind == "evm" else None,
        items=[
            BundleItemFacts(
                item.symbol,
                item.contract,
                item.amount,
                [one.service_id for one in item.deposits],
            )
            for item in built.items
        ],
        needs=[NeedFacts(one.symbol, one.contract, one.amount) for one in built.needs],
        gas_at_most=short(from_base_units(built.gas_units, 9 if standing.solana else 18)),
        expires=built.expires,
        signatures=len(bundle.signatures),
        tx_hash=bundle.tx_hash,
        code=bundle.code,
        reason=bundle.reason,
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
            "Funding" if one in standing.fundings else "Transaction",
            f"{exact_amount(one.amount)} {one.symbol} {one.hash}",
        )
        for one in standing.payments
        if one.hash is not None
    ]
    if standing.bundle is not None and standing.bundle.tx_hash is not None:
        facts.append(("Paid by", standing.bundle.tx_hash))
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
        group = standing.group
        waits = group.open or group.state is StepState.PREPARED
        return f"you: swapdesk batch {'resume' if waits else 'create --failed'} {batch}"
    if standing.over:
        payouts = payouts_of([standing], orders or {})
        return payouts.next(LOOK, LEFT) if payouts is not None else PAY_OUT
    due = standing.next
    if due is None:
        return "nobody: no row of it became an order"
    next_ = f"you: swapdesk batch {_COMMANDS[due]} {batch} --group {standing.group.number}"
    return or_take_back(next_, standing) if due is Until.BUILT else next_


def _payment(one: WalletPayment) -> GroupPayment:
    return GroupPayment(
        paying=one.paying,
        token=one.symbol,
        contract=one.contract,
        amount=one.amount,
        state=one.state,
        hash=one.hash,
        service_ids=one.service_ids,
        code=one.code,
    )


Asked = tuple[Mapping[str, Order], ClientError | None]
"""The orders of a batch by id, and why not all were asked after; those are as the journal has
them."""


def _end_of(output: Output, batch: JournaledBatch, error: ClientError | None) -> int:
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
    found = find_batch(session, name)
    return tell_batch(session, found, await ask_orders(session, found))


async def export_batch(session: CommandSession, name: str | None, out: Path | None) -> int:
    """One line for each row that was created."""
    found = find_batch(session, name)
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


def tell_batch(session: CommandSession, batch: JournaledBatch, asked: Asked = ({}, None)) -> int:
    """How it stands now, by the journal and the orders ``asked`` after."""
    output, journal = session.call.output, session.desk.journal
    orders, error = asked
    if output.json:
        output.document(batch_document(journal, batch, orders))
    else:
        batch_table(output, journal, batch, orders)
    return _end_of(output, batch, error)


def find_batch(session: CommandSession, batch: str | None) -> JournaledBatch:
    log = session.desk.journal.batches
    if batch is None:
        newest = log.newest(1)
        if newest:
            return newest[0]
        raise CommandError(
            Exit.NOT_FOUND,
            "NOT_FOUND",
            "No batch was created here.",
            next="you: swapdesk batch create FILE makes one",
        )
    found = log.get(batch)
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
    batch: JournaledBatch,
    of: Callable[[JournaledGroup], bool] = lambda _: True,
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


def batch_document(
    journal: Journal, batch: JournaledBatch, orders: Mapping[str, Order]
) -> BatchDocument:
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
    output: Output, journal: Journal, batch: JournaledBatch, orders: Mapping[str, Order]
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

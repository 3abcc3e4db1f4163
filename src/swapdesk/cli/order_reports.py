"""Prints orders for commands. An order is read from the service while the service knows it. Amounts
are exact, and a deposit address that must not be paid is left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import (
    CORRECT,
    UNMOVED,
    CommandError,
    Exit,
    bad_input,
    of_client_error,
    refused_as,
)
from swapdesk.cli.output import Exact
from swapdesk.cli.session import TELLING_SECONDS, settle
from swapdesk.client.errors import ClientError, NotFound, RequestRefused
from swapdesk.flows.creation.creates import intent_of, open_creates
from swapdesk.flows.deposits.funding import (
    none_signed,
    not_payable,
    open_payment_words,
    settle_payments,
)
from swapdesk.flows.failure_messages import OUTCOME_UNKNOWN
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.notation import Moment, counted, day, elapsed, grouped_address
from swapdesk.flows.orders.deposit_destination import (
    DepositDestination,
    amount_to_pay,
    deposit_destination,
    deposit_hash,
    named_deposit,
    other_deposit,
    own_payment,
    sent_amounts,
    symbol_to_pay,
    token_to_pay,
)
from swapdesk.flows.orders.order_fields import (
    UNSAID,
    Proceeds,
    deposit_arrived,
    get_label,
    route_of,
    shown,
    shown_order,
    unsaid,
)
from swapdesk.flows.orders.order_listing import (
    FilterLine,
    Sorting,
    left_out_words,
    sort_orders,
)
from swapdesk.flows.orders.order_merge import display_of, payout_hash
from swapdesk.flows.orders.order_sentence import order_sentence, sent_amount
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.orders.order_transactions import OrderTransaction
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import unanswered, waits_for_signature
from swapdesk.flows.tracking.open_business import intent_words
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.orders.order_export import ExportForm


class DepositFacts(Struct, frozen=True):
    """The deposit to pay. ``note`` is a sentence if the service states a different amount;
    otherwise None."""

    amount: Decimal
    note: str | None
    symbol: str
    chain: str | None
    address: str | None
    memo: str | None
    expires: Moment | None


class OrderDocument(Struct, frozen=True):
    """One order with its state. ``deposit`` is None if nothing is to be paid, or if paying is not
    allowed; then ``withheld`` says why."""

    PRINTED: ClassVar = {
        "serviceId": "tracked.service_id", "displayStatus": "display_status",
        "status": "tracked.order.status", "state": "status.word", "ended": "tracked.ended",
        "putAway": "tracked.put_away", "at": "at", "money": "status.money",
        "next": "status.next", "by": "status.by", "cause": "status.told",
        "intentId": "intent_id", "deposit": "deposit", "paidTo": "paid_to",
        "depositHash": "deposit_hash", "transactions": "transactions",
        "withheld": "tracked.withheld", "order": "order",
    }  # fmt: skip

    tracked: TrackedOrder
    status: OrderStatus
    at: datetime
    display_status: str | None
    intent_id: str | None
    deposit: DepositFacts | None
    paid_to: DepositDestination | None
    deposit_hash: str | None
    transactions: tuple[OrderTransaction, ...]
    order: Order


def order_document(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction] = ()
) -> OrderDocument:
    """Returns the JSON document of an order. ``now`` is the service's time; ``made`` are the
    order's journaled transactions."""
    order = tracked.order
    return OrderDocument(
        tracked,
        order_status(tracked, now, made),
        now,
        display_status=display_of(order),
        intent_id=tracked.intent.id if tracked.intent else None,
        deposit=deposit_of(tracked, now, made),
        paid_to=deposit_destination(tracked, made),
        deposit_hash=deposit_hash(order, made),
        transactions=tuple(made),
        order=shown_order(order, withheld=tracked.withheld),
    )


def deposit_of(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction] = ()
) -> DepositFacts | None:
    """Returns the deposit to pay; None if nothing is to be paid or paying is not allowed. ``made``
    are the order's journaled transactions."""
    order, pay = tracked.order, amount_to_pay(tracked)
    if not order_status(tracked, now, made).payable or pay is None:
        return None
    # Where to pay: as it was confirmed, else as the order says.
    token = token_to_pay(tracked)
    return DepositFacts(
        amount=pay.exact,
        note=pay.note,
        symbol=symbol_to_pay(tracked),
        chain=token.chain if token is not None else None,
        address=order.deposit_address,
        memo=order.deposit_tag,
        expires=order.expires,
    )


def order_facts(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction] = ()
) -> list[tuple[str, str]]:
    """Returns pairs (label, value) about an order, for printing. ``made`` are the transactions that
    the journal has for the order."""
    order, summary = tracked.order, order_status(tracked, now, made)
    got = tracked.proceeds
    back = got.outcome == "came back"
    theirs = tracked.intent is not None and tracked.intent.kind == "private_send"
    spent = ""
    stages = summary.stages
    if summary.elapsed is not None:
        expected = summary.expected.total_seconds() if summary.expected else None
        spent = elapsed(summary.elapsed.total_seconds(), expected).text
    rows = [
        ("Order", order.service_id),
        ("State", summary.told.rstrip(".")),
        ("Stage", f"{stages[summary.stage]} ({summary.stage + 1} of {len(stages)})"),
        ("Money", summary.money),
        ("Next", summary.next),
        ("By", summary.by),
        *(
            (label, f"{amount:,f} {symbol}{f' on {chain}' if chain else ''}")
            for label, amount, symbol, chain in sent_amounts(tracked, made)
        ),
        (
            get_label(got.outcome, theirs=theirs),
            _came_back(order, got) if back else _side(got.amount, got.symbol, order.out_token),
        ),
        ("Route", "private" if order.anonymous else f"standard {order.swap_name or ''}".strip()),
        ("Recipient", grouped_address(order.receiver_address) if order.receiver_address else ""),
        ("Memo", Exact(order.receiver_tag or "")),
        ("Created", day(order.created, now) if order.created else ""),
        ("Elapsed", spent),
        *_paid_facts(tracked, made),
        *_hash_facts(order, made),
        ("Payout hash", payout_hash(order) or ""),
        ("Refund to", grouped_address(order.refund_address) if order.refund_address else ""),
        ("Refund hash", order.refund_hash or ""),
    ]
    if tracked.withheld is not None:
        return [*rows, ("Do not pay", tracked.withheld)]
    return rows + deposit_facts(tracked, now, made)


def _paid_facts(tracked: TrackedOrder, made: Sequence[OrderTransaction]) -> list[tuple[str, str]]:
    place = deposit_destination(tracked, made)
    if place is None:
        return []
    return [
        ("Was paid to", grouped_address(place.address)),
        ("Paid with memo", Exact(place.memo or "")),
        ("Do not pay again", place.warning),
    ]


def _hash_facts(order: Order, made: Sequence[OrderTransaction]) -> list[tuple[str, str]]:
    rows = [
        (_HASHES[transaction.role], f"{transaction.hash}{_fate(order, transaction)}")
        for transaction in made
        if transaction.own
    ]
    if own_payment(made) is None:
        return [*rows, ("Deposit hash", named_deposit(order, made) or "")]
    return [*rows, ("Service names", other_deposit(order, made) or "")]


_HASHES = {
    "deposit": "Deposit hash",
    "bundle": "Bundle hash",
    "approve": "Approval hash",
    "reset": "Reset hash",
    "swap": "Swap hash",
}


def _fate(order: Order, transaction: OrderTransaction) -> str:
    if transaction.fate == "failed":
        return ", failed and moved nothing but its gas"
    return ", sent" if transaction.fate == "sent" and not deposit_arrived(order) else ""


def deposit_facts(
    tracked: TrackedOrder,
    now: datetime,
    made: Sequence[OrderTransaction] = (),
    *,
    grouped: bool = True,
) -> list[tuple[str, str]]:
    """Returns pairs (label, value) about the deposit to pay: exact amount, complete address, memo,
    deadline. Empty if nothing is to be paid. ``grouped`` puts spaces into the address."""
    deposit = deposit_of(tracked, now, made)
    if deposit is None:
        return []
    address, expires = deposit.address or "", tracked.order.expires
    on = f" on {deposit.chain}" if deposit.chain else ""
    return [
        ("Pay", f"{deposit.amount:f} {deposit.symbol}{on}"),
        ("Note", (deposit.note or "").rstrip(".")),
        ("To", grouped_address(address) if grouped else address),
        ("With memo", Exact(deposit.memo or "")),
        ("Before", f"{expires:%Y-%m-%d %H:%M:%S} UTC" if expires else ""),
    ]


def order_row(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction] = ()
) -> tuple[str, ...]:
    order, summary = tracked.order, order_status(tracked, now, made)
    (sent, _), got = tracked.symbols, shown(tracked.proceeds)
    return (
        tracked.short_id,
        summary.word,
        sent_amount(tracked, summary),
        sent,
        *got,
        route_of(order).value,
        day(order.created, now) if order.created else "",
        summary.next,
    )


def _came_back(order: Order, proceeds: Proceeds) -> str:
    text = _side(proceeds.amount, proceeds.symbol, order.in_token)
    if not unsaid(proceeds):
        return text
    return f"the {proceeds.symbol}{_on(order.in_token)}; {UNSAID}"


def _side(amount: Decimal | None, symbol: str, token: Token | None) -> str:
    return f"{amount:,f} {symbol}{_on(token)}" if amount is not None else ""


def _on(token: Token | None) -> str:
    return f" on {token.chain_data.name}" if token else ""


HEADS = ("order", "state", "send", "", "get", "", "route", "created", "next")
SHORTEST_PREFIX = 4
SHORTEST_NAME = 6
"""The fewest characters of an address, hash or request id that an order is looked up by."""
NOT_FOUND, BAD_ID = "NOT_FOUND", "BAD_ORDER_ID"


class UnknownFacts(Struct, frozen=True, rename="camel"):
    """A request to create an order that got no answer, so that it is unknown whether the order
    exists."""

    intent_id: str
    what: str
    at: Moment
    money: str
    next: str


class OrdersDocument(Struct, frozen=True):
    """The orders of a profile. ``unreadable`` counts the service's orders that could not be
    decoded."""

    orders: tuple[OrderDocument, ...]
    total: int
    unreadable: int
    unknown: tuple[UnknownFacts, ...]


async def chosen_orders(call: CliContext, kept: FilterLine, sort: Sorting) -> list[TrackedOrder]:
    """Returns the orders that the filter ``kept`` selects, sorted. If the service cannot be asked,
    prints a message and uses the journal."""
    await settle(call, TELLING_SECONDS)
    await call.link.tracker.load_past()
    try:
        await call.link.tracker.sweep()
    except ClientError as error:
        call.output.talk(
            f"The service could not be asked: {str(error).rstrip('.')}."
            " This is what the journal knows."
        )
    tell_left_out(call)
    now = call.desk.service_clock.now()
    orders = sort_orders(call.link.tracker.orders(), sort)
    if kept.empty:
        return orders
    desk = call.desk
    kept = kept.looked_up(desk.journal.orders.named, desk.book.labels())
    chosen = [tracked for tracked in orders if kept.keeps(tracked, order_status(tracked, now), now)]
    if orders and not chosen:
        call.output.talk(kept.nothing(len(orders)))
    return chosen


def tell_left_out(call: CliContext) -> None:
    """Prints how many orders of the service could not be decoded and are missing from the list, if
    any."""
    if words := left_out_words(call.link.tracker.skipped):
        call.output.talk(words)


async def export_orders(
    call: CliContext, form: ExportForm, out: Path | None, kept: FilterLine, sort: Sorting
) -> None:
    """Writes the selected orders to ``out``, or to standard output if it is None."""
    from swapdesk.flows.orders.order_export import export_bytes, write_export_file

    orders = await chosen_orders(call, kept, sort)
    made = call.desk.journal.orders.transactions()
    content = export_bytes(orders, call.desk.service_clock.now(), form, made)
    if out is None:
        call.output.file(content)
        return
    before = f"{out} cannot be written: "
    with refused_as(OSError, "NOT_WRITTEN", before, field="out", money=UNMOVED, next=CORRECT):
        write_export_file(out, content)
    call.output.talk(f"{counted(len(orders), 'order')} written to {out}.")


async def report_orders(call: CliContext, kept: FilterLine, sort: Sorting) -> None:
    output = call.output
    orders = await chosen_orders(call, kept, sort)
    with suppress(JournalUnavailable):
        settle_payments(call.desk.journal.ledger, call.link.tracker.recall)
    await tell_open_calls(call)
    unknown = [
        intent_of(create)
        for create in open_creates(call.desk.journal.ledger)
        if create.state is State.UNKNOWN
    ]
    for intent in unknown:
        output.talk(f"{intent_words(intent)}: {OUTCOME_UNKNOWN.cause} Nothing was paid.")
    now = call.desk.service_clock.now()
    made = call.desk.journal.orders.transactions()

    def of(tracked: TrackedOrder) -> Sequence[OrderTransaction]:
        return made.get(tracked.service_id, ())

    if output.json:
        output.document(
            OrdersDocument(
                tuple(order_document(tracked, now, of(tracked)) for tracked in orders),
                len(orders),
                call.link.tracker.skipped,
                tuple(
                    UnknownFacts(
                        intent.id,
                        intent_words(intent),
                        intent.frozen_at,
                        OUTCOME_UNKNOWN.money,
                        OUTCOME_UNKNOWN.next,
                    )
                    for intent in unknown
                ),
            )
        )
    elif output.form == "plain":
        output.say(*(order_sentence(tracked, now, of(tracked)) for tracked in orders))
    else:
        output.table(
            HEADS, [order_row(tracked, now, of(tracked)) for tracked in orders], numbers=(2, 4)
        )
    if not call.link.tracker.count and not call.link.tracker.skipped:
        output.talk("No orders yet.")


async def tell_open_calls(call: CliContext, service_ids: Collection[str] | None = None) -> None:
    """Prints the calls and payments whose outcome is unknown. ``service_ids`` limits them to
    payments of these orders."""
    desk, now = call.desk, call.desk.service_clock.now()
    for act in unanswered(desk.journal.ledger):
        pays = act.kind == "deposit"
        if service_ids is not None and not (pays and act.subject in service_ids):
            continue
        if act.body.get("by") == "wallet" and act.subject is not None:
            tracked = call.link.tracker.recall(act.subject)
            asked = not waits_for_signature(act) and act.hash is None
            call.output.talk(
                open_payment_words(
                    act,
                    none_signed=asked and await none_signed(desk.wallet, tracked),
                    payable=tracked is not None and not_payable(tracked, now) is None,
                )
            )
            continue
        may = f"paid order {act.subject}" if pays else "created an order"
        request = "POST /sandbox/deposits" if pays else f"{act.body['method']} {act.body['path']}"
        call.output.talk(
            f"{request} of {act.prepared_at:%Y-%m-%d %H:%M:%S} UTC got no answer;"
            f" it may have {may}."
        )


async def report_order(call: CliContext, order: str) -> None:
    """Prints one order; if the service cannot be asked, as the journal has it. ``order`` is an
    order id, the beginning of an id, an address, a hash, or a request id."""
    await settle(call, TELLING_SECONDS)
    tracked = await _searched(call, order)
    await tell_open_calls(call, (tracked.service_id,))
    _tell_order(call, tracked)


def _tell_order(call: CliContext, tracked: TrackedOrder) -> None:
    now = call.desk.service_clock.now()
    made = call.desk.journal.orders.transactions_of(tracked.service_id)
    call.output.facts(
        order_facts(tracked, now, made),
        plain=[order_sentence(tracked, now, made)],
        document=order_document(tracked, now, made),
    )


async def put_order_away(call: CliContext, order: str, undo: bool) -> None:
    """Marks a failed order as dealt with; ``undo`` removes the mark. Raises CommandError (exit 2)
    if no failure of the order needs the user."""
    await settle(call, TELLING_SECONDS)
    tracked, tracker = await find_order(call, order), call.link.tracker
    if undo:
        tracker.take_back(tracked.service_id)
    elif tracked.trouble is not None:
        tracker.put_away(tracked.service_id)
    else:
        raise bad_input(
            "NOT_FAILED",
            f"Order {tracked.service_id} does not need you after its end: there is nothing to put"
            " away.",
            money=order_status(tracked, call.desk.service_clock.now()).money.rstrip("."),
            field="order",
        )
    _tell_order(call, tracker.recall(tracked.service_id) or tracked)


async def find_order(call: CliContext, name: str) -> TrackedOrder:
    """Returns the order whose id is ``name`` or begins with it. Raises CommandError: exit 5 if
    there is none, 2 if there are several."""
    tracker = call.link.tracker
    service_id = _known_id(call, name)
    remembered = tracker.recall(service_id)
    try:
        tracked = await tracker.read(service_id)
    except NotFound:
        tracked = None
    except RequestRefused as error:
        raise bad_input(BAD_ID, f"{error}.", field="order") from None
    except ClientError as error:
        if remembered is None:
            money = "where the service has this order; it could not be asked"
            raise of_client_error(error, money=money) from None
        reason = str(error).rstrip(".")
        call.output.talk(f"The service could not be asked: {reason}. As last known:")
        tracked = remembered
    if tracked is not None:
        return tracked
    raise _not_known(name)


def _not_known(name: str, how: str = "") -> CommandError:
    return CommandError(
        Exit.NOT_FOUND,
        NOT_FOUND,
        f"Order {name} is not in this journal{how}, and the service does not know it or it is older"
        " than 48 hours.",
        money="in a place not known here; this desk has no such order",
        next="you: check the id and the profile, or write to support with the id if you paid it",
    )


async def _searched(call: CliContext, name: str) -> TrackedOrder:
    """Finds an order by its id, or by a unique address, hash or request id. Never used to pay:
    payments accept only an id."""
    index = call.desk.journal.orders
    what = f"orders have {name} in an address, a hash or a request id"
    service_id = _known_id(call, name)
    if service_id in index.ids() or len(name) < SHORTEST_NAME:
        return await find_order(call, service_id)
    if (named := _only(what, index.named(name))) is not None:
        return await find_order(call, named)
    try:
        return await find_order(call, name)
    except CommandError as error:
        if error.code not in (NOT_FOUND, BAD_ID):
            raise
    with suppress(ClientError):
        await call.link.tracker.sweep()
    tell_left_out(call)
    if (named := _only(what, index.named(name))) is not None:
        return await find_order(call, named)
    raise _not_known(name, ", by id, address, hash and request id")


def _known_id(call: CliContext, name: str) -> str:
    ids = call.desk.journal.orders.ids()
    if name in ids or len(name) < SHORTEST_PREFIX:
        return name
    begun = (service_id for service_id in ids if service_id.startswith(name))
    return _only(f"orders begin with {name}", begun) or name


def _only(what: str, values: Iterable[str]) -> str | None:
    """Returns the only value, or None if there are no values. Raises CommandError (exit 2) if there
    are several and describes them as ``what``."""
    several = sorted(values)
    if len(several) > 1:
        raise bad_input(
            "AMBIGUOUS_ORDER",
            f"{len(several)} {what}: {', '.join(several[:5])}.",
            field="order",
            candidates=several,
        )
    return several[0] if several else None

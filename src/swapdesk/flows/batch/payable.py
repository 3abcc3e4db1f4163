"""Which rows of a group await a deposit, and what each deposit is: compared with what was asked.

The service sets orders up after it answered the create, so the first addresses come with a later
look. Every look has to repeat the ones before, and each step compares the orders with what was
built.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from msgspec import Struct

from swapdesk.chain.addresses.checking import check_address, same_address
from swapdesk.flows.batch.bundles import BundleDeposit
from swapdesk.flows.batch.rows import Group
from swapdesk.flows.creation.order_verification import AMOUNT_TOLERANCE
from swapdesk.flows.orders.situations import awaits_deposit
from swapdesk.wire.encoding.numbers import NumberError, to_base_units
from swapdesk.wire.multi import MultiExchangeStatus, MultiOrderRequest
from swapdesk.wire.orders import Order, OrderStatusCode
from swapdesk.wire.tokens import Token


def differing(asked: MultiOrderRequest, order: Order) -> str | None:
    """The first field in which the order is not what was asked for, in a word; None for none.

    A field that the service leaves out says nothing, but the recipient must be there.
    """
    sent = order.in_token_id or (order.in_token.id if order.in_token is not None else None)
    bought = order.out_token_id or (order.out_token.id if order.out_token is not None else None)
    if sent is not None and sent.lower() != asked.from_.lower():
        return "token sold"
    if bought is not None and bought.lower() != asked.to.lower():
        return "token bought"
    if order.receiver_address is None or not _same(order.receiver_address, asked.address_to):
        return "recipient"
    if "receiver_tag" in order.model_fields_set or order.receiver_tag:
        if (order.receiver_tag or None) != asked.destination_tag:
            return "memo"
    elif asked.destination_tag is not None:
        return "memo"
    if order.anonymous is not None and order.anonymous is not bool(asked.anonymous):
        return "route"
    if order.in_amount is not None:
        near = asked.amount * AMOUNT_TOLERANCE
        if abs(order.in_amount - asked.amount) > near:
            return "amount"
    return None


def _same(one: str, other: str) -> bool:
    """Hexadecimal addresses have no case but for their checksum."""
    if one.startswith("0x") and other.startswith("0x"):
        return one.lower() == other.lower()
    return one == other


LEAST_LEFT = timedelta(seconds=30)
"""Nothing is paid for an order that waits no longer than this."""


class PayableRow(Struct, frozen=True):
    """One row to pay. ``confirmed`` is what was asked for in base units, ``deposit`` what the
    order wants."""

    token: Token
    confirmed: int
    deposit: BundleDeposit


class Unpayable(Exception):
    """A row whose order exists and must not be paid now; the text is a sentence without its point.
    ``wrong``: the order is not what was asked for."""

    def __init__(self, reason: str, *, wrong: bool = False) -> None:
        super().__init__(reason)
        self.wrong = wrong
        self.row = 0
        self.service_id = ""


class Payables(Struct, frozen=True):
    """``pending`` are orders that are still being set up."""

    rows: tuple[PayableRow, ...]
    unpayable: tuple[Unpayable, ...]
    pending: int


def payables(
    group: Group,
    status: MultiExchangeStatus,
    token_of: Callable[[str], Token | None],
    now: datetime,
    paid: Collection[str] = (),
) -> Payables:
    """The rows of a group beside its orders as the service has them. ``paid`` are orders whose
    deposit left already, or may have."""
    orders = {order.service_id: order for order in status.orders}
    rows: list[PayableRow] = []
    unpayable: list[Unpayable] = []
    pending = 0
    for row, asked in zip(group.rows, group.request.orders, strict=True):
        if row.became != "created" or row.service_id is None or row.service_id in paid:
            continue
        order = orders.get(row.service_id)
        try:
            if order is None:
                raise Unpayable("the service does not show its order")
            if _being_set_up(order):
                pending += 1
                continue
            rows.append(_row(row.number, order, asked, token_of, now))
        except Unpayable as problem:
            problem.row, problem.service_id = row.number, row.service_id
            unpayable.append(problem)
    return Payables(tuple(rows), tuple(unpayable), pending)


def changed(before: Collection[BundleDeposit], now: Payables) -> str | None:
    """What a later look says otherwise, in a sentence without its point; None for nothing."""
    known = {one.deposit.service_id: one.deposit for one in now.rows}
    reasons = {row.service_id: str(row) for row in now.unpayable}
    for one in before:
        again = known.get(one.service_id)
        if again is None:
            said = reasons.get(one.service_id, "awaits no deposit any more")
            return f"row {one.row}: {said}"
        if again.address != one.address:
            return f"row {one.row}: the service repeats another deposit address"
        if again.units != one.units:
            return f"row {one.row}: the service repeats another amount to pay"
    return None


def _being_set_up(order: Order) -> bool:
    if order.status is None or order.status >= OrderStatusCode.WAITING:
        return False
    return order.deposit_address is None


def _row(
    number: int,
    order: Order,
    asked: MultiOrderRequest,
    token_of: Callable[[str], Token | None],
    now: datetime,
) -> PayableRow:
    differs = differing(asked, order)
    if differs is not None:
        raise Unpayable(f"the {differs} of the order is not what was asked for", wrong=True)
    if not awaits_deposit(order):
        raise Unpayable("its order awaits no deposit")
    token = token_of(asked.from_)
    if token is None:
        raise Unpayable("the token it sells is not in the desk's list")
    if order.deposit_address is None or order.in_amount is None or order.expires is None:
        raise Unpayable("its order does not say what is to be paid, where to, and until when")
    if order.expires - now <= LEAST_LEFT:
        raise Unpayable("its order waits no longer than 30 seconds")
    if order.deposit_tag:
        raise Unpayable("its order needs a memo, which this payment cannot carry")
    chain = token.chain_data
    contracts = (token.address,) if token.address else ()
    address = check_address(
        chain.kind, order.deposit_address, chain_name=chain.name, contracts=contracts
    )
    if not address.ok:
        raise Unpayable(f"its deposit address is no address on {chain.name}", wrong=True)
    for own in (asked.address_to, asked.refund_address):
        if own is not None and same_address(chain.kind, address.normalized, own):
            raise Unpayable(
                "its deposit address is the recipient or the refund address", wrong=True
            )
    try:
        units = to_base_units(order.in_amount, token.decimals)
        confirmed = to_base_units(asked.amount, token.decimals)
    except NumberError:
        raise Unpayable("its amount is no whole number of units", wrong=True) from None
    deposit = BundleDeposit(number, order.service_id, address.normalized, units, order.expires)
    return PayableRow(token, confirmed, deposit)

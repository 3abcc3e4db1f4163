"""Which rows of a group await a deposit, and what each deposit is: compared with what was asked.

The service sets orders up after it answered the create, so the first addresses come with a later
look, and every look has to repeat the ones before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from swapdesk.chain.addresses.checking import check_address, same_address
from swapdesk.flows.batch.comparing import differing
from swapdesk.flows.journal.batch_records import BundleDeposit, JournaledGroup, RowState
from swapdesk.flows.orders.situations import awaits_deposit
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.encoding.numbers import NumberError, to_base_units
from swapdesk.wire.multi import MultiExchangeRequest, MultiExchangeStatus, MultiOrderRequest
from swapdesk.wire.orders import Order, OrderStatus
from swapdesk.wire.tokens import Token

LEAST_LEFT = timedelta(seconds=30)
"""Nothing is paid for an order that waits no longer than this."""


@dataclass(frozen=True)
class PayableRow:
    """One row to pay. ``confirmed`` is what was asked for in base units, ``deposit`` what the
    order wants."""

    token: Token
    confirmed: int
    deposit: BundleDeposit


@dataclass(frozen=True)
class Unpayable:
    """A row whose order exists and must not be paid now; ``reason`` is a sentence without its
    point. ``wrong``: the order is not what was asked for."""

    row: int
    service_id: str
    reason: str
    wrong: bool = False


@dataclass(frozen=True)
class Payables:
    """``pending`` are orders that are still being set up."""

    rows: tuple[PayableRow, ...]
    unpayable: tuple[Unpayable, ...]
    pending: int

    def of(self, service_ids: Collection[str]) -> tuple[PayableRow, ...]:
        return tuple(one for one in self.rows if one.deposit.service_id in service_ids)


class _NotNow(Exception):
    """Why an order is not paid; the text is the reason."""

    def __init__(self, reason: str, *, wrong: bool = False) -> None:
        super().__init__(reason)
        self.wrong = wrong


def payables(
    group: JournaledGroup,
    status: MultiExchangeStatus,
    token_of: Callable[[str], Token | None],
    now: datetime,
    paid: Collection[str] = (),
) -> Payables:
    """The rows of a group beside its orders as the service has them. ``paid`` are orders whose
    deposit left already, or may have."""
    request = decode(MultiExchangeRequest, group.body.encode(), side="service")
    orders = {order.service_id: order for order in status.orders}
    rows: list[PayableRow] = []
    unpayable: list[Unpayable] = []
    pending = 0
    for row in group.rows:
        if row.state is not RowState.CREATED or row.service_id is None:
            continue
        if row.service_id in paid:
            continue
        order, asked = orders.get(row.service_id), request.orders[row.place]
        try:
            if order is None:
                raise _NotNow("the service does not show its order")
            if _being_set_up(order):
                pending += 1
                continue
            rows.append(_row(row.number, order, asked, token_of, now))
        except _NotNow as reason:
            unpayable.append(Unpayable(row.number, row.service_id, str(reason), reason.wrong))
    return Payables(tuple(rows), tuple(unpayable), pending)


def changed(before: Collection[BundleDeposit], now: Payables) -> str | None:
    """What a later look says otherwise, in a sentence without its point; None for nothing."""
    known = {one.deposit.service_id: one.deposit for one in now.rows}
    reasons = {one.service_id: one.reason for one in now.unpayable}
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
    if order.status is None or order.status >= OrderStatus.WAITING:
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
        raise _NotNow(f"the {differs} of the order is not what was asked for", wrong=True)
    if not awaits_deposit(order):
        raise _NotNow("its order awaits no deposit")
    token = token_of(asked.from_)
    if token is None:
        raise _NotNow("the token it sells is not in the desk's list")
    if order.deposit_address is None or order.in_amount is None or order.expires is None:
        raise _NotNow("its order does not say what is to be paid, where to, and until when")
    if order.expires - now <= LEAST_LEFT:
        raise _NotNow("its order waits no longer than 30 seconds")
    if order.deposit_tag:
        raise _NotNow("its order needs a memo, which this payment cannot carry")
    chain = token.chain_data
    contracts = (token.address,) if token.address else ()
    address = check_address(
        chain.kind, order.deposit_address, chain_name=chain.name, contracts=contracts
    )
    if not address.ok:
        raise _NotNow(f"its deposit address is no address on {chain.name}", wrong=True)
    for own in (asked.address_to, asked.refund_address):
        if own is not None and same_address(chain.kind, address.normalized, own):
            raise _NotNow("its deposit address is the recipient or the refund address", wrong=True)
    try:
        units = to_base_units(order.in_amount, token.decimals)
        confirmed = to_base_units(asked.amount, token.decimals)
    except NumberError:
        raise _NotNow("its amount is no whole number of units", wrong=True) from None
    deposit = BundleDeposit(number, order.service_id, address.normalized, units, order.expires)
    return PayableRow(token, confirmed, deposit)

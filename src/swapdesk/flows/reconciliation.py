"""Finding out what became of a create that got no usable answer.

The client never posts again by itself: it looks through the orders created since, and
adopts the one order that is exactly the intent. More than one is for the user to choose;
none after the wait means that nothing was created as far as the API shows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from swapdesk.chain.addresses.decoding import same_address
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ClientError
from swapdesk.clock import Clock
from swapdesk.flows.intent import Intent
from swapdesk.flows.order_check import AMOUNT_TOLERANCE
from swapdesk.wire.orders import Order, OrderQuery

SKEW = timedelta(seconds=120)
"""How much earlier than our own send time an order of ours may claim to be created."""

LOOKS: tuple[float, ...] = (1.0, 19.0, 40.0)
"""Seconds before each look: three looks over one minute."""


@dataclass(frozen=True)
class Reconciled:
    """``orders`` are the matches; ``certain`` is False when the service could not be asked."""

    orders: tuple[Order, ...]
    certain: bool


def matches(intent: Intent, order: Order, *, since: datetime) -> bool:
    """Whether ``order`` can be what ``intent`` became: pair, amount, recipient, route, time."""
    if order.created is None or order.created < since:
        return False
    if order.in_token_id is None or order.in_token_id.lower() != intent.token_in.id:
        return False
    if order.out_token_id is None or order.out_token_id.lower() != intent.token_out.id:
        return False
    if order.receiver_address is None or not same_address(
        intent.token_out.kind, order.receiver_address, intent.recipient
    ):
        return False
    if (order.receiver_tag or None) != (intent.memo or None):
        return False
    if order.anonymous is not (intent.route == "private"):
        return False
    if order.in_amount is None:
        return False
    return abs(order.in_amount - intent.amount_in) <= intent.amount_in * AMOUNT_TOLERANCE


async def find_order(
    api: PartnerApi,
    clock: Clock,
    intent: Intent,
    *,
    sent_at: datetime,
    known: Collection[str],
    looks: tuple[float, ...] = LOOKS,
) -> Reconciled:
    """Look for the order of ``intent``; orders in ``known`` belong to other intents."""
    since = sent_at - SKEW
    certain = False
    for wait in looks:
        await clock.sleep(wait)
        try:
            listed = await _list_since(api, since)
        except ClientError:
            certain = False
            continue
        certain = True
        found = tuple(
            order
            for order in listed
            if order.service_id not in known and matches(intent, order, since=since)
        )
        if found:
            return Reconciled(found, certain=True)
    return Reconciled((), certain=certain)


async def _list_since(api: PartnerApi, since: datetime) -> list[Order]:
    orders: list[Order] = []
    page = 1
    while True:
        answer = await api.list_orders(OrderQuery(from_=since, page=page, page_size=100))
        orders.extend(answer.orders)
        if page >= answer.total_pages or not answer.orders:
            return orders
        page += 1

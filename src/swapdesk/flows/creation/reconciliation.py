"""Finding out what became of a create that got no usable answer.

The client never posts again by itself: it looks through the orders created since, and
adopts the one order that is exactly the intent. Several, or one that cannot be told apart,
are for the user to choose; none after the wait means that nothing was created as far as
the API shows.

What cannot be known: the API takes no key of ours with a create and an order names no quote
(contract 7.1, 8.1; ``walletInfo`` is taken but given back nowhere). Two homes of one
partner that ask for the same payment in the same minute get orders that differ in nothing the
desk could compare, unless their refund addresses or fixed amounts do. Asking again with the
same ``quoteId`` gives the first order back at a service that keeps to contract 7.9, and a
second one elsewhere, so it is never done. Within one home the journal forbids the twin.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from enum import Enum

from msgspec import Struct

from swapdesk.chain.addresses.checking import same_address
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ClientError
from swapdesk.clock import Clock
from swapdesk.flows.creation.order_verification import AMOUNT_TOLERANCE
from swapdesk.flows.intents.intent import Intent, TokenFacts
from swapdesk.flows.journal.order_merge import DOUBLE
from swapdesk.wire.orders import Order, OrderQuery
from swapdesk.wire.tokens import Token

SKEW = timedelta(seconds=10)
"""How much earlier than our send time, by the service's clock, our order may claim to be made."""

LOOKS: tuple[float, ...] = (1.0, 19.0, 40.0)
"""Seconds before each look: three looks over one minute."""

WINDOW = timedelta(hours=47)
"""After this the list may have forgotten the order, and its silence says nothing."""

MAX_PAGES = 100


class Reconciled(Struct, frozen=True):
    """``same`` are the intent for certain, ``possible`` lack a field that would tell.
    ``certain`` is False when the service could not be asked, or may have forgotten."""

    same: tuple[Order, ...]
    possible: tuple[Order, ...]
    certain: bool


class OrderMatch(Enum):
    SAME = "same"
    POSSIBLE = "possible"
    OTHER = "other"


def match(intent: Intent, order: Order, *, since: datetime) -> OrderMatch:
    """Whether ``order`` is what ``intent`` became.

    A field that contradicts decides; a field that is absent decides nothing.
    """
    known = [
        _made_meanwhile(intent, order, since),
        _token(intent.token_in, order.in_token_id, order.in_token),
        _token(intent.token_out, order.out_token_id, order.out_token),
        None
        if order.receiver_address is None
        else same_address(intent.token_out.kind, order.receiver_address, intent.recipient),
        (order.receiver_tag or None) == (intent.memo or None)
        if "receiver_tag" in order.model_fields_set or order.receiver_tag
        else (None if intent.memo else True),
        None if order.anonymous is None else order.anonymous is (intent.route == "private"),
        _as_fixed(intent, order),
        _as_promised(intent, order),
        _refunds(intent.token_in.kind, intent.refund_address, order.refund_address),
        None
        if order.in_amount is None
        else abs(order.in_amount - intent.amount_in) <= intent.amount_in * AMOUNT_TOLERANCE,
    ]
    if False in known:
        return OrderMatch.OTHER
    return OrderMatch.POSSIBLE if None in known else OrderMatch.SAME


async def find_order(
    api: PartnerApi,
    clock: Clock,
    intent: Intent,
    *,
    sent_at: datetime,
    known: Collection[str],
    looks: tuple[float, ...] = LOOKS,
) -> Reconciled:
    """Look for the order of ``intent``.

    ``sent_at`` is by the service's clock; orders in ``known`` were there before or belong
    to other intents.
    """
    certain = False
    possible: tuple[Order, ...] = ()
    for wait in looks:
        await clock.sleep(wait)
        try:
            found, certain = await orders_since(api, intent, sent_at=sent_at, known=known)
        except ClientError:
            certain = False
            continue
        same = tuple(order for order, verdict in found if verdict is OrderMatch.SAME)
        possible = tuple(order for order, verdict in found if verdict is OrderMatch.POSSIBLE)
        if same:
            return Reconciled(same, possible, certain=True)
    return Reconciled((), possible, certain=certain)


async def orders_since(
    api: PartnerApi, intent: Intent, *, sent_at: datetime, known: Collection[str]
) -> tuple[list[tuple[Order, OrderMatch]], bool]:
    """Every order since a create was sent that may be of ``intent``, read in full, and whether
    these are all of them. ``sent_at`` is by the service's clock. Raises ClientError."""
    since = sent_at - SKEW
    listed, whole = await list_since(api, since)
    judged = [
        await _judge(api, intent, one, since) for one in listed if one.service_id not in known
    ]
    found: list[tuple[Order, OrderMatch]] = [
        pair for pair in judged if pair[1] is not OrderMatch.OTHER
    ]
    return found, whole and api.server_now() - sent_at < WINDOW


async def _judge(
    api: PartnerApi, intent: Intent, order: Order, since: datetime
) -> tuple[Order, OrderMatch]:
    """Judge a listed order; one that does not say enough is read in full first."""
    verdict = match(intent, order, since=since)
    if verdict is OrderMatch.POSSIBLE:
        order = await api.get_order(order.service_id)
        verdict = match(intent, order, since=since)
    return order, verdict


async def list_since(api: PartnerApi, since: datetime) -> tuple[list[Order], bool]:
    """Orders since a time, and whether these are all of them. One that moves to the next page
    while the list is read is one order, as it was read last."""
    orders: dict[str, Order] = {}
    skipped = 0
    for page in range(1, MAX_PAGES + 1):
        answer = await api.list_orders(OrderQuery(from_=since, page=page, page_size=100))
        orders.update((order.service_id, order) for order in answer.orders)
        skipped += answer.skipped
        if page >= answer.total_pages or answer.empty:
            return list(orders.values()), skipped == 0
    return list(orders.values()), False


def _made_meanwhile(intent: Intent, order: Order, since: datetime) -> bool | None:
    """Not before the create was sent. A service that is late with its clock or generous with a
    quote may make it after the quote ended; then another home may have made it as well."""
    if order.created is None:
        return None
    if order.created < since:
        return False
    return True if order.created <= intent.valid_until + SKEW else None


def _as_promised(intent: Intent, order: Order) -> bool | None:
    """A fixed rate promised the output: of another one somebody has to look. That of a floating
    one tells nothing apart."""
    if not intent.fixed:
        return True
    if order.out_amount is None:
        return None
    return True if DOUBLE.plus(order.out_amount) == DOUBLE.plus(intent.amount_out) else None


def _refunds(kind: str, asked: str | None, named: str | None) -> bool:
    """A refund address of somebody else; one that is not named says nothing."""
    return not named or (asked is not None and same_address(kind, named, asked))


def _as_fixed(intent: Intent, order: Order) -> bool | None:
    """A floating order may leave the flag out; of a fixed one its absence says nothing."""
    if "fixed" in order.model_fields_set:
        return order.fixed is intent.fixed
    return None if intent.fixed else True


def _token(wanted: TokenFacts, token_id: str | None, token: Token | None) -> bool | None:
    named = token_id or (token.id if token is not None else None)
    return None if named is None else named.lower() == wanted.id

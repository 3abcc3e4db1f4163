"""The order a quote becomes, as it is first written down (contract 7.6)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, timedelta

from swapdesk.service.orders.states import display, rank
from swapdesk.service.store.records import StoredOrder, StoredQuote
from swapdesk.wire.encoding.ids import new_object_id, new_order_id
from swapdesk.wire.exchanges import ExchangeRequest, PrivateSendRequest
from swapdesk.wire.orders import LegStatus, OrderStatusCode

DEPOSIT_TIME = timedelta(minutes=30)
"""From creation to ``expires``, the deposit deadline."""

_HEAD_START = timedelta(seconds=12)
# A create asks one venue for up to ten seconds; only then does the worker look.


def draft(
    quote: StoredQuote,
    request: ExchangeRequest | PrivateSendRequest,
    digest: str,
    now: datetime,
    rng: random.Random,
    notes: Mapping[str, str | bool | None] | None = None,
) -> StoredOrder:
    """The row at -2, before any venue was asked; ``rng`` draws its ids. ``notes`` are what a
    DEX order brings along."""
    now = _to_milliseconds(now)
    shown = display(OrderStatusCode.INITIALIZING, LegStatus.NEW, None, quote.route)
    private = quote.route == "private"
    detail: dict[str, str | bool | None] = dict(notes or {})
    if private and request.intermediate_refund_address is not None:
        detail["intermediateRefundAddress"] = request.intermediate_refund_address
    return StoredOrder(
        service_id=new_order_id(rng),
        record_id=new_object_id(rng),
        partner_id=quote.partner_id,
        quote_id=quote.quote_id,
        request_digest=digest,
        route=quote.route,
        created=now,
        modified=now,
        expires=now + DEPOSIT_TIME,
        status=int(OrderStatusCode.INITIALIZING),
        display_status=shown.value,
        rank=rank(shown),
        version=1,
        due_at=now + _HEAD_START,
        in_status=int(LegStatus.NEW),
        out_status=int(LegStatus.NEW) if private else None,
        token_in_id=quote.token_in_id,
        token_out_id=quote.token_out_id,
        amount_in=quote.amount_in,
        amount_out=quote.amount_out,
        amount_in_usd=quote.amount_in_usd,
        amount_out_usd=quote.amount_out_usd,
        minutes=quote.minutes,
        receiver_address=request.address_to,
        receiver_tag=request.destination_tag or None,
        refund_address=request.refund_address or None,
        refund_tag=request.refund_extra_id or None,
        deposit_address=None,
        deposit_tag=None,
        legs=quote.legs,
        middle_token_id=quote.middle_token_id,
        middle_amount=quote.middle_amount,
        detail=detail,
        fixed=quote.fixed,
        receive=quote.receive,
        markup=quote.markup,
        rates=quote.rates,
        payout_wallet=quote.payout_wallet,
        choice=quote.choice,
        plan=quote.plan,
    )


def _to_milliseconds(moment: datetime) -> datetime:
    """Cut to what the wire shows, so that ``from=created`` finds the order again."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)

"""Quotes and private-send items (spec: Quote, Private send quote item; wire decisions 2.5, 2.6).

The parameters stated here are the ones this service answers: floating quotes by amount
sent. Fixed, reverse, markup, provider and leg filters and rotation join with their handlers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from swapdesk.wire.chains import Link
from swapdesk.wire.encoding.codec import Timestamp
from swapdesk.wire.encoding.ids import ObjectId, QuoteId
from swapdesk.wire.encoding.numbers import Amount, WireInteger
from swapdesk.wire.encoding.query import QueryNumber
from swapdesk.wire.encoding.text import Display, Identity, OpenEnum
from swapdesk.wire.model import RequestModel, WireModel
from swapdesk.wire.providers import ProviderCode


class RouteType(StrEnum):
    """``private`` breaks the link between deposit and payout by two hops."""

    PRIVATE = "private"
    STANDARD = "standard"
    DEX = "dex"


class FilteredReason(StrEnum):
    PRICE_IMPACT = "price_impact"
    DIFFERENT_RECIPIENT = "different_recipient"


class MarkupType(StrEnum):
    ABSOLUTE = "absolute"
    PERCENTAGE = "percentage"
    BASIS_POINTS = "bp"


class Quote(WireModel):
    """One route. With ``error`` the amounts are not usable; ``filtered`` must not be executed.

    ``net_amount_out`` is what routes are compared on, in the output token; private rows may
    lack it, then ``amount_out`` stands in (wire decisions 2.5). Amounts are in token units,
    ``*_usd`` in US dollars, ``duration`` and ``provider_eta`` in minutes, ``gas`` in gas units.
    """

    quote_id: QuoteId | None = None
    type: Annotated[str, OpenEnum(RouteType)]
    swap: ProviderCode | None = None
    swap_name: Annotated[str, Display(100)] | None = None
    duration: Amount | None = None
    provider_eta: Amount | None = None
    gas: Amount | None = None
    gas_usd: Amount | None = None
    amount_in: Amount | None = None
    amount_out: Amount | None = None
    amount_out_usd: Amount | None = None
    amount_in_usd: Amount | None = None
    fee_usd: Amount | None = None
    bridge_fee_usd: Amount | None = None
    net_amount_out: Amount | None = None
    error: Annotated[str, Display(500)] | None = None
    filtered: bool = False
    filtered_reason: Annotated[str, OpenEnum(FilteredReason)] | None = None
    supports_signatures: bool | None = None
    logo_url: Link | None = None
    markup_supported: bool | None = None
    slippage_supported: bool | None = None
    api_markup_value: Amount | None = None
    markup_type: Annotated[str, OpenEnum(MarkupType)] | None = None
    applied_api_markup: Amount | None = None
    requires_refund_address: bool | None = None
    requires_approval: bool | None = None
    deposit_address_supported: bool | None = None
    rewards_available: bool | None = None
    fixed: bool = False
    valid_until: Timestamp | None = None
    min: Amount | None = None
    max: Amount | None = None


class QuoteList(WireModel):
    quotes: list[Quote]
    total: WireInteger


class PrivateSendQuote(WireModel):
    """A private send: same token in and out. Valid for about one minute."""

    quote_id: QuoteId
    type: Annotated[str, OpenEnum(RouteType)] = RouteType.PRIVATE
    amount_in: Amount
    amount_out: Amount
    amount_out_usd: Amount | None = None
    min: Amount | None = None
    max: Amount | None = None
    duration: Amount | None = None
    rewards_available: bool = False
    fixed: bool = False


class PrivateSendQuoteList(WireModel):
    total: WireInteger
    quotes: list[PrivateSendQuote]


class QuoteSort(StrEnum):
    AMOUNT_OUT = "amountOut"
    AMOUNT_OUT_USD = "amountOutUsd"
    AMOUNT_IN = "amountIn"
    DURATION = "duration"


class SortOrder(StrEnum):
    ASC = "asc"
    DESC = "desc"


class QuoteQuery(RequestModel):
    """Parameters of ``GET /quotes``. The same token on both sides needs ``types=private``."""

    amount: Annotated[QueryNumber, Field(gt=0)]
    from_: Annotated[ObjectId, Field(alias="from")]
    to: ObjectId
    types: list[RouteType] | None = None
    slippage: Annotated[QueryNumber, Field(ge=0, le=100)] | None = None
    sender_address: Annotated[str, Identity(200)] | None = None
    receiver_address: Annotated[str, Identity(200)] | None = None
    refund_address: Annotated[str, Identity(200)] | None = None
    sort: QuoteSort = QuoteSort.AMOUNT_OUT
    sort_order: SortOrder = SortOrder.DESC


class PrivateSendQuery(RequestModel):
    """Parameters of ``GET /quotes/private-send``; ``from`` has ``hasSelfPrivate``."""

    amount: Annotated[QueryNumber, Field(ge=0)]
    from_: Annotated[ObjectId, Field(alias="from")]
    refund_address: Annotated[str, Identity(200)] | None = None

"""Quotes, private-send items (contract 6.6, 6.7, 6.26, 6.27) and the limits of pairs."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated

from pydantic import Field, field_validator

from swapdesk.wire.chains import Link, ProviderCode
from swapdesk.wire.choices import RouteType, SortOrder
from swapdesk.wire.encoding.ids import ObjectId, QuoteId
from swapdesk.wire.encoding.numbers import Amount, Ceiling, WireInteger
from swapdesk.wire.encoding.query import FreeText, QueryBoolean, QueryInteger, QueryNumber
from swapdesk.wire.encoding.text import Display, Identity, OpenEnum
from swapdesk.wire.encoding.timestamps import OptionalTime
from swapdesk.wire.model import RequestModel, WireModel


class FilteredReason(StrEnum):
    PRICE_IMPACT = "price_impact"
    DIFFERENT_RECIPIENT = "different_recipient"


class MarkupType(StrEnum):
    ABSOLUTE = "absolute"
    PERCENTAGE = "percentage"
    BASIS_POINTS = "bp"


class AmountType(StrEnum):
    """Whether ``amount`` is the amount that the trader sends or the amount that arrives.
    ``receive`` requires ``fixed``."""

    SEND = "send"
    RECEIVE = "receive"


class Quote(WireModel):
    """The quote of one route. If ``error`` is set, the amounts are unusable; if ``filtered``, the
    quote must not be executed. Compare routes by ``net_amount_out`` (contract 6.8). Durations are
    in minutes, ``gas`` in gas units."""

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
    valid_until: OptionalTime = None
    rate_id: Annotated[str, Identity(512)] | None = None
    refund_address: Annotated[str, Identity(200)] | None = None
    restricted_countries: list[Annotated[str, Display(64)]] | None = None
    is_priority: bool | None = None
    amount_type: Annotated[str, OpenEnum(AmountType)] | None = None
    min: Amount | None = None
    max: Ceiling = None

    @field_validator("rate_id")
    @classmethod
    def _no_name_is_none(cls, named: str | None) -> str | None:
        return named or None


class QuoteList(WireModel):
    quotes: list[Quote]
    total: WireInteger


class PrivateSendQuote(WireModel):
    """A quote of a private send, which pays out the same token that is paid in. The quote is valid
    for about a minute."""

    quote_id: QuoteId
    type: Annotated[str, OpenEnum(RouteType)] = RouteType.PRIVATE
    amount_in: Amount
    amount_out: Amount
    amount_out_usd: Amount | None = None
    min: Amount | None = None
    max: Ceiling = None
    duration: Amount | None = None
    rewards_available: bool = False
    fixed: bool = False
    valid_until: OptionalTime = None


class PrivateSendQuoteList(WireModel):
    total: WireInteger
    quotes: list[PrivateSendQuote]


class QuoteSort(StrEnum):
    AMOUNT_OUT = "amountOut"
    AMOUNT_OUT_USD = "amountOutUsd"
    AMOUNT_IN = "amountIn"
    DURATION = "duration"


ProviderCodes = Annotated[list[ProviderCode], Field(min_length=1, max_length=100)]
"""Short codes of providers; in a query the parameter repeats. ``swaps`` refuses a provider that is
switched off."""


class LegFilters(RequestModel):
    """Providers that the legs of a private route may use; ignored for other routes."""

    in_leg_included_swaps: ProviderCodes | None = None
    in_leg_excluded_swaps: ProviderCodes | None = None
    out_leg_included_swaps: ProviderCodes | None = None
    out_leg_excluded_swaps: ProviderCodes | None = None


class RouteOptions(LegFilters):
    """Parameters of quote requests for swaps and private sends (contract 6.9 to 6.20). ``markup``
    and ``deviation_threshold`` are in percent. The rotation options need ``rotate_payout_wallets``.
    ``use_xmr`` makes XMR the coin between the two exchanges."""

    fixed: QueryBoolean = False
    markup: Annotated[QueryNumber, Field(ge=0, le=4)] | None = None
    use_xmr: QueryBoolean | None = None
    rotate_payout_wallets: QueryBoolean = False
    deviation_threshold: Annotated[QueryNumber, Field(ge=0, le=100)] = Decimal(5)
    rotation_lookback: Annotated[QueryInteger, Field(ge=1, le=100)] = 10
    rotate_fallback: QueryBoolean = False
    refund_address: Annotated[str, Identity(200)] | None = None


class QuoteQuery(RouteOptions):
    """Parameters of ``GET /quotes``. If both tokens are the same, ``types=private`` is required.
    ``swaps`` lists the only allowed providers and excludes private routes (contract 6.15)."""

    amount: Annotated[QueryNumber, Field(gt=0)]
    from_: Annotated[ObjectId, Field(alias="from")]
    to: ObjectId
    types: list[RouteType] | None = None
    amount_type: AmountType = AmountType.SEND
    swaps: ProviderCodes | None = None
    slippage: Annotated[QueryNumber, Field(ge=0, le=100)] | None = None
    sender_address: Annotated[str, Identity(200)] | None = None
    receiver_address: Annotated[str, Identity(200)] | None = None
    sort: QuoteSort = QuoteSort.AMOUNT_OUT
    sort_order: SortOrder = SortOrder.DESC


class PrivateSendQuery(RouteOptions):
    """Parameters of ``GET /quotes/private-send``. The token in ``from`` must have
    ``hasSelfPrivate``."""

    amount: Annotated[QueryNumber, Field(ge=0)]
    from_: Annotated[ObjectId, Field(alias="from")]


class Limits(WireModel):
    """The limits of one route type on the amounts sent and received. None means no stated upper
    bound (contract 6.2)."""

    REQUIRED = frozenset({"min", "max", "minOut", "maxOut"})

    min: Amount
    max: Ceiling = None
    min_out: Amount | None = None
    max_out: Ceiling = None


class PairLimits(WireModel):
    """The limits of a pair: for each route type an object, or null."""

    NULLABLE = frozenset({"cex", "dex", "private"})

    cex: Limits | None = None
    dex: Limits | None = None
    private: Limits | None = None


class PairLimitsQuery(RequestModel):
    """Parameters of a pair's limits. Each side is the token's id, or its symbol on centralized
    exchanges (``cexTokenId``)."""

    token_id_from: Annotated[str, FreeText(64)]
    token_id_to: Annotated[str, FreeText(64)]

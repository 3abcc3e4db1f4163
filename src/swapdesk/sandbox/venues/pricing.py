"""What a simulated exchange asks: a pure function of seed, time, pair and amount."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from swapdesk.sandbox.asset_rows import AssetRow
from swapdesk.sandbox.chain_rows import ChainRow
from swapdesk.sandbox.market import Market, noise
from swapdesk.sandbox.venue_rows import VenueRow
from swapdesk.sandbox.world import WorldToken
from swapdesk.service.venues.adapter import VenueLimits
from swapdesk.wire.encoding.numbers import ROUGH

BUCKET_SECONDS = 10
"""A price stands for one bucket of sandbox time."""

PAYOUT_DECIMALS = 8
PAYOUT_CONFIRMATIONS = 1
_BASIS_POINT = Decimal("0.0001")
_JITTER = Decimal(3)
_SHORTEST, _LONGEST = Decimal(9), Decimal(21)


def _asset(token: WorldToken) -> AssetRow:
    if token.asset is None:
        raise ValueError(f"{token.row.symbol} on {token.row.chain} has no price")
    return token.asset


def bucket_of(at: datetime) -> datetime:
    whole = int(at.timestamp())
    return datetime.fromtimestamp(whole - whole % BUCKET_SECONDS, UTC)


def amount_out(
    market: Market,
    venue: VenueRow,
    token_in: WorldToken,
    token_out: WorldToken,
    amount_in: Decimal,
    at: datetime,
) -> Decimal:
    """Units of the token bought, rounded down to what the exchange pays out; may be 0."""
    moment = bucket_of(at)
    price_in = market.price(_asset(token_in).code, moment)
    price_out = market.price(_asset(token_out).code, moment)
    dollars = ROUGH.multiply(amount_in, price_in)
    jitter = ROUGH.multiply(
        _JITTER,
        noise(
            market.seed,
            venue.code,
            token_in.token_id,
            token_out.token_id,
            int(moment.timestamp()),
        ),
    )
    off = ROUGH.multiply(ROUGH.add(venue.spread, jitter), _BASIS_POINT)
    # The book gets thinner with every dollar taken, as with a constant product.
    depth = ROUGH.divide(venue.depth, ROUGH.add(venue.depth, dollars))
    exact = ROUGH.divide(
        ROUGH.multiply(ROUGH.multiply(dollars, ROUGH.subtract(1, off)), depth), price_out
    )
    return _cut(exact, min(PAYOUT_DECIMALS, token_out.row.decimals), ROUND_FLOOR)


def limits_of(venue: VenueRow, token_in: WorldToken) -> VenueLimits:
    """Bounds from base prices, so that they stand still while prices move."""
    price = _asset(token_in).price
    return VenueLimits(
        _readable(ROUGH.divide(venue.minimum, price), token_in.row.decimals, 4, ROUND_CEILING),
        _readable(ROUGH.divide(venue.maximum, price), token_in.row.decimals, 6, ROUND_FLOOR),
    )


def minutes_of(venue: VenueRow, token_in: WorldToken, token_out: WorldToken) -> Decimal:
    """The estimate an exchange gives, which is more than it needs; 9 to 21 minutes."""
    seconds = (
        _confirming(token_in.chain, token_in.chain.confirmations)
        + venue.exchange_seconds
        + _confirming(token_out.chain, PAYOUT_CONFIRMATIONS)
    )
    minutes = ROUGH.multiply(ROUGH.divide(Decimal(seconds), Decimal(60)), venue.caution)
    return min(max(_cut(minutes, 0, ROUND_CEILING), _SHORTEST), _LONGEST)


def _confirming(chain: ChainRow, confirmations: int) -> int:
    return -(-chain.block_ms * confirmations // 1000)


def _readable(amount: Decimal, decimals: int, digits: int, rounding: str) -> Decimal:
    places = min(digits - 1 - amount.adjusted(), decimals, PAYOUT_DECIMALS)
    return _plain(_cut(amount, places, rounding))


def _cut(amount: Decimal, places: int, rounding: str) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(-places), rounding=rounding, context=ROUGH)


def _plain(amount: Decimal) -> Decimal:
    """Without trailing zeros and without an exponent."""
    short = amount.normalize(ROUGH)
    exponent = short.as_tuple().exponent
    return short.quantize(Decimal(1), context=ROUGH) if int(exponent) > 0 else short

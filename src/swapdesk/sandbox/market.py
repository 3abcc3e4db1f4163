"""Prices of the sandbox's market and of its simulated exchanges, as pure functions of the seed and
sandbox time. A price drifts around its base price, by at most the asset's ``swing``."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import lru_cache

from msgspec import Struct

from swapdesk.sandbox.tables import ASSETS, ChainRow, VenueRow
from swapdesk.sandbox.world import WorldToken, asset_of
from swapdesk.service.venues.adapter import FLOATING, Terms, VenueLimits
from swapdesk.wire.encoding.numbers import ROUGH, short

_LAYERS = ((7200, Decimal("0.7")), (420, Decimal("0.3")))
"""The layers of a price's drift: seconds between two random values, and share of the whole
swing."""

_SPAN = 1 << 32
_BASIS_POINT = Decimal("0.0001")
_DIGITS = 10


@lru_cache(maxsize=4096)
def noise(seed: int, *path: str | int) -> Decimal:
    """Returns a pseudorandom number from -1 up to but not including 1. The same arguments always
    give the same number."""
    text = "\0".join(map(str, (seed, *path)))
    word = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    return ROUGH.subtract(ROUGH.divide(Decimal(2 * word), Decimal(_SPAN)), Decimal(1))


class Market:
    """Mid prices of all assets, in US dollars per unit."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def price(self, code: str, at: datetime) -> Decimal:
        """Returns the price of an asset at a moment of sandbox time. Raises KeyError for an unknown
        asset."""
        return _price(self.seed, code, at)

    def prices(self, at: datetime) -> dict[str, Decimal]:
        return {code: self.price(code, at) for code in ASSETS}


@lru_cache(maxsize=8192)
def _price(seed: int, code: str, at: datetime) -> Decimal:
    asset = ASSETS[code]
    drift = sum(
        (
            ROUGH.multiply(share, _drift(seed, code, period, at.timestamp()))
            for period, share in _LAYERS
        ),
        Decimal(0),
    )
    factor = ROUGH.add(1, ROUGH.multiply(drift, asset.swing * _BASIS_POINT))
    exact = ROUGH.multiply(asset.price, factor)
    scale = Decimal(1).scaleb(exact.adjusted() - _DIGITS + 1)
    return exact.quantize(scale, rounding=ROUND_HALF_EVEN)


def _drift(seed: int, code: str, period: int, seconds: float) -> Decimal:
    knot, rest = divmod(int(seconds * 1000), period * 1000)
    share = ROUGH.divide(Decimal(rest), Decimal(period * 1000))
    smooth = ROUGH.multiply(
        ROUGH.multiply(share, share), ROUGH.subtract(3, ROUGH.multiply(2, share))
    )
    before = noise(seed, code, period, knot)
    after = noise(seed, code, period, knot + 1)
    return ROUGH.add(before, ROUGH.multiply(ROUGH.subtract(after, before), smooth))


BUCKET_SECONDS = 10
"""Seconds of sandbox time (a bucket) for which an exchange's price stays the same."""

KEPT = 16_384
"""Largest number of entries in each cache of this module."""

PAYOUT_DECIMALS = 8
PAYOUT_CONFIRMATIONS = 1
_PERCENT = Decimal("0.01")
_JITTER = Decimal(3)
_LEAST_RANGE = 20
_SHORTEST, _LONGEST = Decimal(9), Decimal(21)
_FASTEST_POLL, _SLOWEST_POLL, _POLL = 0.2, 10.0, 30.0
_LOOKS = 4


def bucket_of(at: datetime) -> datetime:
    whole = int(at.timestamp())
    return datetime.fromtimestamp(whole - whole % BUCKET_SECONDS, UTC)


class OrderBook(Struct, frozen=True):
    """The prices in dollars at which an exchange swaps two tokens during a short period. The
    greater ``depth`` is, the less a large amount worsens the price. ``kept`` is the share of the
    amount that remains after spread and markup."""

    price_in: Decimal
    price_out: Decimal
    depth: Decimal
    kept: Decimal
    places_in: int
    places_out: int

    def bought(self, amount_in: Decimal) -> Decimal:
        """Returns the amount paid out for ``amount_in``, rounded down; may be 0."""
        return _cut(self._exact(amount_in), self.places_out, ROUND_FLOOR)

    def needed(self, amount_out: Decimal) -> Decimal | None:
        """Returns the smallest amount that the exchange must take in to pay out ``amount_out``;
        None if it cannot pay out that much."""
        dollars = ROUGH.divide(ROUGH.multiply(amount_out, self.price_out), self.kept)
        left = ROUGH.subtract(self.depth, dollars)
        if left <= 0:
            return None
        sent = ROUGH.divide(ROUGH.divide(ROUGH.multiply(dollars, self.depth), left), self.price_in)
        unit = Decimal(1).scaleb(-self.places_in)
        amount = _cut(sent, self.places_in, ROUND_CEILING)
        # Sixty digits are rounded too: step to the last unit where that shows.
        while self._exact(amount) < amount_out:
            amount = ROUGH.add(amount, unit)
        while amount > unit and self._exact(ROUGH.subtract(amount, unit)) >= amount_out:
            amount = ROUGH.subtract(amount, unit)
        return amount

    def _exact(self, amount_in: Decimal) -> Decimal:
        dollars = ROUGH.multiply(amount_in, self.price_in)
        filled = ROUGH.divide(
            ROUGH.multiply(ROUGH.multiply(dollars, self.kept), self.depth),
            ROUGH.add(self.depth, dollars),
        )
        return ROUGH.divide(filled, self.price_out)


def book_of(
    market: Market,
    venue: VenueRow,
    token_in: WorldToken,
    token_out: WorldToken,
    at: datetime,
    terms: Terms = FLOATING,
) -> OrderBook:
    """Returns the order book of a pair at a moment.

    Raises ValueError for fixed terms if the exchange has no fixed rates.
    """
    return _book(market, venue, token_in, token_out, bucket_of(at), terms)


@lru_cache(KEPT)
def _book(
    market: Market,
    venue: VenueRow,
    token_in: WorldToken,
    token_out: WorldToken,
    moment: datetime,
    terms: Terms,
) -> OrderBook:
    spread = venue.fixed_spread if terms.fixed else venue.spread
    if spread is None:
        raise ValueError(f"{venue.name} has no fixed rates")
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
    off = ROUGH.multiply(ROUGH.add(spread, jitter), _BASIS_POINT)
    marked = ROUGH.multiply(terms.markup, _PERCENT)
    return OrderBook(
        market.price(asset_of(token_in).code, moment),
        market.price(asset_of(token_out).code, moment),
        ROUGH.multiply(
            venue.depth, min(asset_of(token_in).liquidity, asset_of(token_out).liquidity)
        ),
        ROUGH.multiply(ROUGH.subtract(1, off), ROUGH.subtract(1, marked)),
        min(PAYOUT_DECIMALS, token_in.row.decimals),
        min(PAYOUT_DECIMALS, token_out.row.decimals),
    )


@lru_cache(KEPT)
def limits_of(venue: VenueRow, token_in: WorldToken) -> VenueLimits:
    """Returns the exchange's bounds for the amount sent. They depend on base prices, not on the
    market's."""
    asset = asset_of(token_in)
    # Of what is traded thinly an exchange takes less, but always some times its minimum.
    most = max(ROUGH.multiply(venue.maximum, asset.liquidity), _LEAST_RANGE * venue.minimum)
    decimals = token_in.row.decimals
    return VenueLimits(
        _readable(ROUGH.divide(venue.minimum, asset.price), decimals, 4, ROUND_CEILING),
        _readable(ROUGH.divide(most, asset.price), decimals, 6, ROUND_FLOOR),
    )


@lru_cache(KEPT)
def minutes_of(
    venue: VenueRow, token_in: WorldToken, token_out: WorldToken, speed: Decimal = Decimal(1)
) -> Decimal:
    """Returns the exchange's estimate of the time from deposit to payout, in minutes of sandbox
    time. It exceeds what the exchange needs; a higher speed shortens it."""
    phases = (
        (token_in.chain, _confirming(token_in.chain, token_in.chain.confirmations)),
        (token_out.chain, _confirming(token_out.chain, PAYOUT_CONFIRMATIONS)),
    )
    seconds = venue.exchange_seconds + sum(phase for _, phase in phases)
    minutes = ROUGH.multiply(ROUGH.divide(Decimal(seconds), Decimal(60)), venue.caution)
    usual = min(max(_cut(minutes, 0, ROUND_CEILING), _SHORTEST), _LONGEST)
    if speed <= 1:
        return ROUGH.divide(usual, speed)
    slots = sum(phase for chain, phase in phases if chain.beat == "slots")
    unmoved = ROUGH.multiply(Decimal(slots), venue.caution) + _LOOKS * Decimal(poll_seconds(speed))
    gained = 1 - ROUGH.divide(Decimal(1), speed)
    rest = ROUGH.divide(ROUGH.multiply(unmoved, gained), Decimal(60))
    return _cut(ROUGH.divide(usual, speed) + rest, 2, ROUND_CEILING)


def poll_seconds(speed: Decimal) -> float:
    """Returns the seconds between two requests for the state of a leg at an exchange."""
    return min(max(_POLL / float(speed), _FASTEST_POLL), _SLOWEST_POLL)


def _confirming(chain: ChainRow, confirmations: int) -> int:
    return -(-chain.block_ms * confirmations // 1000)


def _readable(amount: Decimal, decimals: int, digits: int, rounding: str) -> Decimal:
    places = min(digits - 1 - amount.adjusted(), decimals, PAYOUT_DECIMALS)
    return short(_cut(amount, places, rounding))


def _cut(amount: Decimal, places: int, rounding: str) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(-places), rounding=rounding, context=ROUGH)

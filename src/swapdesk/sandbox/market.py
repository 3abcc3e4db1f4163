"""Prices of the sandbox: a pure function of the seed and of sandbox time.

Every process computes the same price without asking anybody. A price drifts smoothly
around its base and never leaves the asset's swing.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache

from swapdesk.sandbox.token_rows import ASSETS
from swapdesk.wire.encoding.numbers import ROUGH

_LAYERS = ((7200, Decimal("0.7")), (420, Decimal("0.3")))
"""Seconds between two knots of a drift, and its share of the whole swing."""

_SPAN = 1 << 32
_BASIS_POINT = Decimal("0.0001")
_DIGITS = 10


@lru_cache(maxsize=4096)
def noise(seed: int, *path: str | int) -> Decimal:
    """A number in [-1, 1) out of a seed and a path of names."""
    text = "\0".join(map(str, (seed, *path)))
    word = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
    return ROUGH.subtract(ROUGH.divide(Decimal(2 * word), Decimal(_SPAN)), Decimal(1))


class Market:
    """Mid prices in US dollars per unit."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def price(self, code: str, at: datetime) -> Decimal:
        """The price of an asset at a moment of sandbox time. Raises KeyError."""
        return _price(self.seed, code, at)

    def prices(self, at: datetime) -> dict[str, Decimal]:
        return {code: self.price(code, at) for code in ASSETS}


@lru_cache(maxsize=8192)
def _price(seed: int, code: str, at: datetime) -> Decimal:
    """All exchanges ask for the same assets at the same moment."""
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
    """Between two random knots along a smooth step."""
    knot, rest = divmod(int(seconds * 1000), period * 1000)
    share = ROUGH.divide(Decimal(rest), Decimal(period * 1000))
    smooth = ROUGH.multiply(
        ROUGH.multiply(share, share), ROUGH.subtract(3, ROUGH.multiply(2, share))
    )
    before = noise(seed, code, period, knot)
    after = noise(seed, code, period, knot + 1)
    return ROUGH.add(before, ROUGH.multiply(ROUGH.subtract(after, before), smooth))

"""The constant-product formula of the pools' contract, in whole units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from swapdesk.wire.encoding.numbers import ROUGH

SHARE = 10_000
"""Fees and slippage are parts of this."""


@dataclass(frozen=True)
class Hop:
    """One pool as a swap through it meets it; ``fee`` in parts of 10,000."""

    reserve_in: int
    reserve_out: int
    fee: int

    def pays(self, amount: int) -> int:
        """What the contract pays for ``amount``; integer for integer."""
        kept = amount * (SHARE - self.fee)
        if kept <= 0 or self.reserve_in <= 0:
            return 0
        return kept * self.reserve_out // (self.reserve_in * SHARE + kept)


def pays_along(amount: int, hops: Iterable[Hop]) -> int:
    """What a swap through pools one after the other pays."""
    for hop in hops:
        amount = hop.pays(amount)
    return amount


def price_impact(amount: int, paid: int, hops: Iterable[Hop]) -> Decimal:
    """By which share ``paid`` is under what the pools' prices promise a tiny swap, fees apart."""
    spot = Decimal(amount)
    for hop in hops:
        spot = ROUGH.divide(ROUGH.multiply(spot, Decimal(hop.reserve_out)), Decimal(hop.reserve_in))
        spot = ROUGH.divide(ROUGH.multiply(spot, Decimal(SHARE - hop.fee)), Decimal(SHARE))
    if spot <= 0:
        return Decimal(0)
    lost = ROUGH.subtract(Decimal(1), ROUGH.divide(Decimal(paid), spot))
    return max(lost, Decimal(0))


def less(units: int, percent: Decimal) -> int:
    """``units`` less a percentage, rounded down: the least that is accepted."""
    return max(int(units * (1 - Fraction(percent) / 100)), 0)

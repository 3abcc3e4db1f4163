"""The constant product in whole units, as ``contracts/sources/Pool.vy`` computes it."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

PARTS = 10_000
"""A pool's fee is so many of these."""


def amount_out(amount_in: int, reserve_in: int, reserve_out: int, fee: int) -> int:
    """What a pool pays for ``amount_in``, rounded down as the contract does."""
    kept = amount_in * (PARTS - fee)
    return kept * reserve_out // (reserve_in * PARTS + kept)


def amount_to(ratio: Fraction, reserve_in: int, reserve_out: int, fee: int) -> int:
    """How much to swap in so that ``reserve_in`` over ``reserve_out`` becomes ``ratio``, fee
    included; rounded down, and 0 when the ratio is there already or on the other side.

    With ``a`` swapped in, ``(x + a)(10000 x + k a) = ratio * y * 10000 x`` for ``k`` the parts
    that are kept: a quadratic in ``a``.
    """
    x, y, kept = reserve_in, reserve_out, PARTS - fee
    missing = PARTS * x * (ratio.numerator * y - ratio.denominator * x)
    if missing <= 0:
        return 0
    b = (PARTS + kept) * x * ratio.denominator
    root = isqrt(b * b + 4 * kept * missing * ratio.denominator)
    return (root - b) // (2 * kept * ratio.denominator)

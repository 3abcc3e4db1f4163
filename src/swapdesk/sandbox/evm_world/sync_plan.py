"""Which pools the keeper moves, and by how much: a pure function of reserves and prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isqrt

from swapdesk.sandbox.evm_world.pools import Pool, address_of, asset_of
from swapdesk.sandbox.world import WorldToken

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


BAND = Fraction(15, 10_000)
"""A pool further than this from the market is moved back."""
MOST_STEPS = 32
"""What one transaction of ``contracts/sources/Arbitrage.vy`` takes."""


@dataclass(frozen=True)
class PoolState:
    """A pool with its reserves, in units of its two tokens."""

    pool: Pool
    reserve0: int
    reserve1: int


@dataclass(frozen=True)
class PoolSwap:
    """``amount`` units of ``token_in`` are swapped in the pool at ``pool``."""

    pool: str
    token_in: str
    amount: int


def market_ratio(pool: Pool, prices: Mapping[str, Decimal]) -> Fraction:
    """What ``reserve0`` over ``reserve1`` is at the market's prices, by asset."""
    return Fraction(_unit_price(pool.token1, prices)) / _unit_price(pool.token0, prices)


def deviation(reserve0: int, reserve1: int, ratio: Fraction) -> Fraction:
    """How far a pool is from the market: 0 when it stands there, 1 when it is off by all."""
    return abs(Fraction(reserve0, reserve1) / ratio - 1)


def plan(
    states: Iterable[PoolState], prices: Mapping[str, Decimal], held: Mapping[str, int]
) -> list[PoolSwap]:
    """The steps that bring pools outside the band back to the market, the furthest first.

    ``prices`` are dollars by asset, ``held`` what the keeper's contract has by token contract: a
    pool it has too little for is moved as far as it goes. Of what a step pays out nothing is
    counted on. A step that would not bring its pool nearer is left out.
    """
    left = dict(held)
    off = [
        (deviation(state.reserve0, state.reserve1, ratio), state, ratio)
        for state in states
        if state.reserve0 and state.reserve1
        for ratio in (market_ratio(state.pool, prices),)
    ]
    off = [each for each in off if each[0] > BAND]
    off.sort(key=lambda each: (-each[0], each[1].pool.address))
    steps: list[PoolSwap] = []
    for distance, state, ratio in off:
        if len(steps) == MOST_STEPS:
            break
        step = _step(state, ratio, distance, left)
        if step is not None:
            left[step.token_in] -= step.amount
            steps.append(step)
    return steps


def _step(
    state: PoolState, ratio: Fraction, distance: Fraction, left: Mapping[str, int]
) -> PoolSwap | None:
    pool, fee = state.pool, state.pool.fee
    forward = Fraction(state.reserve0, state.reserve1) < ratio
    reserves = (state.reserve0, state.reserve1)
    x, y = reserves if forward else reserves[::-1]
    token = address_of(pool.token0 if forward else pool.token1)
    amount = min(amount_to(ratio if forward else 1 / ratio, x, y, fee), left.get(token, 0))
    paid = amount_out(amount, x, y, fee)
    if paid == 0:
        return None
    after = (x + amount, y - paid) if forward else (y - paid, x + amount)
    if deviation(*after, ratio) >= distance:
        return None
    return PoolSwap(pool.address, token, amount)


def _unit_price(token: WorldToken, prices: Mapping[str, Decimal]) -> Fraction:
    """Dollars for the smallest unit of a token."""
    return Fraction(prices[asset_of(token).code]) / Fraction(10**token.row.decimals)

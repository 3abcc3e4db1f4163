"""Smallest and largest amount of a private route, found by asking the first leg.

The second leg's bounds stand in the intermediary token, so they are carried back through the
first leg's price. Prices move between this answer and a quote; the second leg keeps a margin
of 2 %, so that a quote at exactly these bounds is priced.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from swapdesk.clock import Clock
from swapdesk.service.quoting.fanout import gather
from swapdesk.service.quoting.intermediaries import Intermediaries
from swapdesk.service.quoting.routes import UnpricedRoute, price_leg
from swapdesk.service.venues.adapter import VenueLimits
from swapdesk.service.venues.wrappers import GuardedVenue
from swapdesk.wire.encoding.numbers import ROUGH, quantize
from swapdesk.wire.tokens import Token

KEPT_SECONDS = 30.0
_PAIRS_KEPT = 4096
_UP = Decimal("1.02")
_DOWN = Decimal("0.98")
_CLOSE = Decimal("0.005")
_BESIDE = (Decimal("0.998"), Decimal("1.002"))
_ROUNDS = 8
_DIGITS = 5

_Point = tuple[Decimal, Decimal]
"""An amount sent and what the first leg pays for it."""


@dataclass(frozen=True)
class _FirstLeg:
    """A venue and an intermediary, and what its payout must lie between."""

    venue: GuardedVenue
    middle: Token
    target: VenueLimits


class PrivateBounds:
    """Bounds of the private routes of a pair, kept for 30 seconds."""

    def __init__(self, intermediaries: Intermediaries, clock: Clock) -> None:
        self._intermediaries = intermediaries
        self._clock = clock
        self._kept: dict[tuple[str, str], tuple[float, VenueLimits | None]] = {}

    async def find(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        """Bounds over all private routes of the pair; None when there is no such route now."""
        kept = self._kept.get((token_in.id, token_out.id))
        if kept is not None and self._clock.monotonic() - kept[0] <= KEPT_SECONDS:
            return kept[1]
        legs = self._first_legs(token_in, token_out)
        gathered = await gather(self._clock, [self._reach(leg, token_in) for leg in legs])
        reached = [answer for answer in gathered.answers if answer is not None]
        bounds = None
        if reached:
            bounds = VenueLimits(
                min(limits.minimum for limits in reached),
                max(limits.maximum for limits in reached),
            )
        if len(self._kept) >= _PAIRS_KEPT:
            self._kept.clear()
        self._kept[(token_in.id, token_out.id)] = (self._clock.monotonic(), bounds)
        return bounds

    def _first_legs(self, token_in: Token, token_out: Token) -> list[_FirstLeg]:
        legs = []
        for middle, firsts, seconds in self._intermediaries.between(token_in, token_out):
            for venue in firsts:
                onward = [
                    limits
                    for second in seconds
                    if second is not venue and (limits := second.limits(middle, token_out))
                ]
                if onward:
                    target = VenueLimits(
                        min(limits.minimum for limits in onward) * _UP,
                        max(limits.maximum for limits in onward) * _DOWN,
                    )
                    legs.append(_FirstLeg(venue, middle, target))
        return legs

    def _reach(self, leg: _FirstLeg, token_in: Token) -> Coroutine[Any, Any, VenueLimits | None]:
        return _Reach(leg, token_in).find()


class _Reach:
    """The amounts of one first leg whose payout the second leg accepts."""

    def __init__(self, leg: _FirstLeg, token_in: Token) -> None:
        self._leg = leg
        self._token_in = token_in

    async def _paid(self, amounts: list[Decimal]) -> list[_Point] | None:
        """What the first leg pays for each amount, asked at once; None when one has no price."""
        priced = await asyncio.gather(
            *(
                price_leg(self._leg.venue, self._token_in, self._leg.middle, amount)
                for amount in amounts
            )
        )
        points = [
            (amount, leg.amount_out)
            for amount, leg in zip(amounts, priced, strict=True)
            if not isinstance(leg, UnpricedRoute)
        ]
        return points if len(points) == len(amounts) else None

    async def find(self) -> VenueLimits | None:
        """Bounds on the amount sent, or None when this leg reaches no second leg now."""
        own = self._leg.venue.limits(self._token_in, self._leg.middle)
        if own is None:
            return None
        target = self._leg.target
        decimals = self._token_in.decimals
        ends = await self._paid(
            [
                quantize(own.minimum, decimals, up=True),
                quantize(own.maximum, decimals, up=False),
            ]
        )
        if ends is None or ends[1][1] < target.minimum or ends[0][1] > target.maximum:
            return None
        smallest, largest = await asyncio.gather(
            self._smallest(ends, target.minimum), self._largest(ends, target.maximum)
        )
        return VenueLimits(smallest, largest) if smallest <= largest else None

    async def _smallest(self, ends: list[_Point], target: Decimal) -> Decimal:
        if ends[0][1] >= target:
            return ends[0][0]
        found = (await self._cross(ends[0], ends[1], target))[1][0]
        return min(self._readable(found, up=True), ends[1][0])

    async def _largest(self, ends: list[_Point], target: Decimal) -> Decimal:
        if ends[1][1] <= target:
            return ends[1][0]
        found = (await self._cross(ends[0], ends[1], target))[0][0]
        return max(self._readable(found, up=False), ends[0][0])

    def _readable(self, amount: Decimal, *, up: bool) -> Decimal:
        """Five digits, cut toward the inside of the bounds."""
        places = min(_DIGITS - 1 - amount.adjusted(), self._token_in.decimals)
        return quantize(amount, places, up=up)

    async def _cross(self, low: _Point, high: _Point, target: Decimal) -> tuple[_Point, _Point]:
        """Two close points, one paying less than ``target`` and one at least as much.

        Each round asks closely on both sides of the straight line between the points, and in
        their middle in case the price is bent.
        """
        for _ in range(_ROUNDS):
            width = high[0] - low[0]
            if width <= ROUGH.multiply(high[0], _CLOSE):
                break
            share = ROUGH.divide(target - low[1], max(high[1] - low[1], target - low[1]))
            straight = low[0] + ROUGH.multiply(width, share)
            wanted = (straight * _BESIDE[0], straight * _BESIDE[1], low[0] + width / 2)
            amounts = sorted(
                {quantize(amount, self._token_in.decimals, up=True) for amount in wanted}
            )
            points = await self._paid([a for a in amounts if low[0] < a < high[0]])
            if not points:
                break
            for point in points:
                if point[1] < target:
                    low = point
                else:
                    high = point
                    break
        return low, high

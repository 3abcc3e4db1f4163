"""Smallest and largest amount of a private route, found by asking the first leg.

The second leg's bounds stand in the intermediary token, so they are carried back through the
first leg's price. Prices move between this answer and a quote; the second leg keeps a margin
of 2 %, so that a quote at exactly these bounds is priced.
"""

from __future__ import annotations

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
_STEPS = 12


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

    def known(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        """What was found within the last 30 seconds, without asking anybody."""
        found = self._kept.get((token_in.id, token_out.id))
        if found is None or self._clock.monotonic() - found[0] > KEPT_SECONDS:
            return None
        return found[1]

    async def find(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        """Bounds over all private routes of the pair; None when there is no such route now."""
        known = self.known(token_in, token_out)
        if known is not None:
            return known
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

    async def _paid(self, amount: Decimal) -> Decimal | None:
        priced = await price_leg(self._leg.venue, self._token_in, self._leg.middle, amount)
        return None if isinstance(priced, UnpricedRoute) else priced.amount_out

    async def find(self) -> VenueLimits | None:
        own = self._leg.venue.limits(self._token_in, self._leg.middle)
        if own is None:
            return None
        target = self._leg.target
        decimals = self._token_in.decimals
        low = quantize(own.minimum, decimals, up=True)
        high = quantize(own.maximum, decimals, up=False)
        paid_low, paid_high = await self._paid(low), await self._paid(high)
        if paid_low is None or paid_high is None:
            return None
        if paid_high < target.minimum or paid_low > target.maximum:
            return None
        smallest, largest = low, high
        if paid_low < target.minimum:
            smallest = (await self._cross(low, paid_low, high, paid_high, target.minimum))[1]
        if paid_high > target.maximum:
            largest = (await self._cross(low, paid_low, high, paid_high, target.maximum))[0]
        return VenueLimits(smallest, largest) if smallest <= largest else None

    async def _cross(
        self, low: Decimal, paid_low: Decimal, high: Decimal, paid_high: Decimal, target: Decimal
    ) -> tuple[Decimal, Decimal]:
        """Two close amounts, one paying less than ``target`` and one at least as much.

        Interpolation and halving take turns: the first is fast on straight prices, the second
        safe on bent ones.
        """
        for step in range(_STEPS):
            width = high - low
            if width <= ROUGH.multiply(high, _CLOSE):
                break
            part = Decimal("0.5")
            if step % 2 == 0 and paid_high > paid_low:
                part = ROUGH.divide(target - paid_low, paid_high - paid_low)
                # A little beyond the estimate, so that the side that matters is the close one.
                part = min(max(part * _UP, Decimal("0.0001")), Decimal("0.9999"))
            middle = quantize(low + ROUGH.multiply(width, part), self._token_in.decimals, up=True)
            if not low < middle < high:
                break
            paid = await self._paid(middle)
            if paid is None:
                break
            if paid >= target:
                high, paid_high = middle, paid
            else:
                low, paid_low = middle, paid
        return low, high

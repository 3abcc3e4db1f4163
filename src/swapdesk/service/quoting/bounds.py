"""Bounds that quotes of a pair obey: of amounts sent on private routes, and of amounts received
(contract 6.4).

They are the same for all callers within 30 seconds. A margin of at least 2 % allows for moving
prices, so an amount can be refused although a route would take it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable
from decimal import Decimal
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.service.quoting.asking import gather
from swapdesk.service.quoting.pricing import Pricing
from swapdesk.service.quoting.routes import (
    Intermediaries,
    PairBounds,
    PricedRoute,
    RouteQuestion,
    price_leg,
    priced,
    whole_minutes,
)
from swapdesk.service.quoting.rows import offered
from swapdesk.service.room import Room, Shared
from swapdesk.service.store.records import CentralizedRoute
from swapdesk.service.venues.adapter import FLOATING, Terms, VenueLimits
from swapdesk.service.venues.registry import GuardedVenue
from swapdesk.wire.encoding.numbers import ROUGH, quantize, short
from swapdesk.wire.tokens import Token

KEPT_SECONDS = 30
_PAIRS_KEPT = 4096
_UP = Decimal("1.02")
_DOWN = Decimal("0.98")
_CLOSE = Decimal("0.005")
_ROUNDS = 4
_ENDS_TRIED = 8
_HALVINGS = 5
_DIGITS = 5


logger = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")


class _FirstLeg(Struct, frozen=True):
    venue: GuardedVenue
    middle: Token
    own: VenueLimits
    target: VenueLimits
    terms: Terms


def contiguous(intervals: Iterable[VenueLimits]) -> VenueLimits | None:
    """Returns the range from the largest amount in any interval down to the first gap between the
    intervals; None if there are no intervals."""
    reach: VenueLimits | None = None
    for interval in sorted(
        intervals, key=lambda each_interval: each_interval.maximum, reverse=True
    ):
        if reach is None:
            reach = interval
        elif interval.maximum >= reach.minimum:
            reach = VenueLimits(min(reach.minimum, interval.minimum), reach.maximum)
    return reach


def drawn_in(
    intervals: list[VenueLimits], bounds: VenueLimits, *, least: bool, most: bool
) -> list[VenueLimits]:
    """Returns the intervals, shortened at each end of ``bounds`` that has no price. ``least`` is
    True if the lower end has a price, ``most`` if the upper end has one."""
    kept = [interval for interval in intervals if most or interval.maximum < bounds.maximum]
    if least:
        return kept
    higher = [interval.minimum for interval in kept if interval.minimum > bounds.minimum]
    floor = min(higher, default=bounds.minimum * 2)
    raised = [VenueLimits(max(interval.minimum, floor), interval.maximum) for interval in kept]
    return [interval for interval in raised if interval.minimum <= interval.maximum]


async def priced_ends(
    intervals: list[VenueLimits],
    asked: Callable[[VenueLimits], Awaitable[tuple[bool, bool]]],
) -> tuple[VenueLimits, Decimal | None] | None:
    """Returns the widest bounds with a price at both ends, and the last lower end without a price
    (None if there was none). Returns None if there are no such bounds. ``asked`` returns whether
    each end of given bounds has a price."""
    too_little = None
    for _ in range(_ENDS_TRIED):
        bounds = contiguous(intervals)
        if bounds is None:
            return None
        least, most = await asked(bounds)
        if least and most:
            return bounds, too_little
        if not least:
            too_little = bounds.minimum
        intervals = drawn_in(intervals, bounds, least=least, most=most)
    return None


async def lowered(
    bounds: VenueLimits,
    too_little: Decimal | None,
    token: Token,
    taken: Callable[[Decimal], Awaitable[bool]],
) -> VenueLimits:
    """Returns the bounds with the lower end moved down towards ``too_little``, an amount without a
    price, as far as amounts have a price. ``taken`` returns whether an amount has a price. If
    ``too_little`` is None, the bounds are unchanged."""
    if too_little is None:
        return bounds
    least = bounds.minimum
    for _ in range(_HALVINGS):
        between = readable(ROUGH.divide(ROUGH.add(too_little, least), Decimal(2)), token, up=True)
        if not too_little < between < least:
            break
        if await taken(between):
            least = between
        else:
            too_little = between
    return VenueLimits(least, bounds.maximum)


def taken_by(
    venues: Iterable[GuardedVenue], token_in: Token, token_out: Token
) -> list[VenueLimits]:
    limits_of_venues = (venue.limits(token_in, token_out) for venue in venues)
    capped = (within_cap(limits, token_in) for limits in limits_of_venues if limits is not None)
    return [limits for limits in capped if limits is not None]


def within_cap(limits: VenueLimits, token: Token) -> VenueLimits | None:
    """Returns ``limits`` rounded to the token's decimals and capped at SWAP_CAP_USD; None if no
    amount remains between them."""
    capped = offered(limits, token)
    return capped if capped.minimum <= capped.maximum else None


class KeptSearches(Generic[Key, Found]):
    """A cache of search results. A result is valid to the end of the current 30-second period,
    which is the same for all callers. Concurrent callers with the same key share one search."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[Key, tuple[int, Found | None]] = {}
        self._sought: dict[Key, asyncio.Task[Found | None]] = {}

    async def find(
        self, key: Key, searching: Callable[[], Coroutine[Any, Any, Found | None]]
    ) -> Found | None:
        """Returns the current period's result for ``key``, calling ``searching()`` if needed. None
        if nothing was found."""
        kept = self._kept.get(key)
        if kept is not None and kept[0] == self._epoch():
            return kept[1]
        search = self._sought.get(key)
        if search is None:
            search = self._sought[key] = asyncio.create_task(self._search(key, searching()))
            search.add_done_callback(lambda done: self._ended(key, done))
        return await asyncio.shield(search)

    def last(self, key: Key) -> Found | None:
        """Returns the last result, even an outdated one, without waiting; None if there is none."""
        kept = self._kept.get(key)
        return None if kept is None else kept[1]

    async def _search(self, key: Key, searching: Coroutine[Any, Any, Found | None]) -> Found | None:
        epoch = self._epoch()
        result = await searching
        if len(self._kept) >= _PAIRS_KEPT:
            self._kept.clear()
        self._kept[key] = (epoch, result)
        return result

    def _epoch(self) -> int:
        return int(self._clock.now().timestamp()) // KEPT_SECONDS

    def _ended(self, key: Key, search: asyncio.Task[Found | None]) -> None:
        del self._sought[key]
        if not search.cancelled() and (defect := search.exception()) is not None:
            logger.error("bounds of a pair were not found", exc_info=defect)


class PrivateBounds:
    """Finds the smallest and the largest amount that a pair's private routes take, without filters.
    ``terms`` says whether the routes have floating or fixed rates."""

    def __init__(
        self,
        pricing: Pricing,
        intermediaries: Intermediaries,
        clock: Clock,
        terms: Terms = FLOATING,
    ) -> None:
        self._pricing = pricing
        self._intermediaries = intermediaries
        self._clock = clock
        self._terms = terms
        self._searches: KeptSearches[tuple[str, str], PairBounds] = KeptSearches(clock)

    async def find(self, token_in: Token, token_out: Token) -> PairBounds | None:
        key = (token_in.id, token_out.id)
        return await self._searches.find(key, lambda: self._search(token_in, token_out))

    def last(self, token_in: Token, token_out: Token) -> PairBounds | None:
        return self._searches.last((token_in.id, token_out.id))

    async def _search(self, token_in: Token, token_out: Token) -> PairBounds | None:
        types: frozenset[CentralizedRoute] = frozenset({"private"})
        question = RouteQuestion(token_in, token_out, Decimal(0), self._terms, types=types)
        legs = self._first_legs(question)
        gathered = await gather(self._clock, [_reach(leg, token_in) for leg in legs])
        longest = Decimal(0)

        async def taken(amount: Decimal) -> bool:
            nonlocal longest
            answer = await self._pricing.price(replace(question, amount=amount))
            minutes = [route.minutes for route in priced(answer.private)]
            longest = max([longest, *minutes])
            return bool(minutes)

        async def asked(bounds: VenueLimits) -> tuple[bool, bool]:
            between = ROUGH.sqrt(ROUGH.multiply(bounds.minimum, bounds.maximum))
            amounts = bounds.minimum, bounds.maximum, readable(between, token_in, up=True)
            least, most, _ = await asyncio.gather(*map(taken, amounts))
            return least, most

        priced_bounds = await priced_ends(
            [reach for reach in gathered[0] if reach is not None], asked
        )
        if priced_bounds is None:
            return None
        limits = await lowered(*priced_bounds, token_in, taken)
        return PairBounds(limits.minimum, limits.maximum, whole_minutes(longest))

    def _first_legs(self, question: RouteQuestion) -> list[_FirstLeg]:
        token_in, token_out = question.token_in, question.token_out
        legs = []
        for hop in self._intermediaries.between(question):
            middle = hop.middle
            onward = [(second, second.limits(middle, token_out)) for second in hop.seconds]
            for venue in hop.firsts:
                limits = venue.limits(token_in, middle)
                own = None if limits is None else within_cap(limits, token_in)
                target = contiguous(
                    VenueLimits(bound.minimum * _UP, bound.maximum * _DOWN)
                    for second, bound in onward
                    if second is not venue
                    and bound is not None
                    and bound.minimum * _UP <= bound.maximum * _DOWN
                )
                if own is not None and target is not None:
                    legs.append(_FirstLeg(venue, middle, own, target, self._terms))
        return legs


async def _reach(leg: _FirstLeg, token_in: Token) -> VenueLimits | None:
    least, most = await asyncio.gather(
        _paid(leg, token_in, leg.own.minimum), _paid(leg, token_in, leg.own.maximum)
    )
    target = leg.target
    if least is None or most is None or most < target.minimum or least > target.maximum:
        return None
    smallest, largest = await asyncio.gather(
        _crossing(leg, token_in, (leg.own.minimum, least), target.minimum, up=True),
        _crossing(leg, token_in, (leg.own.maximum, most), target.maximum, up=False),
    )
    if smallest is None or largest is None or smallest > largest:
        return None
    return VenueLimits(smallest, largest)


async def _paid(leg: _FirstLeg, token_in: Token, amount: Decimal) -> Decimal | None:
    leg_route = await price_leg(leg.venue, token_in, leg.middle, amount, leg.terms)
    return leg_route.amount_out if isinstance(leg_route, PricedRoute) else None


async def _crossing(
    leg: _FirstLeg, token_in: Token, end: tuple[Decimal, Decimal], target: Decimal, *, up: bool
) -> Decimal | None:
    """Returns an amount for which the leg pays about ``target``; None if not found. ``end`` is one
    end of the leg's bounds, with the amount that the leg pays there; ``up`` is True for the lower
    end."""
    amount, paid = end
    if paid >= target if up else paid <= target:
        return amount
    for _ in range(_ROUNDS):
        amount = readable(ROUGH.divide(ROUGH.multiply(amount, target), paid), token_in, up=up)
        amount = min(max(amount, leg.own.minimum), leg.own.maximum)
        now = await _paid(leg, token_in, amount)
        if now is None:
            return None
        off = now - target if up else target - now
        step = ROUGH.multiply(ROUGH.divide(now, amount), _unit(amount, token_in))
        close = ROUGH.multiply(target, _CLOSE)
        if -close <= off <= max(close, step):
            return amount
        paid = now
    return None


def readable(amount: Decimal, token: Token, *, up: bool) -> Decimal:
    """Rounds a bound to five significant digits, up if ``up`` is True (for lower bounds), otherwise
    down. The rounded bound lies inside the exact bounds."""
    return quantize(amount, _places(amount, token), up=up)


def _places(amount: Decimal, token: Token) -> int:
    return min(_DIGITS - 1 - amount.adjusted(), token.decimals)


def _unit(amount: Decimal, token: Token) -> Decimal:
    return Decimal(1).scaleb(-_places(amount, token))


FIXED = Terms(fixed=True)

_INSIDE = (Decimal("0.02"), Decimal("0.06"), Decimal("0.2"))


class ReceiveBounds(Room):
    """Finds the smallest and the largest amount that the routes of one type can pay, if no filters
    are set."""

    def __init__(self, shared: Shared, pricing: Pricing, intermediaries: Intermediaries) -> None:
        super().__init__(shared)
        self._pricing = pricing
        self._private = PrivateBounds(pricing, intermediaries, self._clock, FIXED)
        self._searches: KeptSearches[tuple[str, str, CentralizedRoute, Decimal], VenueLimits]
        self._searches = KeptSearches(self._clock)

    async def find(
        self, token_in: Token, token_out: Token, route: CentralizedRoute, markup: Decimal
    ) -> VenueLimits | None:
        """Returns the bounds in units of the token received; None if no route can be priced.
        ``markup`` is in percent; it does not apply to venues without markup."""
        question = RouteQuestion(
            token_in,
            token_out,
            Decimal(0),
            replace(FIXED, markup=markup),
            types=frozenset({route}),
            markup_optional=True,
        )
        key = (token_in.id, token_out.id, route, markup)
        return await self._searches.find(key, lambda: self._search(question, route))

    def last(
        self, token_in: Token, token_out: Token, route: CentralizedRoute, markup: Decimal
    ) -> VenueLimits | None:
        return self._searches.last((token_in.id, token_out.id, route, markup))

    async def _search(self, question: RouteQuestion, route: CentralizedRoute) -> VenueLimits | None:
        token_in, token_out = question.token_in, question.token_out
        if route == "private":
            sent = await self._private.find(token_in, token_out)
            reached = [] if sent is None else [VenueLimits(sent.minimum, sent.maximum)]
        else:
            able = question.able(self._venues.trading(token_in, token_out))
            reached = taken_by(able, token_in, token_out)
        paid: list[list[Decimal]] = []

        async def asked(bounds: VenueLimits) -> tuple[bool, bool]:
            ends = bounds.minimum, bounds.maximum
            paid[:] = await asyncio.gather(*(self._paid(question, end) for end in ends))
            return bool(paid[0]), bool(paid[1])

        if await priced_ends(reached, asked) is None:
            return None
        # From what the ends pay inward, until a route is quoted for the amount received.
        smallest, largest = await asyncio.gather(
            self._quoted(question, min(paid[0]), up=True),
            self._quoted(question, max(paid[1]), up=False),
        )
        if smallest is None or largest is None or smallest > largest:
            return None
        return VenueLimits(smallest, largest)

    async def _paid(self, question: RouteQuestion, amount: Decimal) -> list[Decimal]:
        answer = await self._pricing.price(replace(question, amount=amount))
        return [route.amount_out for route in priced(answer.routes)]

    async def _quoted(self, question: RouteQuestion, end: Decimal, *, up: bool) -> Decimal | None:
        terms = replace(question.terms, receive=True)
        for margin in _INSIDE:
            factor = 1 + margin if up else 1 - margin
            amount = readable(ROUGH.multiply(end, factor), question.token_out, up=up)
            if amount <= 0:
                return None
            answer = await self._pricing.price(replace(question, amount=amount, terms=terms))
            if priced(answer.routes):
                return short(amount)
        return None

"""Prices all routes of a pair at once: standard routes over each venue, private ones over pairs of
venues.

A refused amount is answered with one that some route takes (contract 6.24). A wallet that paid one
of the partner's private orders within 24 hours does not pay the next (contract 6.18 to 6.20).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Iterable
from datetime import timedelta
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.service.errors import ServiceError
from swapdesk.service.quoting import rows
from swapdesk.service.quoting.asking import DEADLINE, HALF_STEPS, gather
from swapdesk.service.quoting.routes import (
    Cause,
    Hop,
    Intermediaries,
    PairBounds,
    PricedRoute,
    Route,
    RouteQuestion,
    UnpricedRoute,
    over_two,
    price_leg,
    priced,
    swap_cap,
    terms_of_leg,
    unpriced,
)
from swapdesk.service.room import Room, Shared
from swapdesk.service.store.records import RecentPayouts, RouteChoice, StoredQuote
from swapdesk.service.venues.registry import GuardedVenue, within
from swapdesk.wire.encoding.numbers import ROUGH, quantize

PRIVATE_ROWS = 24
"""Largest number of private routes that are offered (contract 6.23)."""


class Priced(Struct, frozen=True):
    """All routes asked for, each with or without a price. ``waited`` is the number of seconds spent
    waiting for venues. ``bounds`` are the bounds of the pair's private routes; None if not
    found."""

    standard: list[Route]
    private: list[Route]
    waited: float
    bounds: PairBounds | None = None

    def refused_above(self, cap: Decimal) -> Priced:
        """Returns the same routes, all without prices. Each route that had a price now refuses the
        amount as above ``cap``."""

        def refused(route: Route) -> Route:
            if isinstance(route, UnpricedRoute):
                return route
            return UnpricedRoute(route.legs, "above", cap, route.limits)

        standard, private = [*map(refused, self.standard)], [*map(refused, self.private)]
        return replace(self, standard=standard, private=private)

    @property
    def routes(self) -> list[Route]:
        return [*self.standard, *self.private]

    @property
    def largest(self) -> Decimal | None:
        """The largest amount taken by any route that refuses the requested amount as too high; None
        if no route does."""
        bounds = [
            route.bound for route in unpriced(self.routes) if route.cause == "above" and route.bound
        ]
        return max(bounds, default=None)


class Pricing(Room):
    def __init__(self, shared: Shared, intermediaries: Intermediaries) -> None:
        super().__init__(shared)
        self._intermediaries = intermediaries

    async def price(self, question: RouteQuestion) -> Priced:
        """Returns the routes of the asked types, each with its price or the reason why it has
        none."""
        begin = self._clock.monotonic()
        (standard, waited), (private, waited_too) = await asyncio.gather(
            self._standard(question, begin), self._private(question, begin)
        )
        return Priced(standard, private, max(waited, waited_too))

    async def refusal(self, answer: Priced, question: RouteQuestion) -> ServiceError | None:
        """Returns an error if every route refuses only because of the amount; otherwise None. The
        error names an amount that works."""
        outside = beyond(answer, question)
        if outside is None:
            return None
        if not answer.private or question.plain:
            return outside.refusal
        tried = [outside.figure]
        left = max(DEADLINE - answer.waited, RESERVE)
        with contextlib.suppress(TimeoutError):
            await within(self._clock, left, self._tried(outside, tried))
        return replace(outside, figure=tried[-1]).refusal

    async def _tried(self, outside: Beyond, tried: list[Decimal]) -> None:
        up = outside.cause == "below"
        for margin in _MARGINS:
            inside = ROUGH.add(1, margin if up else -margin)
            exact = ROUGH.multiply(tried[-1], inside)
            places = outside.question.stated.decimals
            if margin:
                places = min(places, _DIGITS - 1 - exact.adjusted())
            amount = quantize(exact, places, up=up)
            tried.append(amount)
            question = replace(outside.question, amount=amount)
            answer = await self.price(question)
            if priced(answer.routes):
                return
            again = beyond(answer, question)
            if again is None:
                continue
            if again.cause != outside.cause:
                return
            tried.append(again.figure)

    async def _standard(self, question: RouteQuestion, begin: float) -> tuple[list[Route], float]:
        if "standard" not in question.types:
            return [], 0.0
        trading = self._venues.trading(question.token_in, question.token_out)
        direct = [
            venue
            for venue in question.direct(trading)
            if (venue.provider.short_name,) not in question.exclude
        ]
        cap = swap_cap(question.token_in) if question.terms.receive else None
        answers, waited = await gather(
            self._clock,
            [
                price_leg(
                    venue,
                    question.token_in,
                    question.token_out,
                    question.amount,
                    terms_of_leg(question.terms, venue, last=True),
                    cap,
                )
                for venue in direct
            ],
            begin=begin,
        )
        return [*map(_heard, direct, answers)], waited

    async def _private(self, question: RouteQuestion, begin: float) -> tuple[list[Route], float]:
        if "private" not in question.types or question.choice.swaps is not None:
            return [], 0.0
        hops = [*self._intermediaries.between(question)]
        if not hops:
            cause = self._nothing_left(question)
            return ([] if cause is None else [UnpricedRoute((), cause)]), 0.0
        near = [
            (hop, venue)
            for hop in hops
            for venue in _near(question, hop)
            if any(other is not venue for other in _far(question, hop))
        ]
        asked, waited = await gather(
            self._clock,
            [
                _leg(question, hop, venue, question.amount, last=question.terms.receive)
                for hop, venue in near
            ],
            steps=HALF_STEPS,
            begin=begin,
        )
        routes: list[Route] = []
        pairs: list[tuple[Hop, PricedRoute, GuardedVenue]] = []
        for hop in hops:
            legs = [
                _heard(venue, leg)
                for (of_hop, venue), leg in zip(near, asked, strict=True)
                if of_hop is hop
            ]
            routes += unpriced(legs)
            pairs += self._carried_on(question, hop, priced(legs), routes)
        whole, waited_too = await gather(
            self._clock, [self._whole(question, *pair) for pair in pairs], begin=begin
        )
        routes += [UnpricedRoute((), "silent") if route is None else route for route in whole]
        return routes, max(waited, waited_too)

    def _nothing_left(self, question: RouteQuestion) -> Cause | None:
        pinned = replace(question, choice=replace(question.choice, use_xmr=None))
        if question.choice.use_xmr and any(self._intermediaries.between(pinned)):
            return "xmr"
        plain = replace(
            pinned.choice, in_included=None, in_excluded=None, out_included=None, out_excluded=None
        )
        hops = self._intermediaries.between(replace(pinned, choice=plain))
        return "leg filters" if plain != pinned.choice and any(hops) else None

    def _carried_on(
        self, question: RouteQuestion, hop: Hop, legs: list[PricedRoute], routes: list[Route]
    ) -> list[tuple[Hop, PricedRoute, GuardedVenue]]:
        """Returns the best of ``legs``, each with ``hop`` and every venue that can take the other
        leg over this intermediary token. Adds legs that no venue can continue to ``routes``,
        without a price."""
        receive = question.terms.receive
        far = _far(question, hop)
        limits = {
            venue: None if receive else venue.limits(hop.middle, question.token_out)
            for venue in far
        }
        legs.sort(key=lambda leg: leg.amount_in if receive else -leg.amount_out)
        fitting: list[tuple[PricedRoute, list[GuardedVenue]]] = []
        for leg in legs:
            takers, bounds = [], []
            for venue in far:
                if (
                    venue.provider.short_name in leg.legs
                    or _codes(question, leg, venue) in question.exclude
                ):
                    continue
                bound = limits[venue]
                if receive or (
                    bound is not None and bound.minimum <= leg.amount_out <= bound.maximum
                ):
                    takers.append(venue)
                elif bound is not None:
                    bounds.append(bound)
            if takers:
                fitting.append((leg, takers))
                continue
            sent = leg.amount_out
            share = ROUGH.divide(leg.amount_in, sent)
            least = [bound.minimum for bound in bounds if sent < bound.minimum]
            most = [bound.maximum for bound in bounds if sent > bound.maximum]
            if least:
                routes.append(UnpricedRoute(leg.legs, "below", ROUGH.multiply(min(least), share)))
            elif most:
                routes.append(UnpricedRoute(leg.legs, "above", ROUGH.multiply(max(most), share)))
        kept = -(-PRIVATE_ROWS // max(len(far) - 1, 1)) + 1
        return [(hop, leg, venue) for leg, takers in fitting[:kept] for venue in takers]

    @staticmethod
    async def _whole(
        question: RouteQuestion, hop: Hop, near: PricedRoute, venue: GuardedVenue
    ) -> Route:
        stated, middle = near.amount_in, near.amount_out
        if question.terms.receive:
            stated, middle = near.amount_out, near.amount_in
        far = await _leg(question, hop, venue, middle, last=not question.terms.receive)
        if isinstance(far, PricedRoute):
            first, second = (far, near) if question.terms.receive else (near, far)
            return over_two(first, second, hop.middle)
        share = ROUGH.divide(stated, middle)
        bound = None if far.bound is None else ROUGH.multiply(far.bound, share)
        return UnpricedRoute(_codes(question, near, venue), far.cause, bound)


async def _leg(
    question: RouteQuestion, hop: Hop, venue: GuardedVenue, amount: Decimal, *, last: bool
) -> Route:
    terms = terms_of_leg(question.terms, venue, last=last)
    if last:
        return await price_leg(venue, hop.middle, question.token_out, amount, terms)
    cap = swap_cap(question.token_in) if terms.receive else None
    return await price_leg(venue, question.token_in, hop.middle, amount, terms, cap)


def _heard(venue: GuardedVenue, answer: Route | None) -> Route:
    return answer or UnpricedRoute((venue.provider.short_name,), "silent")


def _near(question: RouteQuestion, hop: Hop) -> list[GuardedVenue]:
    return hop.seconds if question.terms.receive else hop.firsts


def _far(question: RouteQuestion, hop: Hop) -> list[GuardedVenue]:
    return hop.firsts if question.terms.receive else hop.seconds


def _codes(question: RouteQuestion, near: PricedRoute, far: GuardedVenue) -> tuple[str, str]:
    pair = (near.legs[0], far.provider.short_name)
    return (pair[1], pair[0]) if question.terms.receive else pair


def best_per_pair(routes: Iterable[Route], *, receive: bool = False) -> list[PricedRoute]:
    """Returns the route over the best intermediary token for each pair of venues, best first, at
    most PRIVATE_ROWS. The best route pays most or, with ``receive``, takes least."""
    best: dict[tuple[str, ...], PricedRoute] = {}
    for route in ranked(routes, receive=receive):
        best.setdefault(route.legs, route)
    return list(best.values())[:PRIVATE_ROWS]


def ranked(routes: Iterable[Route], *, receive: bool = False) -> list[PricedRoute]:
    return sorted(
        priced(routes),
        key=lambda route: (route.amount_in if receive else -route.amount_out, route.legs),
    )


RECENT = timedelta(hours=24)


class PayoutRotation(Room):
    async def rotated(
        self, routes: list[Route], choice: RouteChoice, partner_id: str, *, receive: bool
    ) -> list[Route]:
        """Returns the routes with payout wallets that paid none of the partner's recent orders. If
        there are none, returns all routes if ``choice.rotate_fallback`` is True, otherwise a single
        unpriced route. Returns all routes if ``choice`` asks for no rotation."""
        best = next(iter(ranked(routes, receive=receive)), None)
        if not choice.rotate_payout_wallets or best is None:
            return routes
        used = set((await self.recent(choice, partner_id)).wallets)
        near = [
            route
            for route in priced(routes)
            if _deviation(route, best, receive=receive) <= choice.deviation_threshold
        ]
        rotated: list[Route] = [
            replace(route, payout_wallet=wallet)
            for route in near
            if (wallet := self._unused(route.legs[-1], used)) is not None
        ]
        if rotated:
            return rotated
        return routes if choice.rotate_fallback else [UnpricedRoute((), "rotation")]

    async def recent(self, choice: RouteChoice, partner_id: str) -> RecentPayouts:
        since = self._clock.now() - RECENT
        return await self._store.orders.recent_payouts(partner_id, since, choice.rotation_lookback)

    def renewed(self, quote: StoredQuote, used: Collection[tuple[str, int]]) -> StoredQuote | None:
        """Returns the quote with a payout wallet that is not in ``used``, which holds pairs of
        venue code and wallet index. If all wallets are used, returns the quote without a wallet if
        its choice has ``rotate_fallback``, otherwise None."""
        if quote.payout_wallet is None or (quote.legs[-1], quote.payout_wallet) not in used:
            return quote
        wallet = self._unused(quote.legs[-1], used)
        if wallet is None and not quote.choice.rotate_fallback:
            return None
        return replace(quote, payout_wallet=wallet)

    def _unused(self, code: str, used: Collection[tuple[str, int]]) -> int | None:
        venue = self._venues.by_code(code)
        wallets = 0 if venue is None else venue.traits.payout_wallets
        left = [wallet for wallet in range(wallets) if (code, wallet) not in used]
        return self._rng.choice(left) if left else None


def _deviation(route: PricedRoute, best: PricedRoute, *, receive: bool) -> Decimal:
    if receive:
        worse, base = route.amount_in - best.amount_in, best.amount_in
    else:
        worse, base = best.amount_out - route.amount_out, best.amount_out
    return ROUGH.divide(worse * 100, base)


RESERVE = 0.4
"""Least time, in seconds, for a search for bounds, however long the preceding questions took."""

_DIGITS = 5
_MARGINS = (Decimal(0), Decimal("0.01"), Decimal("0.04"), Decimal("0.16"))


class Beyond(Struct, frozen=True):
    """An amount that every route refuses. ``cause`` is ``below`` if some refuse it as too low,
    otherwise ``above``. ``figure`` is the nearest amount that a route takes."""

    question: RouteQuestion
    cause: Cause
    figure: Decimal

    @property
    def refusal(self) -> ServiceError:
        asked = self.question
        return rows.out_of_bounds(self.cause, asked.stated, asked.amount, self.figure)


def beyond(answer: Priced, question: RouteQuestion) -> Beyond | None:
    """Returns a Beyond if every route refuses only because of the amount; otherwise None."""
    lost = unpriced(answer.routes)
    if not lost or len(lost) < len(answer.routes):
        return None
    if not {route.cause for route in lost} <= {"below", "above"}:
        return None
    least = [route.bound for route in lost if route.cause == "below" and route.bound]
    if least:
        return Beyond(question, "below", min(least))
    most = answer.largest
    return None if most is None else Beyond(question, "above", most)

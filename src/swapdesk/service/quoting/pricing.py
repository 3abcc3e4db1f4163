"""All routes of a pair priced at once: over each venue, and over each pair of venues."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from swapdesk.clock import Clock
from swapdesk.service.quoting.fanout import gather
from swapdesk.service.quoting.intermediaries import Intermediaries
from swapdesk.service.quoting.routes import (
    Cause,
    Leg,
    PricedRoute,
    Route,
    UnpricedRoute,
    price_leg,
    price_second_leg,
    price_standard,
)
from swapdesk.service.venues.registry import Venues
from swapdesk.service.venues.wrappers import GuardedVenue
from swapdesk.wire.tokens import Token

PRIVATE_ROWS = 24
"""At most this many private routes are offered (wire decisions 8, "Quotes")."""


@dataclass(frozen=True)
class Priced:
    """Every asked route with its outcome; ``waited`` seconds is how long SILENT ones had."""

    standard: list[Route]
    private: list[Route]
    waited: float


class Pricing:
    """Asks the venues for whole routes under one deadline."""

    def __init__(self, venues: Venues, intermediaries: Intermediaries, clock: Clock) -> None:
        self._venues = venues
        self._intermediaries = intermediaries
        self._clock = clock

    async def price(
        self, token_in: Token, token_out: Token, amount: Decimal, *, standard: bool, private: bool
    ) -> Priced:
        """Routes of the asked types, each with its price or the reason it has none."""
        direct = self._venues.trading(token_in, token_out) if standard else []
        hops = self._hops(token_in, token_out) if private else []
        first_legs: dict[tuple[str, str], asyncio.Task[Leg]] = {}
        for first, _, middle in hops:
            key = (first.provider.short_name, middle.id)
            if key not in first_legs:
                first_legs[key] = asyncio.create_task(price_leg(first, token_in, middle, amount))

        async def over(first: GuardedVenue, second: GuardedVenue, middle: Token) -> Route:
            leg = await asyncio.shield(first_legs[(first.provider.short_name, middle.id)])
            if isinstance(leg, UnpricedRoute):
                codes = (first.provider.short_name, second.provider.short_name)
                return UnpricedRoute(codes, leg.cause, leg.bound)
            return await price_second_leg(leg, (first, second), middle, token_out)

        try:
            gathered = await gather(
                self._clock,
                [price_standard(venue, token_in, token_out, amount) for venue in direct]
                + [over(*hop) for hop in hops],
            )
        finally:
            for task in first_legs.values():
                task.cancel()
        legs: list[tuple[str, ...]] = [(venue.provider.short_name,) for venue in direct]
        legs += [(hop[0].provider.short_name, hop[1].provider.short_name) for hop in hops]
        routes = [
            UnpricedRoute(codes, Cause.SILENT) if answer is None else answer
            for codes, answer in zip(legs, gathered.answers, strict=True)
        ]
        return Priced(routes[: len(direct)], routes[len(direct) :], gathered.waited)

    def _hops(
        self, token_in: Token, token_out: Token
    ) -> list[tuple[GuardedVenue, GuardedVenue, Token]]:
        return [
            (first, second, middle)
            for middle, firsts, seconds in self._intermediaries.between(token_in, token_out)
            for first in firsts
            for second in seconds
            if first is not second
        ]


def best_per_pair(routes: Iterable[Route]) -> list[PricedRoute]:
    """The best intermediary of each venue pair, best pairs first, bounded."""
    best: dict[tuple[str, ...], PricedRoute] = {}
    for route in routes:
        if isinstance(route, PricedRoute):
            rival = best.get(route.legs)
            if rival is None or route.amount_out > rival.amount_out:
                best[route.legs] = route
    return ranked(best.values())[:PRIVATE_ROWS]


def ranked(routes: Iterable[Route]) -> list[PricedRoute]:
    """The priced ones, most received first; equal ones by venue, so that the order is stable."""
    priced = [route for route in routes if isinstance(route, PricedRoute)]
    return sorted(priced, key=lambda route: (-route.amount_out, route.legs))

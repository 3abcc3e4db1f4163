"""Smallest and largest amounts to receive, which ``minOut`` and ``maxOut`` state (contract 6.4).

Quotes by the amount received are fixed, so both ends follow from what fixed routes pay for the
smallest and the largest amount that they take. Prices move between this answer and a quote: the
ends lie 2 % further inside, and a quote by the amount received was given at both. As of amounts
sent, one outside is refused even where a route would pay it.
"""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Literal

from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.service.quoting.pricing import Pricing
from swapdesk.service.quoting.private_bounds import (
    KeptSearches,
    PrivateBounds,
    priced_ends,
    readable,
    taken_by,
)
from swapdesk.service.quoting.routes import Intermediaries, RouteQuestion, priced
from swapdesk.service.venues.adapter import Terms, VenueLimits
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.encoding.numbers import ROUGH, short
from swapdesk.wire.tokens import Token

RouteName = Literal["standard", "private"]

FIXED = Terms(fixed=True)

_INSIDE = (Decimal("0.02"), Decimal("0.06"), Decimal("0.2"))
"""By how much each try goes further inside, as a share of what an end pays."""


class ReceiveBounds:
    """Bounds of the amount received, over all routes of one type and without filters."""

    def __init__(
        self, pricing: Pricing, venues: Venues, intermediaries: Intermediaries, clock: Clock
    ) -> None:
        self._pricing = pricing
        self._venues = venues
        self._private = PrivateBounds(pricing, intermediaries, clock, FIXED)
        self._searches: KeptSearches[tuple[str, str, RouteName, Decimal], VenueLimits]
        self._searches = KeptSearches(clock)

    async def find(
        self, token_in: Token, token_out: Token, route: RouteName, markup: Decimal
    ) -> VenueLimits | None:
        """Bounds in units of the token received; None where nothing can be quoted by it now.

        ``markup`` in percent is left out by venues that take none.
        """
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
        self, token_in: Token, token_out: Token, route: RouteName, markup: Decimal
    ) -> VenueLimits | None:
        """What was found last, where a new search takes too long."""
        return self._searches.last((token_in.id, token_out.id, route, markup))

    async def _search(self, question: RouteQuestion, route: RouteName) -> VenueLimits | None:
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
        """What the routes pay for an amount sent."""
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

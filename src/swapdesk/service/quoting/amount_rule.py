"""Quotes and ``GET /minMax`` keep one rule: a private route takes what its pair's bounds allow.

An amount outside them is refused even where a route would take it, so that validation and
execution say the same (contract 6.3).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from swapdesk.clock import Clock
from swapdesk.service.quoting.asking import DEADLINE
from swapdesk.service.quoting.pricing import RESERVE, Priced
from swapdesk.service.quoting.private_bounds import PrivateBounds
from swapdesk.service.quoting.routes import (
    Cause,
    PairBounds,
    PricedRoute,
    Route,
    RouteQuestion,
    UnpricedRoute,
)
from swapdesk.service.venues.wrappers import within

_CLEAR = 2
"""An amount this many times inside the bounds of a priced route is inside those of the pair."""


class AmountRule:
    """Judges the private routes of an answer by the bounds of their pair."""

    def __init__(self, bounds: PrivateBounds, clock: Clock) -> None:
        self._bounds = bounds
        self._clock = clock

    async def judged(self, pricing: Coroutine[Any, Any, Priced], question: RouteQuestion) -> Priced:
        """What was priced, with the bounds of the pair; private routes are refused with the
        figure of ``GET /minMax`` when the amount is outside.

        The rule is the same whether the bounds were asked for before or not. Bounds speak of
        all floating routes, so other questions are answered by their routes alone. Both are
        asked for at once, since every private row states the bounds.
        """
        if "private" not in question.types or question.choice.swaps is not None:
            return await pricing
        search = asyncio.ensure_future(self._bounds.find(question.token_in, question.token_out))
        try:
            priced = await pricing
            if not priced.private:
                return priced
            bounds = await self._in_time(search, question, priced.waited)
        finally:
            search.cancel()
        return replace(priced, private=_kept(priced.private, question, bounds), bounds=bounds)

    async def _in_time(
        self, search: asyncio.Future[PairBounds | None], question: RouteQuestion, waited: float
    ) -> PairBounds | None:
        async def found() -> PairBounds | None:
            return await search

        try:
            return await within(self._clock, max(DEADLINE - waited, RESERVE), found())
        except TimeoutError:
            return self._bounds.last(question.token_in, question.token_out)


def _kept(routes: list[Route], question: RouteQuestion, bounds: PairBounds | None) -> list[Route]:
    """The routes, or the one refusal of an amount outside ``bounds``."""
    if bounds is None or not _plain(question) or _clearly_inside(routes, question):
        return routes
    if not any(
        isinstance(route, PricedRoute) or route.cause in (Cause.BELOW, Cause.ABOVE)
        for route in routes
    ):
        return routes
    if question.amount < bounds.minimum:
        return [UnpricedRoute((), Cause.BELOW, bounds.minimum)]
    if question.amount > bounds.maximum:
        return [UnpricedRoute((), Cause.ABOVE, bounds.maximum)]
    return routes


def _plain(question: RouteQuestion) -> bool:
    """Whether the question is about every floating route, as the bounds of the pair are."""
    terms, choice = question.terms, question.choice
    filtered = (choice.in_included, choice.in_excluded, choice.out_included, choice.out_excluded)
    return (
        not terms.fixed
        and not choice.use_xmr
        and all(codes is None for codes in filtered)
        and (question.markup_optional or not terms.markup)
    )


def _clearly_inside(routes: Iterable[Route], question: RouteQuestion) -> bool:
    """Whether priced routes show that the amount is far from both bounds of the pair.

    Of a token that is paid out in large units, what buys the first ones may be the lower bound.
    """
    amount = question.amount
    units = _CLEAR * Decimal(1).scaleb(-question.token_out.decimals)
    priced = [route for route in routes if isinstance(route, PricedRoute)]
    return any(
        route.limits.minimum * _CLEAR <= amount and route.amount_out >= units for route in priced
    ) and any(amount * _CLEAR <= route.limits.maximum for route in priced)

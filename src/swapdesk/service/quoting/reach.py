"""The figure a refusal names: an amount that some asked route takes (contract 6.24)."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from decimal import Decimal

from swapdesk.clock import Clock
from swapdesk.service.errors import ServiceError
from swapdesk.service.quoting import rows
from swapdesk.service.quoting.fanout import DEADLINE
from swapdesk.service.quoting.pricing import Priced, Pricing
from swapdesk.service.quoting.routes import Cause, PricedRoute, RouteQuestion, UnpricedRoute
from swapdesk.service.venues.wrappers import within
from swapdesk.wire.encoding.numbers import ROUGH, quantize

RESERVE = 0.4
"""Seconds that may be taken at least, after a fan-out that used up its time."""

_DIGITS = 5
_MARGINS = (Decimal(0), Decimal("0.01"), Decimal("0.04"), Decimal("0.16"))
"""By how much each try goes further inside, as a share of the figure."""


@dataclass(frozen=True)
class Beyond:
    """An amount to which every asked route says BELOW, or ABOVE; between both the next larger
    amount is ``figure``."""

    question: RouteQuestion
    cause: Cause
    figure: Decimal

    @property
    def refusal(self) -> ServiceError:
        """AMOUNT_TOO_LOW or QUOTE_OVER_LIMIT."""
        problem = rows.too_low if self.cause is Cause.BELOW else rows.over_limit
        return problem(self.question.stated, self.question.amount, self.figure)


def beyond(priced: Priced, question: RouteQuestion) -> Beyond | None:
    """None when a route is priced, or when the amount is not all that is wrong everywhere."""
    routes = [*priced.standard, *priced.private]
    unpriced = [route for route in routes if isinstance(route, UnpricedRoute)]
    if not routes or len(unpriced) < len(routes):
        return None
    if not {route.cause for route in unpriced} <= {Cause.BELOW, Cause.ABOVE}:
        return None
    least = [route.bound for route in unpriced if route.cause is Cause.BELOW and route.bound]
    most = [route.bound for route in unpriced if route.cause is Cause.ABOVE and route.bound]
    if least:
        return Beyond(question, Cause.BELOW, min(least))
    return Beyond(question, Cause.ABOVE, max(most)) if most else None


class Reach:
    """Tries the figures of refusals before they are told."""

    def __init__(self, pricing: Pricing, clock: Clock) -> None:
        self._pricing = pricing
        self._clock = clock

    async def refusal(self, priced: Priced, question: RouteQuestion) -> ServiceError | None:
        """The refusal when the amount is all that is wrong everywhere, else None.

        An amount to receive over two legs is refused by the leg that pays it, which knows
        nothing of the other; its figure is tried on whole routes as long as time allows.
        """
        found = beyond(priced, question)
        if found is None:
            return None
        if not (question.terms.receive and priced.private):
            return found.refusal
        tried = [found.figure]
        left = max(DEADLINE - priced.waited, RESERVE)
        with contextlib.suppress(TimeoutError):
            await within(self._clock, left, self._try(found, tried))
        return replace(found, figure=tried[-1]).refusal

    async def _try(self, found: Beyond, tried: list[Decimal]) -> None:
        """Go inside until a route is priced; the last of ``tried`` is what to tell."""
        up = found.cause is Cause.BELOW
        for margin in _MARGINS:
            inside = ROUGH.add(1, margin if up else -margin)
            exact = ROUGH.multiply(tried[-1], inside)
            places = found.question.stated.decimals
            if margin:
                places = min(places, _DIGITS - 1 - exact.adjusted())
            amount = quantize(exact, places, up=up)
            tried.append(amount)
            question = replace(found.question, amount=amount)
            priced = await self._pricing.price(question)
            if any(isinstance(each, PricedRoute) for each in (*priced.standard, *priced.private)):
                return
            again = beyond(priced, question)
            if again is None:
                continue
            if again.cause is not found.cause:
                return
            tried.append(again.figure)

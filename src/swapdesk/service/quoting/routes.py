"""What one route costs: a leg on one venue, or two legs over an intermediary token.

A standard route has one leg. A private route has two on different venues, so that nobody sees
both ends. Amounts are Decimal in token units; what a venue pays is cut to the token's decimals.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from swapdesk.service.venues.adapter import Unavailable, VenueFailure, VenueLimits, VenueQuote
from swapdesk.service.venues.wrappers import GuardedVenue, TimedOut
from swapdesk.wire.encoding.numbers import ROUGH, quantize
from swapdesk.wire.tokens import Token


class Cause(Enum):
    BELOW = "below"
    ABOVE = "above"
    SILENT = "silent"
    FAILED = "failed"


@dataclass(frozen=True)
class PricedRoute:
    """A route and what it pays. ``legs`` are venue codes in the order of the money.

    ``limits`` bounds ``amount_in``; ``minutes`` is the estimate for all legs together.
    ``rates`` names each venue's promise on fixed terms; ``payout_wallet`` is the last venue's
    hot wallet, by index, on a rotated route.
    """

    legs: tuple[str, ...]
    amount_in: Decimal
    amount_out: Decimal
    middle_token_id: str | None
    middle_amount: Decimal | None
    minutes: Decimal
    limits: VenueLimits
    rates: tuple[str | None, ...] = ()
    payout_wallet: int | None = None


@dataclass(frozen=True)
class UnpricedRoute:
    """Why a route has no price. ``bound`` is the figure of BELOW and ABOVE, in the token sent."""

    legs: tuple[str, ...]
    cause: Cause
    bound: Decimal | None = None
    limits: VenueLimits | None = None


Leg = VenueQuote | UnpricedRoute
Route = PricedRoute | UnpricedRoute


async def price_leg(venue: GuardedVenue, token_in: Token, token_out: Token, amount: Decimal) -> Leg:
    """One leg; the bounds are checked here, so that what limits promise is what quotes do."""
    legs = (venue.provider.short_name,)
    limits = venue.limits(token_in, token_out)
    if limits is None:
        return UnpricedRoute(legs, Cause.FAILED)
    if amount < limits.minimum:
        return UnpricedRoute(legs, Cause.BELOW, limits.minimum, limits)
    if amount > limits.maximum:
        return UnpricedRoute(legs, Cause.ABOVE, limits.maximum, limits)
    try:
        quote = await venue.quote(token_in, token_out, amount)
    except TimedOut:
        return UnpricedRoute(legs, Cause.SILENT, limits=limits)
    except VenueFailure:
        return UnpricedRoute(legs, Cause.FAILED, limits=limits)
    if isinstance(quote, Unavailable):
        return _refused(legs, amount, quote)
    amount_out = quantize(quote.amount_out, token_out.decimals, up=False)
    if amount_out <= 0:
        return UnpricedRoute(legs, Cause.FAILED, limits=limits)
    return VenueQuote(amount, amount_out, quote.minutes, quote.limits)


def _refused(legs: tuple[str, ...], amount: Decimal, answer: Unavailable) -> UnpricedRoute:
    limits = answer.limits
    if limits is not None and amount < limits.minimum:
        return UnpricedRoute(legs, Cause.BELOW, limits.minimum, limits)
    if limits is not None and amount > limits.maximum:
        return UnpricedRoute(legs, Cause.ABOVE, limits.maximum, limits)
    return UnpricedRoute(legs, Cause.FAILED, limits=limits)


async def price_standard(
    venue: GuardedVenue, token_in: Token, token_out: Token, amount: Decimal
) -> Route:
    """A route over one venue."""
    leg = await price_leg(venue, token_in, token_out, amount)
    if isinstance(leg, UnpricedRoute):
        return leg
    return PricedRoute(
        legs=(venue.provider.short_name,),
        amount_in=amount,
        amount_out=leg.amount_out,
        middle_token_id=None,
        middle_amount=None,
        minutes=leg.minutes,
        limits=leg.limits,
    )


async def price_second_leg(
    first: VenueQuote, venues: tuple[GuardedVenue, GuardedVenue], middle: Token, token_out: Token
) -> Route:
    """A private route whose first leg is priced; bounds are told in the token sent."""
    legs = (venues[0].provider.short_name, venues[1].provider.short_name)
    leg = await price_leg(venues[1], middle, token_out, first.amount_out)
    if isinstance(leg, UnpricedRoute):
        bound = leg.bound
        if bound is not None:
            bound = ROUGH.divide(ROUGH.multiply(bound, first.amount_in), first.amount_out)
        return UnpricedRoute(legs, leg.cause, bound)
    share = ROUGH.divide(first.amount_in, first.amount_out)
    return PricedRoute(
        legs=legs,
        amount_in=first.amount_in,
        amount_out=leg.amount_out,
        middle_token_id=middle.id,
        middle_amount=first.amount_out,
        minutes=first.minutes + leg.minutes,
        limits=VenueLimits(
            max(first.limits.minimum, ROUGH.multiply(leg.limits.minimum, share)),
            min(first.limits.maximum, ROUGH.multiply(leg.limits.maximum, share)),
        ),
    )

"""Prices one route. A private route has two legs on different venues, so that none sees both ends
(contract 6.13 to 6.16). Amounts are Decimal in whole tokens, rounded in the venue's favour."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.service.errors import invalid
from swapdesk.service.room import Room, Shared
from swapdesk.service.store.records import EVERY_ROUTE, RouteChoice, RouteTerms
from swapdesk.service.venues.adapter import (
    FLOATING,
    Terms,
    Unavailable,
    VenueFailure,
    VenueLimits,
)
from swapdesk.service.venues.registry import GuardedVenue, TimedOut, Venues
from swapdesk.wire.encoding.numbers import ROUGH, quantize, short
from swapdesk.wire.quotes import LegFilters
from swapdesk.wire.tokens import Token

Cause = Literal["below", "above", "silent", "failed", "leg filters", "xmr", "rotation"]


class RouteQuestion(Struct, frozen=True):
    """A question for the prices of routes. ``amount`` is received if ``terms.receive`` is True,
    otherwise sent. With ``markup_optional``, venues that do not support markup are priced without
    it. ``exclude`` lists routes by their venue codes."""

    token_in: Token
    token_out: Token
    amount: Decimal
    terms: Terms = FLOATING
    choice: RouteChoice = EVERY_ROUTE
    types: frozenset[Literal["standard", "private"]] = frozenset({"standard", "private"})
    markup_optional: bool = False
    exclude: frozenset[tuple[str, ...]] = frozenset()

    @property
    def stated(self) -> Token:
        return self.token_out if self.terms.receive else self.token_in

    @property
    def plain(self) -> bool:
        """True for floating routes without filters. A pair's stated bounds apply only to such
        routes."""
        return not self.terms.fixed and self.unfiltered

    @property
    def unfiltered(self) -> bool:
        choice = self.choice
        filters = (
            choice.in_included,
            choice.in_excluded,
            choice.out_included,
            choice.out_excluded,
        )
        return (
            not choice.use_xmr
            and all(codes is None for codes in filters)
            and (self.markup_optional or not self.terms.markup)
        )

    def able(self, venues: Iterable[GuardedVenue]) -> list[GuardedVenue]:
        marked = bool(self.terms.markup) and not self.markup_optional
        return [
            venue
            for venue in venues
            if (not self.terms.fixed or venue.traits.fixed)
            and (not marked or venue.provider.markup_supported)
        ]

    def direct(self, venues: Iterable[GuardedVenue]) -> list[GuardedVenue]:
        return _kept(self.able(venues), self.choice.swaps, None)

    def firsts(self, venues: Iterable[GuardedVenue]) -> list[GuardedVenue]:
        return _kept(self.able(venues), self.choice.in_included, self.choice.in_excluded)

    def seconds(self, venues: Iterable[GuardedVenue]) -> list[GuardedVenue]:
        """Returns the venues that may take the second leg. Venues that require a refund address are
        left out, because a refund would be in the intermediary token."""
        trusting = [venue for venue in venues if not venue.traits.requires_refund_address]
        return _kept(self.able(trusting), self.choice.out_included, self.choice.out_excluded)


class PricedRoute(RouteTerms, frozen=True, kw_only=True):
    """A route with its price. ``limits`` are the bounds of ``amount_in``. ``valid_until`` is None
    on floating terms."""

    limits: VenueLimits
    valid_until: datetime | None = None


class UnpricedRoute(Struct, frozen=True):
    """A route without a price, for the reason ``cause``. ``bound`` is the nearest amount that the
    route takes; None if unknown. Like the request's amount, it is an amount to send or to
    receive."""

    legs: tuple[str, ...]
    cause: Cause
    bound: Decimal | None = None
    limits: VenueLimits | None = None


class Hop(Struct, frozen=True):
    """An intermediary token. ``firsts`` are the venues that may take the leg to this token;
    ``seconds`` are the venues that may take the leg from it."""

    middle: Token
    firsts: list[GuardedVenue]
    seconds: list[GuardedVenue]


class PairBounds(VenueLimits, frozen=True):
    """The amounts that a pair's private routes take, and their longest time estimate. Rows state
    these figures instead of a single venue's, which would reveal the venue."""

    minutes: Decimal


Route = PricedRoute | UnpricedRoute


def terms_of_leg(terms: Terms, venue: GuardedVenue, *, last: bool) -> Terms:
    """Returns the terms for one leg of a route. Only the last leg (``last``) keeps the markup, and
    only if the venue supports markup."""
    if terms.markup and not (last and venue.provider.markup_supported):
        return replace(terms, markup=Decimal(0))
    return terms


async def price_leg(
    venue: GuardedVenue,
    token_in: Token,
    token_out: Token,
    amount: Decimal,
    terms: Terms = FLOATING,
    cap: Decimal | None = None,
) -> Route:
    """Prices a route of one leg. The route is unpriced if the venue gives no price, or if the
    amount is outside the venue's bounds or above ``cap``. If ``cap`` is None, there is no cap."""
    legs = (venue.provider.short_name,)
    limits = venue.limits(token_in, token_out)
    if limits is None:
        return UnpricedRoute(legs, "failed")
    if cap is not None and cap < limits.maximum:
        limits = VenueLimits(limits.minimum, cap)
    if not terms.receive and (out := _outside(legs, amount, limits)) is not None:
        return out
    try:
        quote = await venue.quote(token_in, token_out, amount, terms)
    except TimedOut:
        return UnpricedRoute(legs, "silent", limits=limits)
    except VenueFailure:
        return UnpricedRoute(legs, "failed", limits=limits)
    if isinstance(quote, Unavailable):
        if terms.receive and quote.limits is not None:
            return await _beyond(venue, token_in, token_out, amount, terms, limits)
        stated = quote.limits or limits
        out = None if quote.limits is None else _outside(legs, amount, stated)
        return out or UnpricedRoute(legs, "failed", limits=stated)
    if terms.fixed and (quote.rate is None or quote.valid_until is None):
        return UnpricedRoute(legs, "failed", limits=limits)
    if terms.receive:
        sent = short(quantize(quote.amount_in, token_in.decimals, up=True))
        if quote.amount_out < amount or sent <= 0:
            return UnpricedRoute(legs, "failed", limits=limits)
        if not limits.minimum <= sent <= limits.maximum:
            return await _beyond(venue, token_in, token_out, amount, terms, limits)
        quote = replace(quote, amount_in=sent, limits=limits)
    else:
        received = short(quantize(quote.amount_out, token_out.decimals, up=False))
        if received <= 0:
            return UnpricedRoute(legs, "failed", limits=limits)
        quote = replace(quote, amount_in=amount, amount_out=received)
    return PricedRoute(
        legs=legs,
        amount_in=quote.amount_in,
        amount_out=quote.amount_out,
        minutes=quote.minutes,
        limits=quote.limits,
        rates=(quote.rate,),
        markup=terms.markup,
        valid_until=quote.valid_until,
    )


def _outside(legs: tuple[str, ...], sent: Decimal, limits: VenueLimits) -> UnpricedRoute | None:
    if sent < limits.minimum:
        return UnpricedRoute(legs, "below", limits.minimum, limits)
    if sent > limits.maximum:
        return UnpricedRoute(legs, "above", limits.maximum, limits)
    return None


async def _beyond(
    venue: GuardedVenue,
    token_in: Token,
    token_out: Token,
    wanted: Decimal,
    terms: Terms,
    limits: VenueLimits,
) -> UnpricedRoute:
    """Returns the unpriced route for an amount to receive. The cause is ``below`` or ``above`` if
    the amount is outside what the venue can pay, otherwise ``failed``."""
    legs = (venue.provider.short_name,)
    sending = replace(terms, receive=False)
    least, most = await asyncio.gather(
        price_leg(
            venue,
            token_in,
            token_out,
            quantize(limits.minimum, token_in.decimals, up=True),
            sending,
        ),
        price_leg(
            venue,
            token_in,
            token_out,
            quantize(limits.maximum, token_in.decimals, up=False),
            sending,
        ),
    )
    if isinstance(least, PricedRoute) and wanted < least.amount_out:
        return UnpricedRoute(legs, "below", least.amount_out, limits)
    if isinstance(most, PricedRoute) and wanted > most.amount_out:
        return UnpricedRoute(legs, "above", most.amount_out, limits)
    return UnpricedRoute(legs, "failed", limits=limits)


def priced(routes: Iterable[Route]) -> list[PricedRoute]:
    return [route for route in routes if isinstance(route, PricedRoute)]


def unpriced(routes: Iterable[Route]) -> list[UnpricedRoute]:
    return [route for route in routes if isinstance(route, UnpricedRoute)]


def whole_minutes(minutes: Decimal) -> Decimal:
    return minutes.to_integral_value(ROUND_CEILING)


def alike(routes: list[Route], bounds: PairBounds | None) -> list[Route]:
    """Returns ``routes`` with one time estimate and one end of validity for all priced routes, so
    that these figures do not reveal the venues. If ``bounds`` is None, the estimate is the longest
    of these routes."""
    priced_routes = priced(routes)
    if not priced_routes:
        return routes
    longest = whole_minutes(max(route.minutes for route in priced_routes))
    minutes = longest if bounds is None else bounds.minutes
    end = min(
        (route.valid_until for route in priced_routes if route.valid_until is not None),
        default=None,
    )
    return [
        replace(route, minutes=minutes, valid_until=end)
        if isinstance(route, PricedRoute)
        else route
        for route in routes
    ]


def over_two(first: PricedRoute, second: PricedRoute, middle: Token) -> PricedRoute:
    """Combines two priced legs into a private route. The first leg must pay exactly what the second
    was priced for."""
    share = ROUGH.divide(first.amount_in, first.amount_out)
    ends = [end for end in (first.valid_until, second.valid_until) if end is not None]
    return PricedRoute(
        legs=(*first.legs, *second.legs),
        amount_in=first.amount_in,
        amount_out=second.amount_out,
        middle_token_id=middle.id,
        middle_amount=second.amount_in,
        minutes=first.minutes + second.minutes,
        limits=VenueLimits(
            max(first.limits.minimum, ROUGH.multiply(second.limits.minimum, share)),
            min(first.limits.maximum, ROUGH.multiply(second.limits.maximum, share)),
        ),
        rates=(*first.rates, *second.rates),
        markup=second.markup,
        valid_until=min(ends) if ends else None,
    )


_FILTERS = {
    "in_included": ("in_leg_included_swaps", "inLegIncludedSwaps"),
    "in_excluded": ("in_leg_excluded_swaps", "inLegExcludedSwaps"),
    "out_included": ("out_leg_included_swaps", "outLegIncludedSwaps"),
    "out_excluded": ("out_leg_excluded_swaps", "outLegExcludedSwaps"),
}


def _kept(
    venues: list[GuardedVenue], included: tuple[str, ...] | None, excluded: tuple[str, ...] | None
) -> list[GuardedVenue]:
    if included is None and excluded is None:
        return venues
    return [
        venue
        for venue in venues
        if (included is None or venue.provider.short_name in included)
        and (excluded is None or venue.provider.short_name not in excluded)
    ]


def leg_filters(asked: LegFilters, venues: Venues) -> dict[str, tuple[str, ...] | None]:
    """Returns a request's four leg filters by their names in RouteChoice; a filter is None if not
    set. Raises VALIDATION_ERROR for an unknown provider."""
    filters: dict[str, tuple[str, ...] | None] = {}
    for name, (field, wire_name) in _FILTERS.items():
        codes: list[str] | None = getattr(asked, field)
        if codes is not None:
            require_known(wire_name, codes, venues, routing=False)
        filters[name] = None if codes is None else tuple(dict.fromkeys(codes))
    return filters


def require_known(field: str, codes: Sequence[str], venues: Venues, *, routing: bool) -> None:
    """Raises VALIDATION_ERROR for ``field`` if ``codes`` has an unknown provider or, with
    ``routing``, a disabled provider."""
    for code in codes:
        provider = venues.provider(code)
        if provider is None or (routing and not provider.enabled):
            what = "a provider that is not routing" if provider else "no provider code"
            raise invalid(field, f"'{code}' is {what}", list(codes))


_XMR = "xmr"


class Intermediaries(Room):
    """Finds the intermediary tokens, among ``token_ids``, over which private routes of a pair can
    go."""

    def __init__(self, shared: Shared, token_ids: Iterable[str]) -> None:
        super().__init__(shared)
        self._token_ids = tuple(token_ids)

    def between(self, question: RouteQuestion) -> Iterator[Hop]:
        """Yields each usable intermediary token whose two legs can be taken by two different
        venues."""
        token_in, token_out = question.token_in, question.token_out
        only_xmr = bool(question.choice.use_xmr)
        for token_id in self._token_ids:
            middle = self._catalog.token(token_id)
            if middle is None or middle.id in (token_in.id, token_out.id):
                continue
            if not self._catalog.routable(middle) or (only_xmr and not is_xmr(middle)):
                continue
            firsts = question.firsts(self._venues.trading(token_in, middle))
            seconds = question.seconds(self._venues.trading(middle, token_out))
            if any(first is not second for first in firsts for second in seconds):
                yield Hop(middle, firsts, seconds)


def is_xmr(token: Token) -> bool:
    return token.mainnet and token.chain_data.kind.casefold() == _XMR


SWAP_CAP_USD = Decimal(400_000)
"""Largest swap on centralized routes, in dollars (contract 6.5)."""

PRICE_IMPACT = Decimal("0.30")
"""Largest share of the dollar value that a route may lose. Other routes are shown, but must not be
used."""

_USD_DECIMALS = 6


def in_usd(token: Token, amount: Decimal) -> Decimal | None:
    """Returns the dollar value of ``amount``; None if the token has no price."""
    if token.price is None:
        return None
    return short(quantize(ROUGH.multiply(amount, token.price), _USD_DECIMALS, up=False))


def rescaled(usd: Decimal, amount: Decimal, valued: Decimal) -> Decimal:
    """Returns the dollar value of ``amount``, given that the amount ``valued`` of the same token is
    worth ``usd`` dollars."""
    exact = ROUGH.divide(ROUGH.multiply(usd, amount), valued)
    return short(quantize(exact, _USD_DECIMALS, up=False))


def swap_cap(token: Token) -> Decimal | None:
    """Returns the largest amount of the token that is worth at most SWAP_CAP_USD; None if the token
    has no price."""
    if token.price is None or token.price <= 0:
        return None
    return quantize(ROUGH.divide(SWAP_CAP_USD, token.price), token.decimals, up=False)


def loses_too_much(usd_in: Decimal | None, usd_out: Decimal | None) -> bool:
    """Returns whether a route loses so much value that it must not be used (PRICE_IMPACT). Returns
    False if a dollar value is unknown."""
    if usd_in is None or usd_out is None or usd_in <= 0:
        return False
    return usd_out < ROUGH.multiply(usd_in, 1 - PRICE_IMPACT)

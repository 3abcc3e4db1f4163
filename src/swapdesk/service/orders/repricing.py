"""A create that asks for another markup or other leg providers than its quote had.

Equal ones change nothing. Different ones re-price a floating quote within its route type, and
the answer's amounts tell; a fixed quote refuses them (contract 7.11).
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from swapdesk.service.errors import ServiceError
from swapdesk.service.orders.legs import routes_with
from swapdesk.service.orders.next_route import RouteFinder, needing_refund_address
from swapdesk.service.orders.states import centralized
from swapdesk.service.quoting.eligibility import leg_filters
from swapdesk.service.quoting.routes import PricedRoute
from swapdesk.service.quoting.valuation import in_usd
from swapdesk.service.store.records import RouteChoice, StoredQuote
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.exchanges import PrivateSendRequest
from swapdesk.wire.tokens import Token

_FILTERS = ("in_included", "in_excluded", "out_included", "out_excluded")


class Repricing:
    """Turns a quote into the one its create asks for."""

    def __init__(self, venues: Venues, routes: RouteFinder) -> None:
        self._venues = venues
        self._routes = routes

    async def apply(
        self, quote: StoredQuote, request: PrivateSendRequest, token_in: Token, token_out: Token
    ) -> StoredQuote:
        """The quote itself, or re-priced.

        Raises INVALID_SWAP when it cannot be, VALIDATION_ERROR for a code of no provider.
        """
        markup = quote.markup if request.markup is None else request.markup
        choice = _asked(quote, leg_filters(request, self._venues))
        if markup == quote.markup and _same(choice, quote.choice):
            return quote
        if quote.fixed or quote.route == "dex":
            raise ServiceError(
                ErrorCode.INVALID_SWAP,
                "This quote keeps its markup and its filters. Ask for a new quote.",
            )
        barred = frozenset() if request.refund_address is not None else self._wary(quote)
        # The venues that were chosen come first; others only when these do not fit any more.
        route = None
        if choice.admits(quote.legs):
            kept = _only(choice, quote)
            route = await self._best(quote, token_in, token_out, markup, kept, barred)
        if route is None:
            route = await self._best(quote, token_in, token_out, markup, choice, barred)
        if route is None:
            raise ServiceError(
                ErrorCode.INVALID_SWAP, "No route of this type fits the markup and filters now."
            )
        return replace(
            quote,
            legs=route.legs,
            amount_in=route.amount_in,
            amount_out=route.amount_out,
            amount_in_usd=in_usd(token_in, route.amount_in),
            amount_out_usd=in_usd(token_out, route.amount_out),
            minutes=quote.minutes if quote.route == "private" else route.minutes,
            middle_token_id=route.middle_token_id,
            middle_amount=route.middle_amount,
            markup=markup,
            rates=route.rates,
            payout_wallet=route.payout_wallet,
            choice=choice,
        )

    def _wary(self, quote: StoredQuote) -> frozenset[tuple[str, ...]]:
        """Routes whose first venue opens nothing without a refund address."""
        codes = [venue.provider.short_name for venue in self._venues]
        wary = [f"in:{code}" for code in needing_refund_address(self._venues)]
        return routes_with(wary, (), codes, centralized(quote.route))

    async def _best(
        self,
        quote: StoredQuote,
        token_in: Token,
        token_out: Token,
        markup: Decimal,
        choice: RouteChoice,
        barred: frozenset[tuple[str, ...]],
    ) -> PricedRoute | None:
        return await self._routes.best_legs(
            token_in,
            token_out,
            quote.amount_in,
            centralized(quote.route),
            exclude=barred,
            markup=markup,
            choice=choice,
            partner_id=quote.partner_id,
        )


def _asked(quote: StoredQuote, filters: dict[str, tuple[str, ...] | None]) -> RouteChoice:
    """The quote's choice with the body's filters over it; standard routes ignore them."""
    if quote.route == "standard":
        return quote.choice
    return replace(
        quote.choice,
        in_included=filters["in_included"] or quote.choice.in_included,
        in_excluded=filters["in_excluded"] or quote.choice.in_excluded,
        out_included=filters["out_included"] or quote.choice.out_included,
        out_excluded=filters["out_excluded"] or quote.choice.out_excluded,
    )


def _same(one: RouteChoice, other: RouteChoice) -> bool:
    """Filters are sets: their order means nothing."""
    return all(_as_set(getattr(one, name)) == _as_set(getattr(other, name)) for name in _FILTERS)


def _as_set(codes: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if codes is None else frozenset(codes)


def _only(choice: RouteChoice, quote: StoredQuote) -> RouteChoice:
    if quote.route == "standard":
        return replace(choice, swaps=quote.legs)
    return replace(choice, in_included=quote.legs[:1], out_included=quote.legs[1:])

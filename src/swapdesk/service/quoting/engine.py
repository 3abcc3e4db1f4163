"""Quotes: checked, priced, stored durably, answered (spec: Quotes; wire decisions 2.5, 2.6, 8)."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Literal

from swapdesk.clock import Clock
from swapdesk.service.access import Caller
from swapdesk.service.catalog import Catalog
from swapdesk.service.errors import invalid
from swapdesk.service.quoting import rows
from swapdesk.service.quoting.intermediaries import Intermediaries
from swapdesk.service.quoting.pricing import Priced, Pricing, best_per_pair, ranked
from swapdesk.service.quoting.private_bounds import PrivateBounds
from swapdesk.service.quoting.routes import Cause, PricedRoute, Route, UnpricedRoute
from swapdesk.service.quoting.valuation import swap_cap
from swapdesk.service.store.protocol import EVERY_ROUTE, RouteChoice, Store, StoredQuote
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.encoding.ids import new_quote_id
from swapdesk.wire.encoding.numbers import plain, quantize
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.quotes import (
    PrivateSendQuery,
    PrivateSendQuoteList,
    Quote,
    QuoteList,
    QuoteQuery,
    RouteType,
)
from swapdesk.wire.tokens import Token

__all__ = ["QUOTE_VALID", "PricedRoute", "QuoteEngine"]

QUOTE_VALID = timedelta(seconds=60)
"""How long a floating quote may be executed (wire decisions 6)."""


class QuoteEngine:
    """Prices routes over the venues; ``intermediaries``: token ids a private route may hop over."""

    def __init__(
        self,
        catalog: Catalog,
        venues: Venues,
        store: Store,
        clock: Clock,
        rng: random.Random,
        intermediaries: Iterable[str],
    ) -> None:
        self._catalog = catalog
        self._venues = venues
        self._store = store
        self._clock = clock
        self._rng = rng
        middle = Intermediaries(catalog, venues, intermediaries)
        self._pricing = Pricing(venues, middle, clock)
        self.private_bounds = PrivateBounds(middle, clock)

    async def quotes(self, caller: Caller, query: QuoteQuery) -> QuoteList:
        """Every asked route of the pair, unpriced ones with their reason."""
        asked = frozenset(query.types or RouteType)
        same = query.from_.lower() == query.to.lower()
        if same and asked != {RouteType.PRIVATE}:
            message = "must differ from 'from'; the same token needs types=private"
            raise invalid("to", message, query.to)
        token_in = self._catalog.enabled_token(query.from_, "from")
        token_out = self._catalog.enabled_token(query.to, "to")
        if same:
            _require_self_private(token_in, query.from_)
        amount = _in_units(token_in, query.amount)
        priced = await self._price(
            token_in,
            token_out,
            amount,
            standard=RouteType.STANDARD in asked,
            private=RouteType.PRIVATE in asked,
        )
        offers = [
            *(
                (route, self._stored(caller, route, token_in, token_out, same))
                for route in [*ranked(priced.standard), *best_per_pair(priced.private)]
            ),
        ]
        await self._store.save_quotes([stored for _, stored in offers])
        found = [self._row(route, stored, token_in) for route, stored in offers]
        found += self._losers(priced, amount, token_in)
        ordered = rows.in_order(found, query.sort, query.sort_order)
        return QuoteList(quotes=ordered, total=len(ordered))

    async def private_send(self, caller: Caller, query: PrivateSendQuery) -> PrivateSendQuoteList:
        """Private routes from a token to itself."""
        token = self._catalog.enabled_token(query.from_, "from")
        _require_self_private(token, query.from_)
        amount = _in_units(token, query.amount)
        if amount <= 0:
            bounds = await self.private_bounds.find(token, token)
            raise rows.too_low(token, amount, bounds.minimum if bounds else Decimal(0))
        priced = await self._price(token, token, amount, standard=False, private=True)
        offers = [
            (route, self._stored(caller, route, token, token, True))
            for route in best_per_pair(priced.private)
        ]
        await self._store.save_quotes([stored for _, stored in offers])
        items = [rows.private_send_row(stored, route, token) for route, stored in offers]
        return PrivateSendQuoteList(total=len(items), quotes=items)

    async def best_legs(
        self,
        token_in: Token,
        token_out: Token,
        amount: Decimal,
        route: Literal["standard", "private"],
        *,
        exclude: frozenset[tuple[str, ...]] = frozenset(),
        markup: Decimal = Decimal(0),
        choice: RouteChoice = EVERY_ROUTE,
    ) -> PricedRoute | None:
        """The floating route that pays most now among those ``choice`` asks for; None when none.

        ``exclude`` names routes by their legs; ``markup`` is what the price has to include.
        """
        priced = await self._pricing.price(
            token_in,
            token_out,
            amount,
            standard=route == "standard",
            private=route == "private",
        )
        usable = [
            found
            for found in [*priced.standard, *priced.private]
            if found.legs not in exclude and choice.admits(found.legs)
        ]
        return next(iter(ranked(usable)), None)

    async def _price(
        self, token_in: Token, token_out: Token, amount: Decimal, *, standard: bool, private: bool
    ) -> Priced:
        """Prices of the asked routes, or the refusal when no route takes the amount."""
        if not (token_in.has_cex and token_out.has_cex) or not (standard or private):
            return Priced([], [], 0.0)
        cap = swap_cap(token_in)
        if cap is not None and amount > cap:
            raise rows.over_limit(token_in, amount, cap)
        priced = await self._pricing.price(
            token_in, token_out, amount, standard=standard, private=private
        )
        priced = replace(
            priced, private=await self._bounded(priced.private, token_in, token_out, amount)
        )
        self._refuse_if_none_takes(priced, token_in, amount)
        return priced

    async def _bounded(
        self, routes: list[Route], token_in: Token, token_out: Token, amount: Decimal
    ) -> list[Route]:
        """Private routes; when none takes the amount, with the figure ``GET /minMax`` states.

        A route that has a price is never refused by bounds found for somebody else before.
        """
        if any(isinstance(route, PricedRoute) for route in routes):
            return routes
        if not any(route.cause in (Cause.BELOW, Cause.ABOVE) for route in _unpriced(routes)):
            return routes
        bounds = await self.private_bounds.find(token_in, token_out)
        if bounds is None:
            return routes
        if amount < bounds.minimum:
            return [UnpricedRoute(route.legs, Cause.BELOW, bounds.minimum) for route in routes]
        if amount > bounds.maximum:
            return [UnpricedRoute(route.legs, Cause.ABOVE, bounds.maximum) for route in routes]
        return routes

    def _refuse_if_none_takes(self, priced: Priced, token_in: Token, amount: Decimal) -> None:
        routes = [*priced.standard, *priced.private]
        unpriced = _unpriced(routes)
        if not routes or len(unpriced) < len(routes):
            return
        bounds = [route.bound for route in unpriced if route.bound is not None]
        causes = {route.cause for route in unpriced}
        if causes == {Cause.BELOW} and bounds:
            raise rows.too_low(token_in, amount, min(bounds))
        if causes == {Cause.ABOVE} and bounds:
            raise rows.over_limit(token_in, amount, max(bounds))

    def _stored(
        self,
        caller: Caller,
        route: PricedRoute,
        token_in: Token,
        token_out: Token,
        private_send: bool,
    ) -> StoredQuote:
        now = self._clock.now()
        return rows.stored(
            route,
            quote_id=new_quote_id(self._rng),
            partner_id=caller.partner.partner_id,
            private_send=private_send,
            created=now,
            expires=now + QUOTE_VALID,
            token_in=token_in,
            token_out=token_out,
        )

    def _row(self, route: PricedRoute, stored: StoredQuote, token_in: Token) -> Quote:
        if stored.route == "private":
            return rows.private_row(stored, route, token_in)
        return rows.standard_row(stored, route, self._provider(route.legs[0]), token_in)

    def _losers(self, priced: Priced, amount: Decimal, token_in: Token) -> list[Quote]:
        """Unpriced standard routes one by one; private ones only when no private route is left."""
        lost = [
            rows.error_row(route, amount, token_in, priced.waited, self._provider(route.legs[0]))
            for route in _unpriced(priced.standard)
        ]
        if len(_unpriced(priced.private)) == len(priced.private):
            lost += [
                rows.error_row(route, amount, token_in, priced.waited, None)
                for route in rows.summed_up(priced.private)
            ]
        return lost

    def _provider(self, code: str) -> SwapProvider:
        venue = self._venues.by_code(code)
        if venue is None:
            raise LookupError(f"no venue {code}")
        return venue.provider


def _unpriced(routes: Iterable[Route]) -> list[UnpricedRoute]:
    return [route for route in routes if isinstance(route, UnpricedRoute)]


def _require_self_private(token: Token, value: str) -> None:
    if not token.has_self_private:
        raise invalid("from", "must be a token with hasSelfPrivate", value)


def _in_units(token: Token, amount: Decimal) -> Decimal:
    """``amount`` in whole units of the token; one finer than the token cannot be sent."""
    exponent = amount.as_tuple().exponent
    if isinstance(exponent, int) and -exponent <= token.decimals:
        return amount
    cut = quantize(amount, token.decimals, up=False)
    if cut != amount:
        raise invalid("amount", f"{token.symbol} has {token.decimals} decimals", plain(amount))
    return cut

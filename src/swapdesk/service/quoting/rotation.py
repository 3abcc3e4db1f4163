"""Rotation of payout wallets: the receiver is not paid twice from one hot wallet in a row.

Contract 6.18 to 6.20: private routes only; recent are the partner's last
orders within 24 hours; a rotated route whose price deviates too far from the best one is left
out; strict unless a fallback was asked for.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from swapdesk.clock import Clock
from swapdesk.service.quoting.pricing import ranked
from swapdesk.service.quoting.routes import Cause, PricedRoute, Route, UnpricedRoute
from swapdesk.service.store.protocol import Store
from swapdesk.service.store.records import RouteChoice, StoredQuote
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.encoding.numbers import ROUGH

RECENT = timedelta(hours=24)


class Rotation:
    """Chooses the hot wallet each private route shall pay from."""

    def __init__(self, store: Store, venues: Venues, clock: Clock, rng: random.Random) -> None:
        self._store = store
        self._venues = venues
        self._clock = clock
        self._rng = rng

    async def rotated(
        self, routes: list[Route], choice: RouteChoice, partner_id: str, *, receive: bool
    ) -> list[Route]:
        """The routes with a wallet that no recent order was paid from.

        Where none is left: the routes as they were when ``rotate_fallback``, otherwise one
        unpriced route that says so.
        """
        best = next(iter(ranked(routes, receive=receive)), None)
        if not choice.rotate_payout_wallets or best is None:
            return routes
        used = await self._used(choice, partner_id)
        near = [
            route
            for route in _priced(routes)
            if _deviation(route, best, receive=receive) <= choice.deviation_threshold
        ]
        found: list[Route] = [
            replace(route, payout_wallet=wallet)
            for route in near
            if (wallet := self._unused(route.legs[-1], used)) is not None
        ]
        if found:
            return found
        return routes if choice.rotate_fallback else [UnpricedRoute((), Cause.ROTATION)]

    async def renewed(
        self, quote: StoredQuote, also: Collection[tuple[str, int]] = ()
    ) -> StoredQuote | None:
        """The quote with a wallet that no order was paid from since it was given.

        ``also`` are wallets of orders that are begun together with this one. Where none is left:
        without a wallet of its own when ``rotate_fallback``, else None.
        """
        if quote.payout_wallet is None:
            return quote
        used = await self._used(quote.choice, quote.partner_id) | set(also)
        if (quote.legs[-1], quote.payout_wallet) not in used:
            return quote
        wallet = self._unused(quote.legs[-1], used)
        if wallet is None and not quote.choice.rotate_fallback:
            return None
        return replace(quote, payout_wallet=wallet)

    async def _used(self, choice: RouteChoice, partner_id: str) -> set[tuple[str, int]]:
        """Wallets of the orders looked back at; one that named none is paid from the first."""
        since = self._clock.now() - RECENT
        recent = await self._store.recent_payouts(partner_id, since, choice.rotation_lookback)
        return {(code, wallet or 0) for code, wallet in recent}

    def _unused(self, code: str, used: set[tuple[str, int]]) -> int | None:
        """A wallet of the venue, drawn from those that were not used lately."""
        venue = self._venues.by_code(code)
        wallets = 0 if venue is None else venue.traits.payout_wallets
        left = [wallet for wallet in range(wallets) if (code, wallet) not in used]
        return self._rng.choice(left) if left else None


def _priced(routes: Iterable[Route]) -> list[PricedRoute]:
    return [route for route in routes if isinstance(route, PricedRoute)]


def _deviation(route: PricedRoute, best: PricedRoute, *, receive: bool) -> Decimal:
    """How much worse than the best, in percent."""
    if receive:
        worse, base = route.amount_in - best.amount_in, best.amount_in
    else:
        worse, base = best.amount_out - route.amount_out, best.amount_out
    return ROUGH.divide(worse * 100, base)

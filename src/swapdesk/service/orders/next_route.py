"""The next best route of an order whose venue refused, before anything was deposited."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Literal, Protocol

from swapdesk.clock import Clock
from swapdesk.service.catalog import Catalog
from swapdesk.service.orders.legs import Position, opened_in_vain, refusals, routes_with
from swapdesk.service.orders.states import centralized
from swapdesk.service.quoting.routes import PricedRoute
from swapdesk.service.store.records import RouteChoice, StoredOrder
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.orders import OrderStatus
from swapdesk.wire.tokens import Token


class RouteFinder(Protocol):
    """Who prices the next best route when a venue refuses."""

    async def best_legs(
        self,
        token_in: Token,
        token_out: Token,
        amount: Decimal,
        route: Literal["standard", "private"],
        *,
        exclude: frozenset[tuple[str, ...]],
        markup: Decimal,
        choice: RouteChoice,
        partner_id: str | None,
    ) -> PricedRoute | None: ...


def needing_refund_address(venues: Venues) -> set[str]:
    """Codes of the venues that open nothing without a refund address."""
    return {v.provider.short_name for v in venues if v.traits.requires_refund_address}


class NextRoute:
    """Finds routes around venues that refused, on the terms of the quote."""

    def __init__(self, catalog: Catalog, venues: Venues, routes: RouteFinder, clock: Clock) -> None:
        self._catalog = catalog
        self._venues = venues
        self._routes = routes
        self._clock = clock

    async def after(self, order: StoredOrder, position: Position, code: str) -> StoredOrder | None:
        """The order on its next best route, at -1 until it is open; None when no venue is left.

        ``code`` is the venue that refused the leg at ``position``.
        """
        refused = [*refusals(order), f"{position}:{code}"]
        opened = opened_in_vain(order)
        if position == "in" and order.route == "private":
            opened = [*opened, order.legs[1]]
        if self._clock.now() >= order.expires:
            return None
        quoted = order.detail.get("quotedInAmount")
        amount = Decimal(quoted) if isinstance(quoted, str) else order.amount_in
        wary = set() if order.refund_address is not None else needing_refund_address(self._venues)
        codes = [venue.provider.short_name for venue in self._venues]
        avoided = [*refused, *(f"in:{each}" for each in wary)]
        route = await self._routes.best_legs(
            self._token(order.token_in_id),
            self._token(order.token_out_id),
            amount,
            centralized(order.route),
            exclude=routes_with(avoided, opened, codes, centralized(order.route)),
            markup=order.markup,
            choice=order.choice,
            partner_id=order.partner_id,
        )
        if route is None:
            return None
        return replace(
            order,
            status=int(OrderStatus.NEW),
            modified=self._clock.now(),
            legs=route.legs,
            amount_in=route.amount_in,
            amount_out=route.amount_out,
            # The estimate of a private pair, not of the venues that were found.
            minutes=order.minutes if order.route == "private" else route.minutes,
            middle_token_id=route.middle_token_id,
            middle_amount=route.middle_amount,
            payout_wallet=route.payout_wallet,
            detail={
                "quotedInAmount": format(order.amount_in, "f"),
                "quotedOutAmount": format(order.amount_out, "f"),
                **order.detail,
                "refusals": ",".join(refused),
                "openedInVain": ",".join(opened),
            },
        )

    def _token(self, token_id: str) -> Token:
        token = self._catalog.token(token_id)
        if token is None:
            raise LookupError(f"token {token_id} of an order is not in the catalogue")
        return token

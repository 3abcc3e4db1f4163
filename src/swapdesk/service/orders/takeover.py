"""Who carries out a leg that a venue gave up, and what that venue is asked to open.

The leg is priced as a swap of its own: for what the venue before it holds, with the filters
that were asked for it, by nobody who already knows the other end of a private order.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from swapdesk.service.catalog import Catalog
from swapdesk.service.orders.legs import (
    SECOND_LEG_PATIENCE,
    Position,
    intermediate_refund,
    moves,
    terms_of,
)
from swapdesk.service.orders.next_route import RouteFinder, needing_refund_address
from swapdesk.service.quoting.routes import PricedRoute
from swapdesk.service.store.records import EVERY_ROUTE, RouteChoice, StoredOrder
from swapdesk.service.venues.adapter import LegOrder
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.tokens import Token


class Takeover:
    """Chooses venues for single legs of orders that exist."""

    def __init__(self, catalog: Catalog, venues: Venues, routes: RouteFinder) -> None:
        self._catalog = catalog
        self._venues = venues
        self._routes = routes

    async def choose(
        self, order: StoredOrder, position: Position, amount: Decimal
    ) -> PricedRoute | None:
        """The best venue for the leg, of those not tried yet; None when there is none."""
        shunned = {*moves(order), *order.legs}
        if position != "in" or order.refund_address is None:
            shunned |= needing_refund_address(self._venues)
        choice = self._choice(order, position)
        shunned |= set(choice.in_excluded or ())
        token_in, token_out = self.ends(order, position)
        return await self._routes.best_legs(
            token_in,
            token_out,
            amount,
            "standard",
            exclude=frozenset((code,) for code in shunned),
            markup=terms_of(order, position).markup,
            choice=RouteChoice(swaps=choice.swaps),
            partner_id=order.partner_id,
        )

    @staticmethod
    def _choice(order: StoredOrder, position: Position) -> RouteChoice:
        """The filters of this leg, as those of a route over it alone."""
        asked = order.choice
        if position == "back":
            return EVERY_ROUTE
        if order.route == "standard":
            return RouteChoice(swaps=asked.swaps)
        if position == "in":
            return RouteChoice(swaps=asked.in_included, in_excluded=asked.in_excluded)
        return RouteChoice(swaps=asked.out_included, in_excluded=asked.out_excluded)

    def leg(
        self,
        order: StoredOrder,
        position: Position,
        key: str,
        amounts: tuple[Decimal, Decimal],
        second: tuple[str, str | None] | None,
    ) -> LegOrder:
        """What the venue is asked to open; ``second`` is where the next leg waits, if there is one.

        The money is on its way already, so the leg floats and waits as long as a second leg.
        """
        token_in, token_out = self.ends(order, position)
        if position == "back":
            payout: tuple[str, str | None] = (order.refund_address or "", order.refund_tag)
        else:
            payout = second or (order.receiver_address, order.receiver_tag)
        refund: tuple[str | None, str | None] = (None, None)
        if position == "in":
            refund = (order.refund_address, order.refund_tag)
        elif position == "out":
            refund = (intermediate_refund(order, token_in), None)
        return LegOrder(
            key=key,
            token_in=token_in,
            token_out=token_out,
            amount_in=amounts[0],
            amount_out=amounts[1],
            payout_address=payout[0],
            payout_tag=payout[1],
            refund_address=refund[0],
            refund_tag=refund[1],
            expires=order.expires + SECOND_LEG_PATIENCE,
            terms=replace(terms_of(order, position), fixed=False, receive=False),
        )

    def ends(self, order: StoredOrder, position: Position) -> tuple[Token, Token]:
        """The tokens a leg takes and pays."""
        token_in, token_out = self._token(order.token_in_id), self._token(order.token_out_id)
        if order.route == "standard":
            return token_in, token_out
        middle = self._token(order.middle_token_id)
        return {
            "in": (token_in, middle),
            "out": (middle, token_out),
            "back": (middle, token_in),
        }[position]

    def _token(self, token_id: str | None) -> Token:
        token = None if token_id is None else self._catalog.token(token_id)
        if token is None:
            raise LookupError(f"token {token_id} of an order is not in the catalogue")
        return token

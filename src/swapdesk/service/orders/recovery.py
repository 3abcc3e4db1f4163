"""Recovers a deposit if a venue gives up a leg after the deposit arrived (contract 8.13 to 8.15).

A floating order moves to another venue, which must not know both ends of a private order. Otherwise
the deposit is refunded, or an operator has to act. Every step is stored before it is taken and is
safe to repeat.
"""

from __future__ import annotations

import logging
from decimal import Decimal
from typing import Literal

from msgspec.structs import replace

from swapdesk.service.orders.order_routes import (
    SECOND_LEG_PATIENCE,
    Position,
    codes_of,
    intermediate_refund,
    leg_key,
    needing_refund_address,
    next_key,
    terms_of,
)
from swapdesk.service.orders.states import deposit_seen
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.quoting.routes import PricedRoute, rescaled
from swapdesk.service.room import Room, Shared
from swapdesk.service.store.records import EVERY_ROUTE, RouteChoice, StoredOrder
from swapdesk.service.venues.adapter import LegOrder, LegReport, Rejected, Transient
from swapdesk.wire.orders import LegStatus, OrderStatusCode
from swapdesk.wire.tokens import Token

log = logging.getLogger(__name__)


_UNDER_WAY = (
    OrderStatusCode.WAITING,
    OrderStatusCode.CONFIRMING,
    OrderStatusCode.EXCHANGING,
    OrderStatusCode.ANONYMIZING,
)
_MOVES = 4

_WRITTEN = ("move", "moveFrom", "moveKey", "moveIn", "moveOut")
"""Members of ``detail`` that describe a leg's move to another venue while it is under way."""


def given_up(
    order: StoredOrder, first: LegReport, second: LegReport | None
) -> Literal["in", "out"] | None:
    """Returns the leg, ``in`` or ``out``, whose venue has received money and will not swap it, if
    the money can be recovered; otherwise None. ``first`` and ``second`` are the legs' last
    reports."""
    if order.status not in _UNDER_WAY or order.detail.get("stranded") is True:
        return None
    if second is not None and second.status == LegStatus.FAILED and deposit_seen(second):
        returns = order.fixed and order.refund_address is not None
        return "out" if returns or (second.declined and not order.fixed) else None
    if first.status == LegStatus.FAILED and first.declined and deposit_seen(first):
        return "in"
    return None


def moving(order: StoredOrder) -> Position | None:
    position = order.detail.get("move")
    return position if position in ("in", "out", "back") else None  # type: ignore[return-value]


class Recovery(Room):
    """Recovers deposits that a venue received and will not swap. During each call, the worker must
    hold the order's lease."""

    def __init__(self, shared: Shared, routes: QuoteEngine) -> None:
        super().__init__(shared)
        self._routes = routes

    async def begin(
        self, order: StoredOrder, side: Literal["in", "out"], report: LegReport
    ) -> StoredOrder | None:
        """Begins the recovery of the deposit of the leg ``side``. Returns the order for the worker
        to commit, moved to another venue, or unchanged if the venue refunds the deposit instead.
        Returns None if neither is possible."""
        old = order.legs[_number(side)]
        held = report.amount_in or (order.amount_in if side == "in" else order.middle_amount)
        wanted = replace(
            order,
            detail={
                **order.detail,
                "moveFrom": old,
                "moveKey": leg_key(order, side),
                "moveIn": format(held or Decimal(0), "f"),
                "moves": ",".join([*codes_of(order, "moves"), old]),
            },
        )
        position: Position = "back" if order.fixed and side == "out" else side
        moved = None if order.fixed and side == "in" else await self._choose(wanted, position)
        return moved or await self._give_back(order, side)

    async def carry_on(self, order: StoredOrder) -> StoredOrder:
        """Takes one step of a leg's move to another venue; returns the order for the worker to
        commit. Raises VenueFailure if a venue does not answer; the step may be repeated later."""
        position = moving(order)
        if position is None:
            return order
        code = order.legs[_number(position)]
        if position == "back":
            code = str(order.detail["backCode"])
        taking, key = self._venues.asked(code), leg_key(order, position)
        place = await taking.find(key)
        if place is None:
            amounts = (_amount(order, "moveIn"), _amount(order, "moveOut"))
            second = await self._second_place(order) if position == "in" else None
            leg = self._leg(order, position, key, amounts, second)
            try:
                place = await taking.open(leg)
            except (Rejected, Transient) as refusal:
                log.info("order %s: %s does not take over: %s", order.service_id, code, refusal)
                return await self._without(order, position, code)
        giving = self._venues.asked(str(order.detail["moveFrom"]))
        await giving.send_on(str(order.detail["moveKey"]), place.address, place.tag)
        kept = {name: value for name, value in order.detail.items() if name not in _WRITTEN}
        return replace(order, detail=kept, modified=self._clock.now())

    async def _without(self, order: StoredOrder, position: Position, code: str) -> StoredOrder:
        tried = replace(
            order, detail={**order.detail, "moves": ",".join([*codes_of(order, "moves"), code])}
        )
        moved = await self._choose(tried, position)
        if moved is not None:
            return moved
        side: Literal["in", "out"] = "in" if position == "in" else "out"
        legs = list(order.legs)
        legs[_number(side)] = str(order.detail["moveFrom"])
        kept = {name: value for name, value in tried.detail.items() if name not in _WRITTEN}
        kept.pop("backCode", None)
        kept[f"{side}Key"] = str(order.detail["moveKey"])
        back = replace(tried, legs=tuple(legs), detail=kept, modified=self._clock.now())
        if await self._give_back(back, side) is None:
            kept["stranded"] = True
        return back

    async def _choose(self, order: StoredOrder, position: Position) -> StoredOrder | None:
        if len(codes_of(order, "moves")) > _MOVES:
            return None
        route = await self._best(order, position, _amount(order, "moveIn"))
        if route is None:
            return None
        code = route.legs[0]
        log.info("order %s: %s takes the %s leg over", order.service_id, code, position)
        detail: dict[str, str | bool | None] = {
            **order.detail,
            "move": position,
            "moveOut": format(route.amount_out, "f"),
            f"{position}Key": next_key(order, position),
        }
        now = self._clock.now()
        if position == "back":
            detail["backCode"] = code
            return replace(order, out_status=int(LegStatus.FAILED), detail=detail, modified=now)
        detail.setdefault("quotedInAmount", format(order.amount_in, "f"))
        detail.setdefault("quotedOutAmount", format(order.amount_out, "f"))
        detail["rerouted"] = True
        legs = list(order.legs)
        legs[_number(position)] = code
        changed = replace(order, legs=tuple(legs), detail=detail, modified=now)
        if position == "in" and order.route == "private":
            return changed
        usd = order.amount_out_usd
        if usd is not None and order.amount_out > 0:
            usd = rescaled(usd, route.amount_out, order.amount_out)
        return replace(changed, amount_out=route.amount_out, amount_out_usd=usd, payout_wallet=None)

    async def _best(
        self, order: StoredOrder, position: Position, amount: Decimal
    ) -> PricedRoute | None:
        shunned = {*codes_of(order, "moves"), *order.legs}
        if position != "in" or order.refund_address is None:
            shunned |= needing_refund_address(self._venues)
        choice = self._choice(order, position)
        shunned |= set(choice.in_excluded or ())
        token_in, token_out = self._ends(order, position)
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
        asked = order.choice
        if position == "back":
            return EVERY_ROUTE
        if order.route == "standard":
            return RouteChoice(swaps=asked.swaps)
        if position == "in":
            return RouteChoice(swaps=asked.in_included, in_excluded=asked.in_excluded)
        return RouteChoice(swaps=asked.out_included, in_excluded=asked.out_excluded)

    def _leg(
        self,
        order: StoredOrder,
        position: Position,
        key: str,
        amounts: tuple[Decimal, Decimal],
        second: tuple[str, str | None] | None,
    ) -> LegOrder:
        token_in, token_out = self._ends(order, position)
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

    def _ends(self, order: StoredOrder, position: Position) -> tuple[Token, Token]:
        token_in = self._catalog.token_of_order(order.token_in_id)
        token_out = self._catalog.token_of_order(order.token_out_id)
        if order.route == "standard":
            return token_in, token_out
        middle = self._catalog.token_of_order(order.middle_token_id)
        return {
            "in": (token_in, middle),
            "out": (middle, token_out),
            "back": (middle, token_in),
        }[position]

    async def _give_back(
        self, order: StoredOrder, side: Literal["in", "out"]
    ) -> StoredOrder | None:
        """Has the venue refund the deposit and returns the order unchanged. Returns None if the leg
        is the second, there is no refund address, or the venue refuses."""
        if side == "out" or order.refund_address is None:
            return None
        try:
            await self._venues.asked(order.legs[0]).send_on(
                leg_key(order, "in"), order.refund_address, order.refund_tag
            )
        except Rejected as refusal:
            log.warning("order %s: not sent back: %s", order.service_id, refusal)
            return None
        return order

    async def _second_place(self, order: StoredOrder) -> tuple[str, str | None] | None:
        if order.route == "standard":
            return None
        place = await self._venues.asked(order.legs[1]).find(leg_key(order, "out"))
        if place is None:
            raise Transient("the second leg is not known to its venue")
        return place.address, place.tag


def _number(position: Position) -> int:
    return 1 if position == "out" else 0


def _amount(order: StoredOrder, name: str) -> Decimal:
    return Decimal(str(order.detail[name]))

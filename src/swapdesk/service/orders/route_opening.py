"""Opens the legs of an order at its venues, for create requests and for the worker. A venue that is
asked twice with the same key opens only one deposit (contract 7.8)."""

from __future__ import annotations

import logging
from datetime import timedelta

from msgspec.structs import replace

from swapdesk.service.orders.draft import account_of
from swapdesk.service.orders.order_routes import (
    Position,
    codes_of,
    first_leg,
    needing_refund_address,
    only_leg,
    routes_with,
    second_leg,
)
from swapdesk.service.orders.states import centralized, moved
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.quoting.routes import in_usd
from swapdesk.service.room import Room, Shared
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.venues.adapter import (
    Ambiguous,
    DepositAddressesInUse,
    DepositInstruction,
    LegOrder,
    RateExpired,
    Rejected,
    Transient,
    VenueFailure,
)
from swapdesk.service.venues.registry import Deadlines
from swapdesk.wire.encoding.timestamps import rfc3339
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.orders import LegStatus, OrderStatusCode

log = logging.getLogger(__name__)

FALLBACK_SECONDS = 10.0
"""Seconds after which a create request tries no further venue and leaves the order to the
worker."""

CARRY_SECONDS = 24.0
"""Seconds after which a create request stops waiting for a deposit address and leaves the order to
the worker."""


class OpeningUnknown(Exception):
    """Raised if it is unknown whether a venue opened a leg. The venue's ``find``, called with the
    leg's key, can tell later."""


class _Refusal(Exception):
    def __init__(
        self,
        position: Position,
        code: str,
        failure: ErrorCode = ErrorCode.PROVIDER_EXCHANGE_FAILED,
    ) -> None:
        super().__init__(f"{code} refused the {position} leg")
        self.position = position
        self.code = code
        self.failure = failure
        """Error code with which a fixed order fails if its venue refuses; its route never
        changes."""


class Opening(Room):
    def __init__(self, shared: Shared, routes: QuoteEngine) -> None:
        super().__init__(shared)
        self.routes = routes
        self._deadlines = Deadlines(self._clock, CARRY_SECONDS)

    async def carry(self, order: StoredOrder, *, ask_first: bool) -> StoredOrder:
        """Opens an order's legs. Returns the order, which then awaits its deposit, has failed, or
        was changed by another worker. If ``ask_first`` is True, asks the venues first whether a leg
        was opened before. Raises OpeningUnknown, at the latest after CARRY_SECONDS."""
        try:
            return await self._deadlines.start(self._carry(order, ask_first))
        except TimeoutError:
            raise OpeningUnknown(f"not settled within {CARRY_SECONDS:g} s") from None

    async def _carry(self, order: StoredOrder, ask_first: bool) -> StoredOrder:
        if order.route == "dex":
            return await self._commit(order, self._ready(order))
        until = self._clock.monotonic() + FALLBACK_SECONDS
        while True:
            try:
                opened = await self._open_legs(order, ask_first=ask_first)
            except _Refusal as refusal:
                rerouted = (
                    None
                    if order.fixed
                    else await self._next_route(order, refusal.position, refusal.code)
                )
                code = refusal.failure if order.fixed else ErrorCode.PROVIDER_EXCHANGE_FAILED
            else:
                return await self._commit(order, self._waiting(order, *opened))
            if rerouted is None:
                return await self._commit(order, self._failed(order, code))
            if not await self._store.orders.advance(
                rerouted, expected_version=order.version, before=order.status
            ):
                return await self._current(order)
            order = replace(rerouted, version=order.version + 1)
            if self._clock.monotonic() >= until:
                raise OpeningUnknown("no time for another venue")
            ask_first = False

    async def _next_route(
        self, order: StoredOrder, position: Position, code: str
    ) -> StoredOrder | None:
        """Returns the order with its next best route after the venue ``code`` refused a leg; None
        if there is none."""
        refused = [*codes_of(order, "refusals"), f"{position}:{code}"]
        opened = codes_of(order, "openedInVain")
        if position == "in" and order.route == "private":
            opened = [*opened, order.legs[1]]
        if self._clock.now() >= order.expires:
            return None
        amount = order.amount("quotedInAmount") or order.amount_in
        wary = set() if order.refund_address is not None else needing_refund_address(self._venues)
        codes = [venue.provider.short_name for venue in self._venues]
        avoided = [*refused, *(f"in:{code}" for code in wary)]
        route = await self.routes.best_legs(
            self._catalog.token_of_order(order.token_in_id),
            self._catalog.token_of_order(order.token_out_id),
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
            status=int(OrderStatusCode.NEW),
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

    async def _open_legs(
        self, order: StoredOrder, *, ask_first: bool
    ) -> tuple[DepositInstruction, DepositInstruction | None]:
        """Opens all legs, beginning with the leg that pays the receiver. Returns the deposit
        instructions of the first and the second leg; the second is None on a standard route.
        ``ask_first`` is as in :meth:`carry`."""
        token_in = self._catalog.token_of_order(order.token_in_id)
        token_out = self._catalog.token_of_order(order.token_out_id)
        if order.route == "standard":
            leg = only_leg(order, token_in, token_out)
            return await self._open(order, "in", order.legs[0], leg, ask_first), None
        if order.middle_token_id is None or order.middle_amount is None:
            raise ValueError(f"private order {order.service_id} has no intermediary")
        middle = self._catalog.token_of_order(order.middle_token_id)
        leg = second_leg(order, middle, token_out)
        out = await self._open(order, "out", order.legs[1], leg, ask_first)
        leg = first_leg(order, token_in, middle, out)
        return await self._open(order, "in", order.legs[0], leg, ask_first), out

    async def _open(
        self,
        order: StoredOrder,
        position: Position,
        code: str,
        leg: LegOrder,
        ask_first: bool,
    ) -> DepositInstruction:
        venue = self._venues.by_code(code)
        if venue is None:
            if ask_first:
                raise OpeningUnknown(f"{code} is not configured, but may have opened {leg.key}")
            raise _Refusal(position, code)
        try:
            opened = await venue.find(leg.key) if ask_first else None
            if opened is not None:
                return opened
            if ask_first and self._clock.now() >= order.expires:
                raise Rejected("the time to deposit has passed")
        except VenueFailure as failure:
            if isinstance(failure, Rejected):
                raise _Refusal(position, code) from failure
            raise OpeningUnknown(f"{code} does not say: {failure}") from failure
        try:
            return await venue.open(leg)
        except DepositAddressesInUse as held:
            log.info("order %s: %s has no free address for %s", order.service_id, code, leg.key)
            raise _Refusal(position, code, ErrorCode.STATIC_DEPOSIT_IN_USE) from held
        except RateExpired as ended:
            log.info("order %s: the rate of %s for %s has ended", order.service_id, code, leg.key)
            raise _Refusal(position, code, ErrorCode.FIXED_RATE_QUOTE_EXPIRED) from ended
        except (Rejected, Transient) as failure:
            log.info("order %s: %s refused %s: %s", order.service_id, code, leg.key, failure)
            raise _Refusal(position, code) from failure
        except Ambiguous as failure:
            log.warning("order %s: %s left %s open", order.service_id, code, leg.key)
            raise OpeningUnknown(str(failure)) from failure

    def _waiting(
        self, order: StoredOrder, pay: DepositInstruction, second: DepositInstruction | None
    ) -> StoredOrder:
        now = self._clock.now()
        detail = {**order.detail, "inCreated": rfc3339(now)}
        if codes_of(order, "refusals"):
            detail["rerouted"] = True
        if second is not None:
            detail["outCreated"] = rfc3339(now)
        amount_out = pay.amount_out if second is None else second.amount_out
        token_in = self._catalog.token_of_order(order.token_in_id)
        token_out = self._catalog.token_of_order(order.token_out_id)
        return replace(
            moved(order, OrderStatusCode.WAITING, order.in_status, order.out_status, now),
            in_status=int(LegStatus.WAITING),
            out_status=None if second is None else int(LegStatus.WAITING),
            deposit_address=pay.address,
            deposit_tag=pay.tag,
            deposit_account=account_of(pay.address, token_in),
            amount_in=pay.amount_in,
            amount_out=amount_out,
            amount_in_usd=in_usd(token_in, pay.amount_in),
            amount_out_usd=in_usd(token_out, amount_out),
            # Nobody can have paid to an address before it is told.
            due_at=now + timedelta(seconds=self._venues.pace(order.legs[0])),
            detail=detail,
        )

    def _ready(self, order: StoredOrder) -> StoredOrder:
        now = self._clock.now()
        return replace(
            moved(order, OrderStatusCode.WAITING, order.in_status, order.out_status, now),
            in_status=int(LegStatus.WAITING),
            due_at=now,
            detail={**order.detail, "inCreated": rfc3339(now)},
        )

    def _failed(self, order: StoredOrder, code: ErrorCode) -> StoredOrder:
        now = self._clock.now()
        return replace(
            moved(order, OrderStatusCode.FAILED, order.in_status, order.out_status, now),
            amount_in=order.amount("quotedInAmount") or order.amount_in,
            amount_out=order.amount("quotedOutAmount") or order.amount_out,
            in_status=int(LegStatus.FAILED),
            failure_code=code.value,
            due_at=None,
        )

    async def _commit(self, order: StoredOrder, changed: StoredOrder) -> StoredOrder:
        if await self._store.orders.advance(
            changed, expected_version=order.version, before=order.status
        ):
            return replace(changed, version=order.version + 1)
        return await self._current(order)

    async def _current(self, order: StoredOrder) -> StoredOrder:
        current = await self._store.orders.current(order.service_id)
        if current is None:
            raise LookupError(f"order {order.service_id} is not in the store")
        return current

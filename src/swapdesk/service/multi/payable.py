"""Which orders of a group await a deposit, and what each deposit is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from swapdesk.clock import Clock
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.store.protocol import Store
from swapdesk.service.store.records import StoredGroup, StoredOrder
from swapdesk.wire.encoding.numbers import to_base_units
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.orders import OrderStatusCode
from swapdesk.wire.tokens import Token

_SET_UP_SECONDS = 8.0
_LOOK_SECONDS = 0.1


class PayableOrders:
    """Finds the orders that a bundle, or a transaction, is to pay."""

    def __init__(self, store: Store, catalog: ServiceCatalog, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock

    async def find(
        self, group: StoredGroup, wanted: Sequence[str] | None, claimed: Collection[str] = ()
    ) -> list[StoredOrder]:
        """In the order of the group. ``claimed`` are paid by an earlier bundle.

        Without ``wanted`` all that await a deposit; orders still being set up are waited for, a
        few seconds. Raises ALREADY_SUBMITTED for claimed ones, VALIDATION_ERROR on
        ``serviceIds`` for others that cannot be paid, and when none can.
        """
        orders = await self._set_up(group)
        now = self._clock.now()
        if wanted is None:
            open_now = [each for each in orders if _reason(each, now) is None]
            found = [each for each in open_now if each.service_id not in claimed]
            if not found and open_now:
                raise already_submitted()
            if not found:
                raise invalid("serviceIds", "no order of this group awaits a deposit")
        else:
            found = self._chosen(orders, wanted, claimed, now)
        for each in found:
            token = self.token(each)
            if not token.has_bundler:
                raise invalid(
                    "serviceIds", f"{token.symbol} cannot be paid by a bundle", each.service_id
                )
        return found

    def _chosen(
        self,
        orders: list[StoredOrder],
        wanted: Sequence[str],
        claimed: Collection[str],
        now: datetime,
    ) -> list[StoredOrder]:
        known = {each.service_id: each for each in orders}
        for service_id in wanted:
            if service_id not in known:
                raise invalid("serviceIds", "is no order of this group", service_id)
        if any(service_id in claimed for service_id in wanted):
            raise already_submitted()
        for service_id in wanted:
            reason = _reason(known[service_id], now)
            if reason is not None:
                raise invalid("serviceIds", reason, service_id)
        return [each for each in orders if each.service_id in set(wanted)]

    async def _set_up(self, group: StoredGroup) -> list[StoredOrder]:
        until = self._clock.monotonic() + _SET_UP_SECONDS
        while True:
            orders = await self._store.orders_of_group(group.partner_id, group.multi_id)
            waiting = any(each.status < OrderStatusCode.WAITING for each in orders)
            if not waiting or self._clock.monotonic() >= until:
                return orders
            await self._clock.sleep(_LOOK_SECONDS)

    def token(self, order: StoredOrder) -> Token:
        """What an order sells."""
        token = self._catalog.token(order.token_in_id)
        if token is None:
            raise LookupError(f"token {order.token_in_id} of an order is not in the catalogue")
        return token

    def units(self, order: StoredOrder) -> int:
        """What its deposit is, in the token's smallest unit."""
        return to_base_units(order.amount_in, self.token(order).decimals)


def _reason(order: StoredOrder, now: datetime) -> str | None:
    """Why an order cannot be paid now."""
    if order.status < OrderStatusCode.WAITING:
        return "is still being set up"
    if order.status != OrderStatusCode.WAITING or order.deposit_address is None:
        return "awaits no deposit"
    if order.expires <= now:
        return "has expired"
    return None


def already_submitted() -> ServiceError:
    return ServiceError(
        ErrorCode.ALREADY_SUBMITTED,
        "These orders are paid by a bundle that was submitted already. Look at its status.",
    )

"""Which transaction pays an order on chains: the one its partner tells of, or one that is found.

It counts only if the chain knows it and it is the order's to the last byte (``sightings``;
contract 10.12).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from swapdesk.clock import Clock
from swapdesk.service.access import Caller
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.dex.dex_mapping import (
    BY_VENUE,
    CONFIRMED,
    CONFIRMED_HASH,
    SOUGHT,
    SOURCE_CHAIN,
    Detail,
    execution_of,
)
from swapdesk.service.dex.transaction_check import Foreign, Sightings, asked
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.orders.presentation import visible
from swapdesk.service.store.protocol import Store
from swapdesk.service.store.records import StoredOrder
from swapdesk.wire.dex import ConfirmTransactionRequest
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.orders import OrderStatusCode

_TRIES = 5


class Confirmations:
    """``sightings`` are the chains by short name."""

    def __init__(
        self,
        store: Store,
        catalog: ServiceCatalog,
        sightings: Mapping[str, Sightings],
        clock: Clock,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._sightings = sightings
        self._clock = clock

    async def confirm(self, caller: Caller, request: ConfirmTransactionRequest) -> bool:
        """Take note that the order's transaction was sent, or that its venue may settle it.

        False: the chain does not know the transaction (yet). Raises NOT_FOUND, BAD_REQUEST
        without a hash, ALREADY_SUBMITTED for another hash, VALIDATION_ERROR for a transaction
        that is not the order's, INVALID_SWAP for an order that has ended.
        """
        for _ in range(_TRIES):
            order = await self._found(caller, request.id)
            if order.detail.get(BY_VENUE) is True:
                noted = _confirmed_without_hash(order, request)
            else:
                noted = await self._confirmed_by_hash(order, request)
            if isinstance(noted, bool):
                return noted
            now = self._clock.now()
            changed = replace(order, detail=order.detail | noted, modified=now, due_at=now)
            if await self._store.advance_order(changed, expected_version=order.version):
                return True
        raise ServiceError(
            ErrorCode.SERVICE_UNAVAILABLE, "The order changes at this moment. Try again."
        )

    async def _found(self, caller: Caller, service_id: str) -> StoredOrder:
        order = await self._store.get_order(caller.partner.partner_id, service_id)
        if order is None or not visible(order.created, self._clock.now()):
            raise ServiceError(ErrorCode.NOT_FOUND, "There is no such order.")
        if order.route != "dex":
            raise invalid("id", "is no DEX order: its deposit is seen without this", service_id)
        return order

    async def _confirmed_by_hash(
        self, order: StoredOrder, request: ConfirmTransactionRequest
    ) -> Detail | bool:
        """What to note; True when it is noted already, False when the chain knows nothing."""
        if request.tx_hash is None:
            raise ServiceError(
                ErrorCode.BAD_REQUEST, "txHash is required: this order is settled on a chain."
            )
        chain = str(order.detail[SOURCE_CHAIN])
        sightings = self._sightings[chain]
        sent = sightings.spelled(request.tx_hash)
        if sent is None:
            raise invalid("txHash", "is no transaction hash of this chain", request.tx_hash)
        known = order.detail.get(CONFIRMED_HASH)
        if known is not None:
            return _same(known == sent)
        _require_open(order)
        try:
            if not await asked(sightings.knows(order, sent)):
                return False
        except Foreign:
            reason = "is not the transaction of this order"
            raise invalid("txHash", reason, request.tx_hash) from None
        other = await self._store.order_of_transaction(chain, sent)
        if other is not None and other != order.service_id:
            raise invalid("txHash", "was confirmed for another order", request.tx_hash)
        return {CONFIRMED: True, CONFIRMED_HASH: sent}

    async def sought(self, order: StoredOrder) -> dict[str, str]:
        """What is to be noted of a transaction that nobody told of: executed is executed.

        It is looked for when the call cannot be executed any more, and once more before the
        order expires."""
        if CONFIRMED_HASH in order.detail or order.detail.get(BY_VENUE) is True:
            return {}
        execution = execution_of(order, self._catalog, self._clock.now())
        if order.status != OrderStatusCode.WAITING or execution.now < execution.deadline:
            return {}
        moment = "expiry" if execution.now >= order.expires else "deadline"
        if order.detail.get(SOUGHT) == moment:
            return {}
        chain = str(order.detail[SOURCE_CHAIN])
        sightings, deal = self._sightings[chain], execution.deal
        for sent in await sightings.sought(order, deal.token_in, deal.token_out):
            if await self._belongs(order, chain, sent):
                return {CONFIRMED_HASH: sent}
        return {SOUGHT: moment}

    async def _belongs(self, order: StoredOrder, chain: str, sent: str) -> bool:
        try:
            known = await self._sightings[chain].knows(order, sent)
        except Foreign:
            return False
        return known and await self._store.order_of_transaction(chain, sent) in (
            None,
            order.service_id,
        )


def _confirmed_without_hash(
    order: StoredOrder, request: ConfirmTransactionRequest
) -> Detail | bool:
    if request.tx_hash is not None:
        raise invalid("txHash", "belongs to no order that its venue settles", request.tx_hash)
    if order.detail.get(CONFIRMED) is True:
        return True
    if order.status != OrderStatusCode.WAITING:
        raise _ended()
    return {CONFIRMED: True}


def _same(is_known: bool) -> bool:
    if not is_known:
        raise ServiceError(
            ErrorCode.ALREADY_SUBMITTED, "This order was confirmed with another transaction."
        )
    return True


def _require_open(order: StoredOrder) -> None:
    """One that expired unconfirmed may still have been paid in time: it gets its hash."""
    if order.status not in (OrderStatusCode.WAITING, OrderStatusCode.EXPIRED):
        raise _ended()


def _ended() -> ServiceError:
    return ServiceError(ErrorCode.INVALID_SWAP, "This order can no longer be confirmed.")

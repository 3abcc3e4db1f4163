"""Groups of orders: created in one commit, opened by the worker, shown to their owner alone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace

from swapdesk.clock import Clock
from swapdesk.service.access import Caller
from swapdesk.service.catalog import Catalog
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.multi.asking import Accepted, OrderAsking, drafted
from swapdesk.service.multi.filters import check_filters
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.service.orders.window import visible
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.store.bundles import StoredGroup
from swapdesk.service.store.protocol import Store
from swapdesk.service.store.records import StoredOrder, StoredQuote
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.encoding.ids import new_order_id
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.multi import (
    MultiExchange,
    MultiExchangeRequest,
    MultiExchangeStatus,
    MultiOrderError,
    MultiOrderRequest,
    MultiOrderResult,
)
from swapdesk.wire.orders import Order, OrderStatus
from swapdesk.wire.tokens import Token

_PRICED_AT_ONCE = 25
"""Orders; more would only wait for the same venues."""

_NO_WALLET = "Every payout wallet in reach of the best price was used lately."


class GroupDesk:
    """Everything about groups but their funding. One per process."""

    def __init__(
        self,
        store: Store,
        catalog: Catalog,
        venues: Venues,
        engine: QuoteEngine,
        desk: OrderDesk,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._venues = venues
        self._desk = desk
        self._clock = clock
        self._rng = rng
        self._asking = OrderAsking(venues, engine)

    async def create(
        self,
        caller: Caller,
        request: MultiExchangeRequest,
        admit: Callable[[], Awaitable[None]] | None = None,
    ) -> MultiExchange:
        """A group of the orders that can be carried out, and the errors of the others.

        ``admit`` is asked once, before anything is written down, when at least one order will be
        created. Raises ServiceError for what is wrong with the group: VALIDATION_ERROR (orders
        on several chains, filters), TOKEN_NOT_FOUND, TOKEN_DISABLED, FIXED_RATE_NOT_ALLOWED.
        """
        if any(order.fixed for order in request.orders) and not caller.partner.fixed_rates:
            raise ServiceError(ErrorCode.FIXED_RATE_NOT_ALLOWED, "This account has no fixed rates.")
        check_filters(request.filters, self._venues)
        pairs = [self._tokens(number, order) for number, order in enumerate(request.orders)]
        chain = _one_chain([token_in for token_in, _ in pairs])
        places = asyncio.Semaphore(_PRICED_AT_ONCE)

        async def accepted(number: int) -> Accepted | ServiceError:
            order, (token_in, token_out) = request.orders[number], pairs[number]
            async with places:
                try:
                    return await self._asking.accept(
                        caller, order, request.filters, token_in, token_out
                    )
                except ServiceError as error:
                    return error

        found = await asyncio.gather(*map(accepted, range(len(pairs))))
        if admit is not None and any(isinstance(one, Accepted) for one in found):
            await admit()
        return await self._begin(caller, chain, list(found))

    def _tokens(self, number: int, order: MultiOrderRequest) -> tuple[Token, Token]:
        return (
            self._catalog.enabled_token(order.from_, f"orders.{number}.from"),
            self._catalog.enabled_token(order.to, f"orders.{number}.to"),
        )

    async def _begin(
        self, caller: Caller, chain: str, found: list[Accepted | ServiceError]
    ) -> MultiExchange:
        # One at a time: two orders begun at once would both find the same wallet unused.
        async with self._desk.choosing:
            found = await self._with_wallets(found)
            now = self._clock.now()
            # Drawn for this group, so that a generator that starts over repeats no id.
            rng = random.Random(f"{self._rng.getrandbits(128)} multi {now}")
            multi_id = new_order_id(rng)
            rows: list[StoredOrder | ServiceError] = [
                drafted(one, multi_id, now, rng) if isinstance(one, Accepted) else one
                for one in found
            ]
            group = StoredGroup(multi_id, caller.partner.partner_id, now, chain)
            orders = [row for row in rows if isinstance(row, StoredOrder)]
            await self._store.begin_group(group, orders)
        return MultiExchange(multi_id=multi_id, orders=[self._told(row) for row in rows])

    async def _with_wallets(
        self, found: list[Accepted | ServiceError]
    ) -> list[Accepted | ServiceError]:
        """Each order with a hot wallet that no other of the group is paid from, where rotation
        was asked for."""
        chosen: list[Accepted | ServiceError] = []
        taken: set[tuple[str, int]] = set()
        for one in found:
            if not isinstance(one, Accepted) or one.quote.payout_wallet is None:
                chosen.append(one)
                continue
            renewed = await self._renewed(one, taken)
            if renewed is None:
                chosen.append(ServiceError(ErrorCode.INVALID_SWAP, _NO_WALLET))
                continue
            taken.add((renewed.legs[-1], renewed.payout_wallet or 0))
            chosen.append(replace(one, quotes=(renewed,)))
        return chosen

    async def _renewed(self, one: Accepted, taken: set[tuple[str, int]]) -> StoredQuote | None:
        for quote in one.quotes:
            renewed = await self._desk.rotation.renewed(quote, taken)
            if renewed is not None:
                return renewed
        return None

    def _told(self, row: StoredOrder | ServiceError) -> MultiOrderResult:
        if isinstance(row, StoredOrder):
            return MultiOrderResult(order=self._desk.presentation.order(row, fresh=True))
        error = MultiOrderError(message=row.message, code=row.code, fields=row.fields)
        return MultiOrderResult(error=error)

    async def found(self, caller: Caller, multi_id: str) -> StoredGroup:
        """A group of the caller. Raises NOT_FOUND alike for unknown, foreign and too old."""
        group = await self._store.get_group(caller.partner.partner_id, multi_id)
        if group is None or not visible(group.created, self._clock.now()):
            raise ServiceError(ErrorCode.NOT_FOUND, "There is no such group of orders.")
        return group

    async def status(self, caller: Caller, multi_id: str) -> MultiExchangeStatus:
        """Every order of a group and its newest bundle. Raises NOT_FOUND."""
        group = await self.found(caller, multi_id)
        orders = await self._store.orders_of_group(group.partner_id, group.multi_id)
        bundles = await self._store.bundles_of_group(group.partner_id, group.multi_id)
        told = [self._shown(row) for row in orders]
        if not bundles:
            return MultiExchangeStatus(multi_id=multi_id, orders=told)
        newest = bundles[0]
        return MultiExchangeStatus(
            multi_id=multi_id,
            orders=told,
            bundle_status=newest.state,
            tx_hash=newest.tx_hash,
            failure_reason=newest.failure_reason if newest.state == "failed" else None,
        )

    def _shown(self, row: StoredOrder) -> Order:
        if row.status == OrderStatus.DELETED:
            return Order(service_id=row.service_id, status=row.status)
        return self._desk.presentation.order(row)


def _one_chain(sold: list[Token]) -> str:
    chains = list(dict.fromkeys(token.chain_data.short_name for token in sold))
    if len(chains) > 1:
        raise invalid(
            "orders",
            f"all orders of a group sell on one chain; these sell on {', '.join(chains)}",
        )
    return chains[0]

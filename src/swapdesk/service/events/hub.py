"""The hub: reads the outbox in commit order and tells every connection that watches.

It passes on ids only. Each connection reads the order when it sends, so what a slow reader
gets is the latest state, and what is kept for it is bounded by the orders it watches.
"""

from __future__ import annotations

import logging
from typing import Protocol

from swapdesk.clock import Clock
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.service.store.protocol import Store, StoreUnavailable
from swapdesk.service.store.records import StoredOrder

log = logging.getLogger(__name__)

_ROWS_AT_ONCE = 500
_RETRY_SECONDS = 0.5


class Subscriber(Protocol):
    """One connection, as the hub sees it."""

    @property
    def partner_id(self) -> str: ...

    def offer(self, service_id: str) -> None:
        """An order of the partner changed; ignored unless it is watched."""
        ...

    def end(self) -> None:
        """The service shuts down."""
        ...


class Hub:
    """One per process. ``run`` until cancelled, which ends every connection with 1001."""

    def __init__(self, store: Store, desk: OrderDesk, clock: Clock) -> None:
        self._store = store
        self._desk = desk
        self._clock = clock
        self._subscribers: dict[str, set[Subscriber]] = {}
        self.delivered: int | None = None
        """The newest sequence every subscriber was told of; None before the first look."""

    async def run(self) -> None:
        """Deliver what is committed from now on; a store that does not answer is asked again."""
        self.delivered = None
        try:
            while True:
                try:
                    if self.delivered is None:
                        self.delivered = await self._store.last_outbox()
                    await self._store.outbox_beyond(self.delivered)
                    self.delivered = await self.deliver(self.delivered)
                except StoreUnavailable as unavailable:
                    log.error("hub: the store does not answer: %s", unavailable)
                    await self._clock.sleep(_RETRY_SECONDS)
        finally:
            # Whoever is left would wait for updates that nobody delivers any more.
            self.close()

    async def deliver(self, after: int) -> int:
        """Tell the subscribers every change after a sequence; returns the newest sequence."""
        while rows := await self._store.read_outbox(after, _ROWS_AT_ONCE):
            for row in rows:
                for subscriber in self._subscribers.get(row.partner_id, ()):
                    subscriber.offer(row.service_id)
            after = rows[-1].sequence
        return after

    def join(self, subscriber: Subscriber) -> None:
        self._subscribers.setdefault(subscriber.partner_id, set()).add(subscriber)

    def leave(self, subscriber: Subscriber) -> None:
        group = self._subscribers.get(subscriber.partner_id, set())
        group.discard(subscriber)
        if not group:
            self._subscribers.pop(subscriber.partner_id, None)

    @property
    def connections(self) -> int:
        return sum(map(len, self._subscribers.values()))

    def close(self) -> None:
        """Ask every connection to end with 1001."""
        for group in tuple(self._subscribers.values()):
            for subscriber in tuple(group):
                subscriber.end()

    async def find(self, partner_id: str, service_id: str) -> StoredOrder | None:
        """The order, if the partner may see it now."""
        return await self._desk.find(partner_id, service_id)

    def frame(self, order: StoredOrder) -> str:
        """The ``order_update`` of an order; ``data`` is the object of ``GET /orders/{id}``.

        Only the owner may ever ask for it.
        """
        data = self._desk.presentation.encoded(order).decode()
        return f'{{"type":"order_update","data":{data}}}'

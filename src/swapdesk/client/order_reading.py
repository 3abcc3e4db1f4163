"""Asking for orders: the list of the last 48 hours and the watched ones beside it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import (
    AccessError,
    ApiError,
    ClientError,
    NoAnswer,
    NotFound,
    RateLimited,
    ServiceFailed,
    Unreachable,
)
from swapdesk.client.stream_events import (
    OrderMissing,
    OrderSeen,
    OrdersListed,
    Source,
    StreamEvent,
)
from swapdesk.clock import Clock
from swapdesk.wire.encoding.timestamps import LONGEST_HOLD
from swapdesk.wire.orders import OrderQuery, OrderSort
from swapdesk.wire.quotes import SortOrder

log = logging.getLogger(__name__)

PAGE_SIZE = 100
MAX_PAGES = 100


class OrderReading:
    """Reads through ``api`` and hands every sighting to ``tell``, one reading at a time.

    With read-only credentials there is no list, and only watched orders are read.
    """

    def __init__(
        self,
        api: PartnerApi,
        clock: Clock,
        tell: Callable[[StreamEvent], Awaitable[None]],
    ) -> None:
        self.answered: float | None = None
        """Monotonic seconds of the newest answer."""
        self._api = api
        self._clock = clock
        self._tell = tell
        self._watched: dict[str, None] = {}
        self._held_until = 0.0
        self._told_to_wait: ApiError | None = None
        self._one_at_a_time = asyncio.Lock()

    def watch(self, ids: Iterable[str]) -> bool:
        """Read these too; whether any of them is new."""
        before = len(self._watched)
        self._watched.update(dict.fromkeys(ids))
        return len(self._watched) > before

    def unwatch(self, ids: Iterable[str]) -> None:
        for service_id in ids:
            self._watched.pop(service_id, None)

    async def read(self, source: Source) -> None:
        """All orders of the window and every watched one that is not among them.

        A service that said when it wants to be asked again is not asked before, by whichever loop:
        until then the reading fails as it did.
        """
        async with self._one_at_a_time:
            left = self._held_until - self._clock.monotonic()
            if self._told_to_wait is not None and left > 0:
                raise self._told_to_wait.again(left)
            try:
                seen = await self._list(source) if self._api.credentials.writes else set()
                for service_id in [known for known in self._watched if known not in seen]:
                    await self._one(service_id, source)
            except ApiError as error:
                self._told_to_wait = error
                wait = min(error.retry_after or 0.0, LONGEST_HOLD)
                self._held_until = self._clock.monotonic() + wait
                raise

    async def _list(self, source: Source) -> set[str]:
        seen: set[str] = set()
        skipped = 0
        for page in range(1, MAX_PAGES + 1):
            # By last update: what moves while pages are read moves forward, never away.
            query = OrderQuery(
                page=page,
                page_size=PAGE_SIZE,
                sort_by=OrderSort.UPDATED,
                sort_order=SortOrder.DESC,
            )
            found = await self._api.list_orders(query)
            self.answered = self._clock.monotonic()
            skipped += found.skipped
            for order in found.orders:
                seen.add(order.service_id)
                await self._tell(OrderSeen(order, source))
            if found.empty or page >= found.total_pages:
                break
        await self._tell(OrdersListed(skipped))
        return seen

    async def _one(self, service_id: str, source: Source) -> None:
        try:
            order = await self._api.get_order(service_id)
        except NotFound:
            self.answered = self._clock.monotonic()
            await self._tell(OrderMissing(service_id, self._clock.now()))
        except (Unreachable, NoAnswer, ServiceFailed, RateLimited, AccessError):
            raise
        except ClientError as error:
            # One order that cannot be read does not keep the others from being read.
            log.warning("order %s: %s", service_id, error)
        else:
            self.answered = self._clock.monotonic()
            await self._tell(OrderSeen(order, source))

"""One order of one desk, created and followed over a socket; and a tracker that follows nothing."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

import manual_time
from flows.orders import NOW
from swapdesk.client.api import PartnerApi
from swapdesk.client.live import OrderStream, StreamState
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import Source
from swapdesk.flows.journal.order_merge import display_of
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.tracking.self_paid_orders import BatchPayments
from swapdesk.flows.tracking.tracking import Tracker
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order
from world import FIRST_KEY, URL, World


class Followed(Struct):
    trade: World
    tracker: Tracker
    order_id: str

    @property
    def journal(self) -> Path:
        return self.trade.directory / "desk" / "journal.db"

    def tracked(self, service_id: str) -> TrackedOrder:
        return self.tracker.get(service_id)

    @property
    def order(self) -> TrackedOrder:
        return self.tracked(self.order_id)

    @property
    def display(self) -> str | None:
        return display_of(self.order.order)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let time pass until ``condition`` holds."""
        await manual_time.until(
            self.trade.clock, condition, lambda: (self.order, self.tracker.stream_state)
        )

    async def shows(self, display: DisplayStatus) -> None:
        await self.until(lambda: self.display == display)

    def venue(self, status: LegStatus) -> None:
        self.trade.venue.move(f"{self.order_id}:in", status)


@asynccontextmanager
async def following(trade: World) -> AsyncIterator[Followed]:
    """The order's stream is live."""
    async with trade.served(works=True) as url:
        trade.api = trade.new_api(url=url)
        created = await trade.created()
        stream = OrderStream(None, FIRST_KEY, trade.clock, trade.api, random.Random(2))
        tracker = Tracker(trade.journal, trade.api, trade.clock, stream)
        await tracker.load_past()
        task = asyncio.create_task(tracker.run())
        followed = Followed(trade, tracker, created.order.service_id)
        await followed.until(lambda: tracker.stream_state is StreamState.LIVE)
        try:
            yield followed
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await trade.api.aclose()


def tracker_of(
    journal: Journal,
    clock: ManualClock | None = None,
    *,
    batch_payments: BatchPayments | None = None,
    loaded: bool = True,
) -> Tracker:
    """The orders of a journal as a desk that starts now knows them. Nobody is asked."""
    clock = clock or ManualClock(NOW)
    api = PartnerApi(URL, FIRST_KEY, clock=clock)
    stream = OrderStream(None, FIRST_KEY, clock, api, random.Random(2))
    tracker = Tracker(journal, api, clock, stream, batch_payments=batch_payments)
    if loaded:
        tracker.load_newest()
    return tracker


def sighted(tracker: Tracker, seen: Order, source: Source = "stream") -> TrackedOrder:
    """An order after one more sighting; of an end also before the journal has it."""
    tracker._apply(seen, source)
    return tracker._newest(seen.service_id)


def announced(tracker: Tracker) -> list[str | None]:
    """The orders that a look at their payments tells of."""
    told: asyncio.Queue[str | None] = asyncio.Queue()
    tracker._listeners.append(told)
    tracker.look_at_payments()
    return [told.get_nowait() for _ in range(told.qsize())]

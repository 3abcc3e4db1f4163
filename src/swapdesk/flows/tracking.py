"""Every order this desk knows, followed live and remembered for longer than the service does.

States from the stream, from polling and from the journal are folded forward only, committed
to the journal and then announced. A terminal state seen on the stream counts as confirmed
only after REST repeats it. An order is never given up because of a fault of our own network.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from dataclasses import replace
from datetime import datetime

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ClientError, NotFound
from swapdesk.client.live import OrderStream
from swapdesk.client.stream_events import (
    Gap,
    OrderMissing,
    OrderSeen,
    StateChanged,
    StreamEvent,
    StreamState,
)
from swapdesk.client.stream_events import Source as Sighting
from swapdesk.clock import Clock
from swapdesk.flows.exchange import ExchangeFlow
from swapdesk.flows.folding import contradicts, display_of, ended, fold
from swapdesk.flows.intent import Intent
from swapdesk.flows.journal import Journal
from swapdesk.flows.journal_file import JournalUnavailable
from swapdesk.flows.journal_records import JournaledOrder, Source
from swapdesk.flows.order_state import short_id
from swapdesk.flows.standing import FOREIGN, Standing, contradiction
from swapdesk.flows.tracked_order import TrackedOrder
from swapdesk.wire.orders import Order, OrderQuery

log = logging.getLogger(__name__)

MAX_PAGES = 100

FLUSH_SECONDS = 0.05
"""States that arrive within this time become one commit and one announcement."""


class Tracker:
    """Call :meth:`load` at the start, :meth:`run` in a task, and read :meth:`orders`."""

    def __init__(
        self,
        journal: Journal,
        api: PartnerApi,
        clock: Clock,
        stream: OrderStream,
        *,
        flush_seconds: float = FLUSH_SECONDS,
        flow: ExchangeFlow | None = None,
    ) -> None:
        self._journal = journal
        self._api = api
        self._clock = clock
        self._stream = stream
        self._flush_seconds = flush_seconds
        self._flow = flow
        self._known: dict[str, TrackedOrder] = {}
        self._pending: dict[str, tuple[Order, Source, bool]] = {}
        self._flush: asyncio.Task[None] | None = None
        self._asking: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._listeners: list[asyncio.Queue[str | None]] = []
        self.stream_since: datetime = clock.now()

    def load(self) -> None:
        """Take what the journal knows."""
        for entry in self._journal.orders.all():
            self._known[entry.order.service_id] = self._tracked(entry)

    def orders(self) -> list[TrackedOrder]:
        """Open orders with the nearest deadline first, then ended ones, newest first."""
        late = datetime.max.replace(tzinfo=self._clock.now().tzinfo)
        early = datetime.min.replace(tzinfo=self._clock.now().tzinfo)
        running = [o for o in self._known.values() if not ended(display_of(o.order))]
        over = [o for o in self._known.values() if ended(display_of(o.order))]
        running.sort(key=lambda o: (o.order.expires or late, o.service_id))
        over.sort(key=lambda o: (o.order.created or early, o.service_id), reverse=True)
        return running + over

    def get(self, service_id: str) -> TrackedOrder | None:
        return self._known.get(service_id)

    @property
    def stream_state(self) -> StreamState:
        """How the desk is told of changes right now."""
        return self._stream.state

    def stream_age(self) -> float:
        """Seconds since the last message or answer."""
        return self._stream.age()

    @property
    def open_count(self) -> int:
        return sum(not ended(display_of(o.order)) for o in self._known.values())

    def adopt(self, service_id: str) -> TrackedOrder | None:
        """Take an order the journal has just recorded, as a create does, and announce it."""
        entry = self._journal.orders.get(service_id)
        before = self._known.get(service_id)
        if entry is None:
            return before
        if before is not None:
            # What the create verified is the base; what the stream said comes on top of it.
            reason = contradicts(entry.order, before.order)
            if reason is not None:
                entry = replace(
                    entry,
                    verdict=self._journal.orders.settle(service_id, contradiction(reason)),
                )
            merged = fold(entry.order, before.order) or entry.order
            entry = replace(entry, order=merged, ended=before.ended or entry.ended)
            if service_id in self._pending:
                self._pending[service_id] = (merged, before.source, entry.ended)
        tracked = replace(self._tracked(entry), source="create")
        self._known[service_id] = tracked
        self._announce(service_id)
        return tracked

    async def read(self, service_id: str) -> TrackedOrder | None:
        """Ask the service for one order now. Raises ClientError; 404 keeps what is known."""
        try:
            order = await self._api.get_order(service_id)
        except NotFound:
            if service_id in self._known:
                return self._known[service_id]
            raise
        self._apply(order, "read")
        await self._commit()
        return self._known[service_id]

    async def sweep(self) -> None:
        """Read every order the service lists now. Raises ClientError."""
        for page in range(1, MAX_PAGES + 1):
            answer = await self._api.list_orders(OrderQuery(page=page))
            for order in answer.orders:
                self._apply(order, "list")
            if page >= answer.total_pages or answer.empty:
                break
        await self._commit()

    async def run(self) -> None:
        """Follow the stream until cancelled."""
        self._stream.watch(
            known.service_id
            for known in self._known.values()
            if not known.ended and not known.archived(self._clock.now())
        )
        try:
            async with self._stream as events:
                async for event in events:
                    self._take(event)
        finally:
            for task in (*self._tasks, *([self._flush] if self._flush else [])):
                task.cancel()

    def _take(self, event: StreamEvent) -> None:
        if isinstance(event, OrderSeen):
            self._apply(event.order, "stream" if event.source is Sighting.STREAM else "list")
            self._schedule_flush()
        elif isinstance(event, OrderMissing):
            # A 404 within 48 hours is not the end of an order; later the service forgets it.
            known = self._known.get(event.service_id)
            if known is not None and known.archived(self._clock.now()):
                self._stream.unwatch([event.service_id])
        elif isinstance(event, StateChanged):
            self.stream_since = event.since
            self._announce(None)
        elif isinstance(event, Gap):
            log.info("order stream resumed after a gap: %s", event.reason)

    async def changes(self) -> AsyncGenerator[frozenset[str], None]:
        """Ids that changed since the last look, coalesced; an empty set means the stream state."""
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._listeners.append(queue)
        try:
            while True:
                changed = {await queue.get()}
                while not queue.empty():
                    changed.add(queue.get_nowait())
                yield frozenset(name for name in changed if name is not None)
        finally:
            self._listeners.remove(queue)

    # Inside

    def _apply(self, order: Order, source: Source) -> None:
        service_id = order.service_id
        before = self._known.get(service_id)
        if before is None or before.withheld is not None:
            # Another desk of this home may have created, released or refused it meanwhile.
            before = self._from_journal(service_id) or before
        over = ended(display_of(order))
        if source == "stream" and over and not (before and ended(display_of(before.order))):
            # The end of an order counts once REST says it; it could never be taken back.
            self._read_soon(service_id)
            return
        now = self._clock.now()
        if before is None:
            self._keep(
                TrackedOrder(
                    order, None, FOREIGN.withheld, over, now, source, standing=FOREIGN.standing
                )
            )
            return
        before = self._refuse_contradiction(before, order)
        merged = fold(before.order, order)
        same_end = display_of(before.order) == display_of(order)
        kept = merged or before.order
        is_over = before.ended or (over and display_of(kept) == display_of(order))
        after = replace(before, order=kept, ended=is_over, seen_at=now, source=source)
        if merged is None and not (over and same_end and not before.ended):
            self._known[service_id] = after
        else:
            self._keep(after)
        if after.standing is Standing.UNREPEATED and order.deposit_address is not None:
            self._repeat_soon(after)

    def _keep(self, tracked: TrackedOrder) -> None:
        self._known[tracked.service_id] = tracked
        self._pending[tracked.service_id] = (tracked.order, tracked.source, tracked.ended)

    def _tracked(self, entry: JournaledOrder) -> TrackedOrder:
        return TrackedOrder(
            order=entry.order,
            intent=self._intent_of(entry.intent_id),
            withheld=entry.withheld,
            ended=entry.ended,
            seen_at=entry.seen_at,
            source="journal",
            standing=entry.verdict.standing,
        )

    def _from_journal(self, service_id: str) -> TrackedOrder | None:
        try:
            entry = self._journal.orders.get(service_id)
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
            return None
        return self._tracked(entry) if entry is not None else None

    def _refuse_contradiction(self, before: TrackedOrder, seen: Order) -> TrackedOrder:
        reason = contradicts(before.order, seen)
        if reason is None:
            return before
        log.warning("order %s contradicts what is known: %s", before.short_id, reason)
        verdict = contradiction(reason)
        try:
            verdict = self._journal.orders.settle(before.service_id, verdict)
        except JournalUnavailable as error:
            log.error("the journal did not take a warning: %s", error)
        self._announce(before.service_id)
        return replace(before, withheld=verdict.withheld, standing=verdict.standing)

    def _read_soon(self, service_id: str) -> None:
        async def confirm() -> None:
            try:
                await self.read(service_id)
            except ClientError as error:
                log.info("the end of order %s is not confirmed yet: %s", service_id, error)

        self._once(service_id, confirm())

    def _repeat_soon(self, tracked: TrackedOrder) -> None:
        """Let the service repeat an order again, once its create has left that open."""
        flow, intent = self._flow, tracked.intent
        if flow is None or intent is None or intent.id in flow.running:
            return

        async def repeat() -> None:
            try:
                await flow.confirm_again(intent, tracked.order)
                self.adopt(tracked.service_id)
            except (ClientError, JournalUnavailable) as error:
                log.info("order %s is not repeated yet: %s", tracked.short_id, error)

        self._once(tracked.service_id, repeat())

    def _once(self, service_id: str, work: Coroutine[None, None, None]) -> None:
        """Run ``work`` unless something is under way for the order already."""
        if service_id in self._asking:
            work.close()
            return
        self._asking.add(service_id)
        task = asyncio.create_task(work, name=f"order-{short_id(service_id)}")
        self._tasks.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            self._asking.discard(service_id)

        task.add_done_callback(done)

    def _schedule_flush(self) -> None:
        if self._pending and (self._flush is None or self._flush.done()):
            self._flush = asyncio.create_task(self._flush_soon(), name="journal-flush")

    async def _flush_soon(self) -> None:
        await self._clock.sleep(self._flush_seconds)
        await self._commit()

    async def _commit(self) -> None:
        pending, self._pending = self._pending, {}
        if not pending:
            return
        try:
            self._journal.orders.record(pending.values())
        except JournalUnavailable as error:
            log.error("the journal did not take %d orders: %s", len(pending), error)
            self._pending = {**pending, **self._pending}
        for service_id in pending:
            self._announce(service_id)

    def _announce(self, service_id: str | None) -> None:
        for queue in self._listeners:
            queue.put_nowait(service_id)

    def _intent_of(self, intent_id: str | None) -> Intent | None:
        entry = self._journal.intents.get(intent_id) if intent_id else None
        return entry.intent if entry else None

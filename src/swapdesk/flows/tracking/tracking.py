"""Every order this desk knows, followed live and remembered for longer than the service does.

States from the stream, from polling and from the journal are folded forward only, committed
to the journal and then announced; an end is not shown before that. Figures alone are announced
as soon and committed later (``journal.figures``). A terminal state seen on the stream counts as
confirmed only after REST repeats it. An order is never given up because of a fault of our own
network.

Who wants to know of changes, and what changed since each looked last.

What is asked of the service beside the stream, for one order at a time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Iterable, Iterator
from datetime import datetime

from swapdesk.background import BackgroundTasks, Defect
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ClientError, NotFound
from swapdesk.client.live import OrderStream
from swapdesk.client.order_page import OrderPage
from swapdesk.client.stream_events import (
    Gap,
    OrderMissing,
    OrderSeen,
    OrdersListed,
    StateChanged,
    StreamEvent,
    StreamState,
)
from swapdesk.client.stream_events import Source as Sighting
from swapdesk.clock import Clock
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.creation.minimum_received import LOWER_TOLERANCE
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import PaidOnChain, Source
from swapdesk.flows.journal.order_merge import display_of, ended
from swapdesk.flows.journal.order_writes import FLUSH_SECONDS, OrderWrites, Writing
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.flows.orders.order_listing import Group
from swapdesk.flows.orders.tracked_order import FRESH, TrackedOrder
from swapdesk.flows.tracking.known_orders import KnownOrders
from swapdesk.flows.tracking.self_paid_orders import BatchPayments
from swapdesk.wire.orders import Order, OrderQuery


class OrderChanges:
    """Orders by their ids, and the state of the stream."""

    def __init__(self) -> None:
        self._listeners: list[asyncio.Queue[str | None]] = []

    def tell(self, service_id: str | None) -> None:
        """An order moved; None: the stream did."""
        for queue in self._listeners:
            queue.put_nowait(service_id)

    async def each(self) -> AsyncGenerator[frozenset[str], None]:
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


class OrderRequests:
    """At most one errand an order; :meth:`end` cancels all."""

    def __init__(self, background: BackgroundTasks) -> None:
        self._background = background
        self._for: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, service_id: str, work: Coroutine[None, None, None]) -> None:
        """Run ``work`` unless something is under way for the order already."""
        if service_id in self._for:
            work.close()
            return
        self._for.add(service_id)
        name = f"looking after order {short_id(service_id)}"
        task = asyncio.create_task(self._background.once(name, work), name=name)
        self._tasks.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            self._for.discard(service_id)

        task.add_done_callback(done)

    def __len__(self) -> int:
        return len(self._for)

    def end(self) -> None:
        for task in self._tasks:
            task.cancel()


log = logging.getLogger(__name__)

MAX_PAGES = 100


class Tracker:
    """Call :meth:`load_present` at the start, :meth:`run` in a task, and read :meth:`orders`."""

    def __init__(
        self,
        journal: Journal,
        api: PartnerApi,
        clock: Clock,
        stream: OrderStream,
        *,
        flush_seconds: float = FLUSH_SECONDS,
        flow: ExchangeFlow | None = None,
        batch_payments: BatchPayments | None = None,
        background: BackgroundTasks | None = None,
    ) -> None:
        self._background = background or BackgroundTasks(clock)
        self._api = api
        self._clock = clock
        self._stream = stream
        self._flow = flow
        self._known = KnownOrders(
            journal,
            clock,
            flow.lower_tolerance if flow is not None else LOWER_TOLERANCE,
            batch_payments=batch_payments,
        )
        self._missing: dict[str, datetime] = {}
        """Orders that the service did not know when they were asked for, each since when."""
        self._over: dict[str, TrackedOrder] = {}
        """Orders that ended, until the journal has it."""
        self._writes = OrderWrites(
            journal.order_writer(),
            clock,
            self._committed,
            seconds=flush_seconds,
            background=self._background,
        )
        self._errands = OrderRequests(self._background)
        self._changes = OrderChanges()
        self.stream_since: datetime = clock.now()
        self.skipped = 0
        """Orders that the service listed last and that cannot be read: not among :meth:`orders`,
        or as last known."""

    async def load_present(self) -> None:
        """Take the orders of which something may still become, without stopping the event loop
        for long."""
        await self._known.load_present()

    def load_newest(self) -> None:
        """Take the newest orders, whatever became of them."""
        self._known.load_newest()

    async def load_past(self, pause: float = 0.0) -> None:
        """Take all others, with ``pause`` seconds after every step."""
        await self._known.load_past(pause)

    @property
    def past_known(self) -> bool:
        """Whether all orders of the journal are in view; until then :meth:`recall` finds one."""
        return self._known.past_known

    def orders(self) -> list[TrackedOrder]:
        """Group by group; open ones with the nearest deadline first, the others newest first."""
        return self._known.sorted()

    def known(self) -> Iterator[TrackedOrder]:
        """All orders in no sequence."""
        return iter(self._known)

    @property
    def count(self) -> int:
        """How many orders are in view."""
        return len(self._known)

    def nearest(self, count: int) -> list[TrackedOrder]:
        """The first of those of :meth:`orders` that are open."""
        return self._known.nearest(count)

    def running(self) -> Iterator[TrackedOrder]:
        """Open orders in no sequence."""
        return self._known.running()

    def get(self, service_id: str) -> TrackedOrder | None:
        return self._known.get(service_id)

    def recall(self, service_id: str) -> TrackedOrder | None:
        """As :meth:`get`, from the journal where the order was not loaded."""
        return self._known.recall(service_id)

    @property
    def stream_state(self) -> StreamState:
        """How the desk is told of changes right now."""
        return self._stream.state

    def stream_age(self) -> float:
        """Seconds since the last message or answer."""
        return self._stream.age()

    @property
    def open_count(self) -> int:
        return self._known.open_count

    @property
    def stranded_count(self) -> int:
        """Orders that ended and need their owner all the same."""
        return self._known.count(Group.NEEDS_YOU)

    def counts(self) -> dict[Group, int]:
        """How many orders stand in each group."""
        return {group: self._known.count(group) for group in Group}

    def adopt(self, service_id: str) -> TrackedOrder | None:
        """Take an order the journal has just recorded, as a create does, and announce it."""
        before = self._newest(service_id)
        try:
            tracked, differs = self._known.adopt(service_id, before)
        except KeyError:
            return before
        if differs and self._writes.waiting(service_id):
            self._writes.put(Writing(tracked.order, "stream", tracked.ended))
        self._over.pop(service_id, None)
        self._known.put(tracked)
        self._changes.tell(service_id)
        return tracked

    def put_away(self, service_id: str) -> None:
        """Its owner dealt with an order that failed: it holds nothing up until it is in another
        trouble. Raises JournalUnavailable."""
        self._known.put_away(service_id)
        self._changes.tell(service_id)

    def take_back(self, service_id: str) -> None:
        """It was not dealt with after all. Raises JournalUnavailable."""
        self._known.take_back(service_id)
        self._changes.tell(service_id)

    def keep_payment(self, service_id: str, payment: PaidOnChain) -> None:
        """A chain shows a payment to the deposit address of an order: it stays known and is
        announced."""
        try:
            self._known.keep_payment(service_id, payment)
        except JournalUnavailable as error:
            log.error("the journal did not take a payment: %s", error)
        self._changes.tell(service_id)

    def look_at_payments(self) -> None:
        """Announce the orders that stand otherwise since their payment, or that of their batch,
        moved; and take those that another desk or command has just recorded."""
        try:
            for service_id in self._known.made_here():
                self.adopt(service_id)
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
        for service_id in self._known.look_at_payments():
            self._changes.tell(service_id)

    def look_at_swap(self, service_id: str) -> None:
        """Announce an order when its transaction stands otherwise than it was told."""
        if self._known.look_at_swap(service_id):
            self._changes.tell(service_id)

    async def read(self, service_id: str) -> TrackedOrder | None:
        """Ask the service for one order now. Raises ClientError; 404 keeps what is known, as what
        was heard last."""
        try:
            order = await self._api.get_order(service_id)
        except NotFound:
            if self._known.get(service_id) is None:
                raise
            self._not_known(service_id)
            return self._known.get(service_id)
        self._apply(order, "read")
        await self._commit()
        return self._known.get(service_id)

    async def take(self, orders: Iterable[Order]) -> None:
        """Orders that the service told of in an answer about something else: their group."""
        for order in orders:
            self._apply(order, "read")
        await self._commit()

    async def sweep(self) -> None:
        """Read every order the service lists now. Raises ClientError."""
        skipped, whole, since = 0, False, self._clock.now()
        for page in range(1, MAX_PAGES + 1):
            answer = await self.read_page(page)
            skipped += answer.skipped
            whole = page >= answer.total_pages
            if whole or answer.empty:
                break
        self._listed(skipped)
        if whole and not skipped:
            # One that was made just now may not be listed yet.
            for service_id in self._known.unlisted(since):
                self._not_known(service_id)

    async def read_page(self, page: int) -> OrderPage:
        """Read one page of what the service lists now. Raises ClientError."""
        answer = await self._api.list_orders(OrderQuery(page=page))
        for order in answer.orders:
            self._apply(order, "list")
        await self._commit()
        return answer

    async def run(self) -> None:
        """Follow the stream until cancelled, whatever single events turn out to be."""
        try:
            await self._background.keep("following orders", self._follow)
        finally:
            self._errands.end()
            await self._writes.finish()

    async def _follow(self) -> None:
        self._stream.watch(
            known.service_id
            for known in self._known
            if not known.ended and not known.archived(self._clock.now())
        )
        async with self._stream as events:
            async for event in events:
                try:
                    self._take(event)
                except Exception as error:  # noqa: BLE001 (one order stops no other)
                    which = "orders"
                    if isinstance(event, OrderSeen):
                        which = f"order {short_id(event.order.service_id)}"
                    self._background.tell(Defect(f"following {which}", error, again=True))

    def _take(self, event: StreamEvent) -> None:
        if isinstance(event, OrderSeen):
            self._apply(event.order, "stream" if event.source is Sighting.STREAM else "list")
            self._writes.schedule()
        elif isinstance(event, OrdersListed):
            self._listed(event.skipped)
        elif isinstance(event, OrderMissing):
            # A 404 within 48 hours is not the end of an order; later the service forgets it. One
            # server of several may be behind: only what stays unknown is not known.
            known = self._known.get(event.service_id)
            if known is not None and known.archived(self._clock.now()):
                self._stream.unwatch([event.service_id])
            since = self._missing.setdefault(event.service_id, event.at)
            if event.at - since > FRESH:
                self._not_known(event.service_id)
        elif isinstance(event, StateChanged):
            self.stream_since = event.since
            self._changes.tell(None)
        elif isinstance(event, Gap):
            log.info("order stream resumed after a gap: %s", event.reason)

    def changes(self) -> AsyncGenerator[frozenset[str], None]:
        """Ids that changed since the last look, coalesced; an empty set means the stream state
        or :attr:`skipped`."""
        return self._changes.each()

    # Inside

    def _listed(self, skipped: int) -> None:
        if skipped != self.skipped:
            self.skipped = skipped
            self._changes.tell(None)

    def _not_known(self, service_id: str) -> None:
        if self._known.not_known(service_id):
            self._changes.tell(service_id)

    def _newest(self, service_id: str) -> TrackedOrder | None:
        return self._over.get(service_id) or self._known.get(service_id)

    def _apply(self, order: Order, source: Source) -> None:
        service_id = order.service_id
        self._missing.pop(service_id, None)
        before = self._newest(service_id)
        seen = self._known.see(order, source, before)
        after = seen.order
        if after is None:
            self._read_soon(service_id)
            return
        if seen.write:
            put = self._writes.put_figures if seen.figures else self._writes.put
            put(Writing(after.order, after.source, after.ended))
        was_over = before is not None and ended(display_of(before.order))
        if (
            seen.write and ended(display_of(after.order)) and not was_over
        ) or service_id in self._over:
            self._over[service_id] = after
        else:
            self._known.put(after)
        if seen.judged:
            self._changes.tell(service_id)
        if seen.repeat:
            self._repeat_soon(after)

    async def _commit(self) -> None:
        await self._writes.flush()

    def _committed(self, ids: Iterable[str]) -> None:
        """The journal has these, or refused them for now: either way they are shown."""
        for service_id in ids:
            over = self._over.pop(service_id, None)
            if over is not None:
                self._known.put(over)
            self._changes.tell(service_id)

    def _read_soon(self, service_id: str) -> None:
        async def confirm() -> None:
            try:
                await self.read(service_id)
            except ClientError as error:
                log.info("the end of order %s is not confirmed yet: %s", service_id, error)

        self._errands.run(service_id, confirm())

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

        self._errands.run(tracked.service_id, repeat())

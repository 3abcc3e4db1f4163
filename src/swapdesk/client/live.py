"""The stream of order updates. If the stream fails, orders are polled instead; the state says which
of the two is in use.

After connecting, the stream subscribes first and holds back the updates that arrive. It then reads
all orders of the last 48 hours, and applies the updates that it held back. An update may be missed
even on a working connection, so orders are also polled every 30 s, and every 10 s while there is no
connection. The waits before reconnecting grow from attempt to attempt.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Self

from msgspec import Struct

from swapdesk.background import BackgroundTasks, together, within
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
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
from swapdesk.client.stream_socket import OrderSocket, SocketLost, StreamTimes, stream_url
from swapdesk.clock import Clock
from swapdesk.wire.choices import SortOrder
from swapdesk.wire.encoding.timestamps import LONGEST_HOLD
from swapdesk.wire.orders import Order, OrderQuery, OrderSort

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger(__name__)

PAGE_SIZE = 100
MAX_PAGES = 100

HELD_BACK = 5_000
WAITING_EVENTS = 100
"""The most events that are queued for the consumer of the stream."""


StreamState = Literal["live", "resuming", "polling", "offline"]
"""``live``: up to date, with something received within 30 s. ``resuming``: connecting or catching
up. ``polling``: only polling works. ``offline``: neither does."""


Source = Literal["stream", "snapshot", "poll"]
"""How an order was read: by an update of the stream, by reading all orders after connecting, or by
polling."""


class OrderSeen(Struct, frozen=True):
    """An event: an order was read. States may repeat, and an older state may arrive after a newer
    one."""

    order: Order
    source: Source


class OrdersListed(Struct, frozen=True):
    """An event: the whole list of orders was read. ``skipped`` counts undecodable ones."""

    skipped: int


class OrderMissing(Struct, frozen=True):
    """An event: the service answered 404 for a watched order. A 404 proves nothing about an order
    younger than 48 hours."""

    service_id: str
    at: datetime


class StateChanged(Struct, frozen=True):
    state: StreamState
    since: datetime


StreamEvent = OrderSeen | OrdersListed | OrderMissing | StateChanged


class OrderReading:
    """Reads orders and passes each to ``tell``; only one :meth:`read` runs at a time. With
    read-only credentials, only the watched orders are read."""

    def __init__(
        self,
        api: PartnerApi,
        clock: Clock,
        tell: Callable[[StreamEvent], Awaitable[None]],
    ) -> None:
        self.answered: float | None = None
        """Monotonic time of the newest answer, in seconds; None before the first answer."""
        self._api = api
        self._clock = clock
        self._tell = tell
        self._watched: dict[str, None] = {}
        self._held_until = 0.0
        self._told_to_wait: ApiError | None = None
        self._one_at_a_time = asyncio.Lock()

    def watch(self, ids: Iterable[str]) -> bool:
        """Watches more orders. Returns True if any is new."""
        before = len(self._watched)
        self._watched.update(dict.fromkeys(ids))
        return len(self._watched) > before

    def unwatch(self, ids: Iterable[str]) -> None:
        for service_id in ids:
            self._watched.pop(service_id, None)

    async def read(self, source: Source) -> None:
        """Reads the list of orders, and each watched order that is not in it. Raises ClientError.
        During a wait that the service asked for, sends nothing and raises the service's last
        error."""
        async with self._one_at_a_time:
            left = self._held_until - self._clock.monotonic()
            if self._told_to_wait is not None and left > 0:
                raise self._told_to_wait.again(left)
            try:
                seen = await self._list(source) if self._api.credentials.writes else set()
                for service_id in [
                    watched_id for watched_id in self._watched if watched_id not in seen
                ]:
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
            listed = await self._api.list_orders(query)
            self.answered = self._clock.monotonic()
            skipped += listed.skipped
            for order in listed.orders:
                seen.add(order.service_id)
                await self._tell(OrderSeen(order, source))
            if listed.empty or page >= listed.total_pages:
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


class PollSchedule:
    """The times of polling: every 30 s while the stream is connected, otherwise every 10 s, and
    sooner on request."""

    def __init__(self, clock: Clock, times: StreamTimes) -> None:
        self.connected = False
        self._clock = clock
        self._times = times
        self._wake = asyncio.Event()
        self._due = clock.monotonic() + times.poll_down

    def ask_within(self, seconds: float) -> None:
        """Makes the next poll happen within ``seconds``."""
        due = self._clock.monotonic() + seconds
        if due < self._due:
            self._due = due
            self._wake.set()

    def asked(self) -> None:
        """Sets the next poll to a whole interval from now. Call it when a poll begins and when it
        ends."""
        times = self._times
        interval = times.poll_live if self.connected else times.poll_down
        self._due = self._clock.monotonic() + interval

    async def due(self) -> None:
        """Waits until the next poll is due."""
        while (wait := self._due - self._clock.monotonic()) > 0:
            await within(self._clock, wait, self._wake.wait())
            self._wake.clear()


class Backoff:
    """The waits between attempts to connect: longer after each failure, partly random, reset by a
    connection that lasted."""

    def __init__(self, times: StreamTimes, rng: random.Random) -> None:
        self._times = times
        self._rng = rng
        self._failures = 0

    def held(self, seconds: float) -> None:
        """Reports that a connection was live for ``seconds``, which may reset the waits."""
        if seconds >= self._times.steady_after:
            self._failures = 0

    def next(self, told: float | None) -> float:
        """Returns the seconds before the next attempt. ``told`` is the wait that the service asked
        for, or None; it is respected up to ``longest_retry_after``."""
        times = self._times
        if self._failures == 0:
            delay = self._rng.uniform(0.0, times.first_jitter)
        else:
            most = min(times.backoff_cap, times.first_jitter * 2.0 ** min(self._failures, 10))
            delay = self._rng.uniform(most / 2, most)
        self._failures += 1
        return max(delay, min(told or 0.0, times.longest_retry_after))


class OrderStream:
    """An iterator of :data:`StreamEvent` that ends only when closed. A slow consumer loses no
    events. If ``url`` is None, the address follows from ``api``. ``background`` restarts the stream
    after a program error."""

    def __init__(
        self,
        url: str | None,
        credentials: Credentials,
        clock: Clock,
        api: PartnerApi,
        rng: random.Random,
        *,
        times: StreamTimes | None = None,
        background: BackgroundTasks | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = url or stream_url(api.url)
        self.refused: str | None = None
        """Why the stream has stopped connecting: no API key, or refused credentials. None while it
        tries."""
        self.unusable_frames = 0
        self._credentials = credentials
        self._clock = clock
        self._times = times or StreamTimes()
        self._backoff = Backoff(self._times, rng)
        self._events: asyncio.Queue[StreamEvent | None] = asyncio.Queue(WAITING_EVENTS)
        self._held: deque[Order] | None = None
        self._background = background or BackgroundTasks(clock)
        self._transport = transport
        self._reading = OrderReading(api, clock, self._tell)
        self._polls = PollSchedule(clock, self._times)
        self._task: asyncio.Task[None] | None = None
        self._state: StreamState = "resuming"
        self._heard = clock.monotonic()
        self._live_since: float | None = None
        """When the connection became live, in monotonic seconds; None without one."""

    async def __aenter__(self) -> Self:
        # What was left of an earlier run is read afresh, as after every gap.
        self._events = asyncio.Queue(WAITING_EVENTS)
        self._task = asyncio.create_task(self._run(), name="order stream")
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        event = await self._events.get() if self._running() else self._left_over()
        if event is None:
            if self._task is not None and self._task.done() and not self._task.cancelled():
                self._task.result()
            raise StopAsyncIteration
        return event

    @property
    def state(self) -> StreamState:
        limit = self._times.quiet_limit
        if self._state == "live":
            quiet = self._clock.monotonic() - self._heard > limit
            return "resuming" if quiet else "live"
        return "offline" if self.age() > limit else self._state

    def age(self) -> float:
        """Returns the seconds since the service's last sign of life."""
        return self._clock.monotonic() - max(self._heard, self._reading.answered or 0.0)

    def watch(self, ids: Iterable[str]) -> None:
        """Adds orders to watch. Each poll reads them one by one if the list, which covers 48 hours,
        does not contain them."""
        if self._reading.watch(ids):
            self._polls.ask_within(0.0)

    def unwatch(self, ids: Iterable[str]) -> None:
        self._reading.unwatch(ids)

    # The two loops

    async def _run(self) -> None:
        try:
            await self._background.keep("the order stream", self._connect_and_poll)
        finally:
            # Wakes a reader that waits for the next event; with a full queue none waits.
            if not self._events.full():
                self._events.put_nowait(None)

    async def _connect_and_poll(self) -> None:
        try:
            await together(self._connect_for_ever(), self._poll_for_ever())
        except BaseException:
            self._state = "resuming"
            self._polls.ask_within(0.0)
            raise

    async def _connect_for_ever(self) -> None:
        if self._credentials.api_key is None:
            self.refused = "the stream opens with an API key alone"
            self._polls.ask_within(0.0)
            return
        reached = True
        while True:
            self._live_since = None
            lost = await self._session()
            log.info("order stream: %s", lost.reason)
            if self._live_since is not None:
                # That it is restarted says nothing against a service, however soon it is.
                held = self._clock.monotonic() - self._live_since
                self._backoff.held(math.inf if lost.restarting else held)
                await self._enter("resuming")
                self._polls.ask_within(self._times.poll_down)
            else:
                # Not told, so ask; the answer decides between polling and offline.
                stale = self._reading.answered is None or self.age() >= self._times.poll_down
                self._polls.ask_within(0.0 if stale or reached else self._times.poll_down)
                if self._state == "resuming" and not stale:
                    await self._enter("polling")
            reached = self._live_since is not None
            if lost.fatal:
                self.refused = lost.reason
                log.warning("order stream: %s", lost.reason)
                self._polls.ask_within(0.0)
                return
            await self._clock.sleep(self._backoff.next(lost.retry_after))

    async def _poll_for_ever(self) -> None:
        while True:
            await self._polls.due()
            live = self._polls.connected
            state: StreamState = "polling"
            self._polls.asked()
            try:
                await self._reading.read("poll")
            except ClientError as error:
                log.info("order poll: %s", error)
                state = "offline"
            if not live and not self._polls.connected:
                await self._enter(state)
            self._polls.asked()

    # One connection

    async def _session(self) -> SocketLost:
        try:
            socket = await OrderSocket.open(
                self.url,
                self._credentials,
                self._clock,
                self._times,
                self._heard_now,
                self._transport,
            )
        except SocketLost as lost:
            return lost
        ended = SocketLost("the stream ended")
        try:
            self._polls.connected = True
            self._held = deque(maxlen=HELD_BACK)
            await self._enter("resuming")
            await together(self._follow(socket), socket.heartbeat(), self._catch_up(socket))
        except SocketLost as lost:
            ended = lost
        finally:
            self._polls.connected = False
            self._held = None
            await socket.close()
        return ended

    async def _follow(self, socket: OrderSocket) -> None:
        async for frame in socket.frames():
            if frame is None:
                # It may have been an update: ask soon, but not for every bad frame.
                self.unusable_frames += 1
                self._polls.ask_within(self._times.poll_down)
            elif isinstance(frame, Order):
                if self._held is None:
                    await self._tell(OrderSeen(frame, "stream"))
                else:
                    self._held.append(frame)

    async def _catch_up(self, socket: OrderSocket) -> None:
        await socket.subscribe()
        await socket.acknowledged()
        try:
            await self._reading.read("snapshot")
        except ClientError as error:
            wait = error.retry_after if isinstance(error, ApiError) else None
            reason = f"the orders could not be read: {error}"
            raise SocketLost(reason, retry_after=wait) from None
        while self._held:
            await self._tell(OrderSeen(self._held.popleft(), "stream"))
        self._held = None
        self._live_since = self._clock.monotonic()
        self._polls.asked()
        await self._enter("live")

    # Reading and telling

    async def _tell(self, event: StreamEvent) -> None:
        await self._events.put(event)

    async def _enter(self, state: StreamState) -> None:
        if state != self._state or self._state == "resuming":
            self._state = state
            await self._tell(StateChanged(state, self._clock.now()))

    def _heard_now(self) -> None:
        self._heard = self._clock.monotonic()

    def _running(self) -> bool:
        return self._task is not None and not (self._task.done() and self._events.empty())

    def _left_over(self) -> StreamEvent | None:
        return None if self._events.empty() else self._events.get_nowait()

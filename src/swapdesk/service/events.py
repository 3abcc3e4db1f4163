"""The order stream ``WS /ws`` (contract 11.1 to 11.7): handshake, connections, and the hub that
reads the outbox for all of them.

The hub passes on ids, and a connection reads the order when it sends, so that a slow reader gets
the latest state. Missing or malformed credentials are refused before the upgrade, wrong ones after
it (AUTH_FAILED, close 4401).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from msgspec import Struct, field
from starlette.websockets import WebSocket, WebSocketDisconnect

from swapdesk.background import Silence
from swapdesk.clock import Clock
from swapdesk.service.access import Caller, Directory
from swapdesk.service.errors import ServiceError
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.service.orders.presentation import visible
from swapdesk.service.partner_watch import PartnerWatch
from swapdesk.service.store.database import StoreUnavailable
from swapdesk.service.store.records import OutboxRow, StoredOrder
from swapdesk.service.store.store import Store
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json, validate
from swapdesk.wire.encoding.dialect import VENDOR_NAMES, Dialect
from swapdesk.wire.encoding.parse_cache import Newest
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.events import (
    LAST_WORD_SECONDS,
    MAX_FRAME_BYTES,
    MAX_WATCHED,
    SLOW_READER_BYTES,
    SLOW_READER_FRAMES,
    SLOW_READER_SECONDS,
    ClientFrame,
    CloseCode,
    StreamError,
)
from swapdesk.wire.operation import Access

log = logging.getLogger(__name__)

_ROWS_AT_ONCE = 100
_RETRY_SECONDS = 0.5
_NEWS_KEPT = 1_024  # some 8 kB each


class _News(Struct):
    order: StoredOrder
    frames: dict[Dialect, tuple[bytes, str]] = field(default_factory=dict)


class Hub:
    """Delivers changes of orders to a process's stream connections. Cancelling ``run`` closes every
    connection with code 1012."""

    def __init__(self, store: Store, desk: OrderDesk, clock: Clock, partners: PartnerWatch) -> None:
        self._store = store
        self._desk = desk
        self._clock = clock
        self._partners = partners
        self._subscribers: dict[str, set[StreamConnection]] = {}
        self._news: Newest[str, _News] = Newest(_NEWS_KEPT)
        self._closed = False
        self.delivered: int | None = None
        """Sequence number of the newest change delivered to every subscriber; None before the first
        read."""

    async def run(self) -> None:
        """Delivers every change that is committed from now on, until cancelled. If the store does
        not answer, retries until it does."""
        self.delivered = None
        silence = Silence(log, "hub: the store")
        try:
            while True:
                try:
                    if silence.lasts:
                        # What comes next may take hours, and no answer is waited for until then.
                        await self._store.outbox.newest()
                        silence.end()
                    if self.delivered is None:
                        self.delivered = await self._store.outbox.newest()
                    await self._store.outbox.beyond(self.delivered)
                    self.delivered = await self.deliver(self.delivered)
                except StoreUnavailable as unavailable:
                    silence.begin(unavailable)
                    await self._clock.sleep(_RETRY_SECONDS)
        finally:
            # Whoever is left would wait for updates that nobody delivers any more.
            self._end_all()

    async def deliver(self, after: int) -> int:
        """Delivers the changes that follow number ``after`` in the outbox, except to connections
        with revoked API keys. Returns the number of the newest change read."""
        await self._partners.require()
        while rows := await self._store.outbox.after(after, _ROWS_AT_ONCE):
            watched = [row.service_id for row in rows if self._is_watched(row)]
            read = await self._store.orders.announced(watched) if watched else {}
            for row in rows:
                self._note(row.service_id, read.get(row.service_id))
                for subscriber in self._subscribers.get(row.partner_id, ()):
                    subscriber.offer(row.service_id)
            after = rows[-1].sequence
            if len(rows) < _ROWS_AT_ONCE:
                break
        return after

    def _is_watched(self, row: OutboxRow) -> bool:
        subscribers = self._subscribers.get(row.partner_id, ())
        return any(subscriber.watches(row.service_id) for subscriber in subscribers)

    def _note(self, service_id: str, order: StoredOrder | None) -> None:
        self._news.pop(service_id, None)
        if order is not None:
            self._news[service_id] = _News(order)

    def join(self, subscriber: StreamConnection) -> None:
        self._subscribers.setdefault(subscriber.partner_id, set()).add(subscriber)
        if self._closed:
            subscriber.end()

    def leave(self, subscriber: StreamConnection) -> None:
        group = self._subscribers.get(subscriber.partner_id, set())
        group.discard(subscriber)
        if not group:
            self._subscribers.pop(subscriber.partner_id, None)

    @property
    def connections(self) -> int:
        return sum(map(len, self._subscribers.values()))

    def close(self) -> None:
        """Closes every connection with code 1012, including connections that join later."""
        self._closed = True
        self._end_all()

    def _end_all(self) -> None:
        for group in tuple(self._subscribers.values()):
            for subscriber in tuple(group):
                subscriber.end()

    def end_refused(self, accepts: Callable[[str], bool]) -> None:
        """Closes connections with code 4401 if ``accepts`` returns False for their API key
        (contract 11.2). Connections that were paid for have no key and stay open."""
        for group in tuple(self._subscribers.values()):
            for subscriber in tuple(group):
                # A connection that was paid for has none.
                if subscriber.key and not accepts(subscriber.key):
                    subscriber.end(CloseCode.AUTH_FAILED)

    async def find(self, partner_id: str, service_id: str) -> StoredOrder | None:
        await self._partners.require()
        return await self._desk.find(partner_id, service_id)

    async def known(self, partner_id: str, service_ids: Iterable[str]) -> set[str]:
        """Returns the ids, out of ``service_ids``, for which :meth:`find` would return an order of
        the partner."""
        await self._partners.require()
        return await self._desk.known(partner_id, service_ids)

    async def latest(self, partner_id: str, service_id: str) -> StoredOrder | None:
        """Returns the partner's order in the state last announced on the stream, or a newer one;
        None if it is not visible."""
        news = self._news.get(service_id)
        if news is None or news.order.partner_id != partner_id:
            return await self.find(partner_id, service_id)
        return news.order if visible(news.order.created, self._clock.now()) else None

    def frame(self, order: StoredOrder, dialect: Dialect = Dialect.CONTRACT) -> str:
        """Returns an order's ``order_update`` frame. The frame contains all that ``GET
        /orders/{id}`` shows, so it must be sent to the order's owner only."""
        encoded = self._desk.presentation.encoded(order)
        news = self._news.get(order.service_id)
        frames = news.frames if news is not None and news.order is order else {}
        # The same bytes unless one of its tokens changed.
        if dialect not in frames or frames[dialect][0] is not encoded:
            own = encoded
            if dialect is not Dialect.CONTRACT:
                own = encode_json(dialect.names(decode_json(encoded)))
            frames[dialect] = (encoded, f'{{"type":"order_update","data":{own.decode()}}}')
        return frames[dialect][1]


_TYPES = ("subscribe", "unsubscribe", "ping")
_ID_NAMES = ("serviceIds", *VENDOR_NAMES["serviceIds"])


class FrameProblem(Exception):
    def __init__(self, code: StreamError, message: str, ids: list[str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.ids = ids


def client_frame(message: object) -> ClientFrame:
    text = message.get("text") if isinstance(message, dict) else None
    if not isinstance(text, str):
        raise FrameProblem(StreamError.INVALID_MESSAGE, "A message is a text frame.")
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_FRAME_BYTES:
        raise FrameProblem(
            StreamError.INVALID_MESSAGE, f"A message has at most {MAX_FRAME_BYTES} bytes."
        )
    try:
        value = decode_json(data, max_bytes=MAX_FRAME_BYTES)
    except CodecError as error:
        message = f"The message is no acceptable JSON: {error}."
        raise FrameProblem(StreamError.INVALID_JSON, message) from None
    if not isinstance(value, dict):
        raise FrameProblem(StreamError.INVALID_MESSAGE, "A message is a JSON object.")
    kind = value.get("type")
    # Numbers are texts of their own class here; they are not a type that could be unknown.
    if type(kind) is str and kind not in _TYPES:
        raise FrameProblem(
            StreamError.UNKNOWN_TYPE, "The types are subscribe, unsubscribe and ping."
        )
    if any(name in value and value[name] is None for name in _ID_NAMES):
        # Without the member it means all orders; null may be a slip, and is never read as that.
        raise FrameProblem(StreamError.INVALID_MESSAGE, "serviceIds is a list, or left out.")
    try:
        return validate(ClientFrame, value, side="service")
    except CodecError as error:
        message = f"The message cannot be taken: {error}."
        raise FrameProblem(StreamError.INVALID_MESSAGE, message) from None


FLOOD_SECONDS = 10.0
FLOOD_FRAMES = 100
"""Largest number of frames from a client in FLOOD_SECONDS. More are refused; twice this number ends
the connection."""

ABUSE_FRAMES = 10
"""Number of consecutive invalid frames that ends the connection."""

_SENT_KEPT = 4096
_PENDING_KEPT = 10_000


class _Ended(Exception):
    def __init__(self, code: CloseCode) -> None:
        super().__init__(code.name)
        self.code = code


class StreamConnection:
    """An authenticated stream connection of a partner.

    ``key`` is the API key; empty if the connection was paid for instead.
    """

    def __init__(
        self,
        socket: WebSocket,
        hub: Hub,
        clock: Clock,
        partner_id: str,
        dialect: Dialect = Dialect.CONTRACT,
        key: str = "",
    ) -> None:
        self.partner_id = partner_id
        self.key = key
        self._dialect = dialect
        self._socket = socket
        self._hub = hub
        self._clock = clock
        self._all = False
        self._watched: dict[str, None] = {}
        self._replies: deque[str] = deque()
        self._waiting_bytes = 0
        self._behind_since: float | None = None
        self._pending: dict[str, float] = {}
        self._sent: dict[str, int] = {}
        self._sending_since: float | None = None
        self._work = asyncio.Event()
        self._ending = asyncio.Event()
        self._ending_code = CloseCode.RESTART
        self._arrivals: deque[float] = deque()
        self._strikes = 0

    # What the hub says

    def watches(self, service_id: str) -> bool:
        return self._all or service_id in self._watched

    def offer(self, service_id: str) -> None:
        """Queues a changed order of the partner for sending; does nothing if the connection does
        not watch this order."""
        if not self.watches(service_id):
            return
        if len(self._pending) >= _PENDING_KEPT:
            self.end(CloseCode.SLOW_READER)
            return
        # The first waiting time stays: a later change of the same order must not hide it.
        self._pending.setdefault(service_id, self._clock.monotonic())
        self._note_backlog()
        self._work.set()

    def end(self, code: CloseCode = CloseCode.RESTART) -> None:
        self._ending_code = code
        self._ending.set()

    # The connection itself

    async def run(self) -> None:
        self._hub.join(self)
        tasks = [
            asyncio.create_task(work)
            for work in (self._read(), self._write(), self._watch_behind(), self._await_end())
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hub.leave(self)
            for task in tasks:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        # Nothing of it is sent any more; the last word may take a while.
        for kept in (self._pending, self._replies, self._sent, self._watched):
            kept.clear()
        await self._close(outcomes, tasks, done)

    async def _close(
        self,
        outcomes: list[BaseException | None],
        tasks: list[asyncio.Task[None]],
        done: set[asyncio.Task[None]],
    ) -> None:
        failures = [o for task, o in zip(tasks, outcomes, strict=True) if task in done]
        code = CloseCode.INTERNAL
        for failure in failures:
            if isinstance(failure, WebSocketDisconnect):
                return
            if isinstance(failure, _Ended):
                code = failure.code
            else:
                log.error("stream: connection failed", exc_info=failure)
        # A reader that takes nothing would not take the close either; the server then cuts it.
        goodbye = asyncio.create_task(self._goodbye(code))
        timer = asyncio.create_task(self._clock.sleep(LAST_WORD_SECONDS))
        await asyncio.wait({goodbye, timer}, return_when=asyncio.FIRST_COMPLETED)
        for task in (goodbye, timer):
            task.cancel()
        await asyncio.gather(goodbye, timer, return_exceptions=True)

    async def _goodbye(self, code: CloseCode) -> None:
        try:
            if code is CloseCode.AUTH_FAILED:
                await self._socket.send_text(_auth_failed("This API key is no longer accepted."))
            await self._socket.close(int(code), code.name)
        except (WebSocketDisconnect, RuntimeError) as gone:
            log.debug("stream: already gone: %s", gone)

    async def _await_end(self) -> None:
        await self._ending.wait()
        raise _Ended(self._ending_code)

    async def _watch_behind(self) -> None:
        while True:
            await self._clock.sleep(1.0)
            oldest = next(iter(self._pending.values()), None)
            since = (self._sending_since, self._behind_since, oldest)
            waiting = [at for at in since if at is not None]
            if waiting and self._clock.monotonic() - min(waiting) >= SLOW_READER_SECONDS:
                raise _Ended(CloseCode.SLOW_READER)

    def _note_backlog(self) -> None:
        frames = len(self._pending) + len(self._replies) + (self._sending_since is not None)
        if frames < SLOW_READER_FRAMES and self._waiting_bytes < SLOW_READER_BYTES:
            self._behind_since = None
        elif self._behind_since is None:
            self._behind_since = self._clock.monotonic()

    # Writing

    async def _write(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while self._replies or self._pending:
                await self._write_one()
                self._note_backlog()

    async def _write_one(self) -> None:
        if self._replies:
            reply = self._replies.popleft()
            self._waiting_bytes -= len(reply)
            await self._send(reply, self._clock.monotonic())
            return
        service_id = next(iter(self._pending))
        since = self._pending.pop(service_id)
        if not self.watches(service_id):
            return
        try:
            order = await self._hub.latest(self.partner_id, service_id)
        except StoreUnavailable:
            # The change is committed; it is told once the store answers again.
            self._pending.setdefault(service_id, since)
            await self._clock.sleep(1.0)
            return
        if order is None or self._sent.get(service_id, 0) >= order.version:
            return
        await self._send(self._hub.frame(order, self._dialect), since)
        self._sent.pop(service_id, None)
        self._sent[service_id] = order.version
        if len(self._sent) > _SENT_KEPT:
            del self._sent[next(iter(self._sent))]

    async def _send(self, frame: str, since: float) -> None:
        self._sending_since = since
        await self._socket.send_text(frame)
        self._sending_since = None

    def _reply(self, frame: dict[str, object]) -> None:
        reply = encode_json(self._dialect.names(frame)).decode()
        self._replies.append(reply)
        self._waiting_bytes += len(reply)
        self._note_backlog()
        self._work.set()

    def welcome(self) -> None:
        self._reply({"type": "welcome", "partnerId": self.partner_id})

    # Reading

    async def _read(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1005))
            try:
                self._count()
                await self._take(message)
                self._strikes = 0
            except FrameProblem as problem:
                self._refuse(problem)
            except StoreUnavailable:
                raise _Ended(CloseCode.INTERNAL) from None

    def _count(self) -> None:
        now = self._clock.monotonic()
        self._arrivals.append(now)
        while self._arrivals[0] <= now - FLOOD_SECONDS:
            self._arrivals.popleft()
        if len(self._arrivals) > 2 * FLOOD_FRAMES or len(self._replies) > 2 * FLOOD_FRAMES:
            raise _Ended(CloseCode.FLOOD)
        if len(self._arrivals) > FLOOD_FRAMES:
            raise FrameProblem(
                StreamError.RATE_LIMIT_EXCEEDED,
                f"More than {FLOOD_FRAMES} messages in {FLOOD_SECONDS:g} seconds.",
            )

    def _refuse(self, problem: FrameProblem) -> None:
        if problem.code in (
            StreamError.INVALID_JSON,
            StreamError.INVALID_MESSAGE,
            StreamError.UNKNOWN_TYPE,
        ):
            self._strikes += 1
            if self._strikes >= ABUSE_FRAMES:
                raise _Ended(CloseCode.PROTOCOL_ABUSE)
        answer: dict[str, object] = {
            "type": "error",
            "code": problem.code.value,
            "message": problem.message,
        }
        if problem.ids is not None:
            answer["serviceIds"] = problem.ids
        self._reply(answer)

    async def _take(self, message: object) -> None:
        frame = client_frame(message)
        if frame.type == "ping":
            self._reply({"type": "pong"})
        elif frame.type == "subscribe":
            await self._subscribe(frame.service_ids)
        else:
            self._unsubscribe(frame.service_ids)

    async def _subscribe(self, ids: list[str] | None) -> None:
        if ids is None:
            self._all = True
            self._watched.clear()
            self._reply({"type": "subscribed", "all": True})
            return
        added = dict.fromkeys(ids)
        if len(self._watched | added) > MAX_WATCHED:
            raise FrameProblem(
                StreamError.SUBSCRIPTION_LIMIT, f"At most {MAX_WATCHED} orders can be watched."
            )
        existing = await self._hub.known(self.partner_id, added)
        missing = [service_id for service_id in added if service_id not in existing]
        if not self._all:
            self._watched.update(
                (service_id, None) for service_id in added if service_id in existing
            )
        if missing:
            self._refuse(
                FrameProblem(StreamError.ORDER_NOT_FOUND, "There is no such order.", missing)
            )
        if self._all:
            self._reply({"type": "subscribed", "all": True})
        else:
            self._reply({"type": "subscribed", "serviceIds": list(self._watched)})

    def _unsubscribe(self, ids: list[str] | None) -> None:
        if ids is None or self._all:
            self._watched.clear()
            self._all = False
        else:
            for service_id in ids:
                self._watched.pop(service_id, None)
        self._reply({"type": "unsubscribed"})


Endpoint = Callable[
    [WebSocket, dict[str, str], Callable[[], None], Caller | None], Awaitable[str | None]
]
"""A function that serves a stream connection until it ends. It returns the owner's partner id, None
for a refused connection."""


def stream_endpoint(
    hub: Hub, directory: Directory, clock: Clock, usual: Dialect = Dialect.CONTRACT
) -> Endpoint:
    """Returns a function that authenticates and serves ``WS /ws`` connections. The function raises
    ServiceError if the handshake must be refused with plain HTTP. ``usual`` is the dialect for
    callers whose API key states none."""

    async def serve(
        websocket: WebSocket,
        sent_by: dict[str, str],
        check: Callable[[], None],
        paying: Caller | None,
    ) -> str | None:
        _require_form(sent_by)
        try:
            caller = paying or directory.authenticate(sent_by, Access.KEY)
        except ServiceError as refusal:
            if "authorization" not in sent_by:
                raise
            await websocket.accept()
            await websocket.send_text(_auth_failed(refusal.message))
            await websocket.close(int(CloseCode.AUTH_FAILED), CloseCode.AUTH_FAILED.name)
            return None
        check()
        await websocket.accept()
        key = "" if caller.key is None else caller.key.key
        connection = StreamConnection(
            websocket, hub, clock, caller.partner.partner_id, caller.dialect(usual), key
        )
        connection.welcome()
        if caller.key is not None and not directory.accepts(key):
            # It was revoked while the handshake was answered, when the hub did not know of it.
            connection.end(CloseCode.AUTH_FAILED)
        await connection.run()
        return connection.partner_id

    return serve


def _auth_failed(message: str) -> str:
    frame = {"type": "error", "code": StreamError.AUTH_FAILED.value, "message": message}
    return encode_json(frame).decode()


def _require_form(sent_by: dict[str, str]) -> None:
    authorization = sent_by.get("authorization")
    if authorization is None:
        return
    key, colon, secret = authorization.partition(":")
    plain = authorization.isascii() and authorization.isprintable() and " " not in authorization
    if not (colon and key and secret and plain):
        raise ServiceError(
            ErrorCode.BAD_REQUEST, "Authorization must be <ApiKey>:<ApiSecret>, sent as it is."
        )

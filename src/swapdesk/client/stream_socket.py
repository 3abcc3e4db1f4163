"""One WebSocket connection of the order stream, from the handshake to its end (contract 11.1), and
a reader of its frames that decodes only what changed.

A service repeats the whole order with every update, although only three or four of its 40 members
changed. Only these members are decoded and checked; the others have the same text as in the last
update, and so the same value.

This shortcut is taken only if the frame has the same members in the same sequence as the order's
last frame. Otherwise the whole frame is decoded. Both ways accept and refuse the same frames, with
the same results.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cache
from itertools import compress, count
from operator import ne
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from msgspec import Struct
from pydantic import TypeAdapter

from swapdesk.background import within
from swapdesk.client.credentials import Credentials, service_url
from swapdesk.clock import Clock
from swapdesk.wire.encoding.codec import (
    CodecError,
    decode,
    encode_json,
    part_of,
    shortened,
    validate,
)
from swapdesk.wire.encoding.numbers import NumberError, number_token
from swapdesk.wire.encoding.parse_cache import Newest
from swapdesk.wire.encoding.timestamps import LONGEST_HOLD, retry_after
from swapdesk.wire.events import ClientFrame, CloseCode, ServerFrame, StreamError
from swapdesk.wire.operations import STREAM_PATH
from swapdesk.wire.orders import Order

if TYPE_CHECKING:
    import httpx2
    from websockets.asyncio.client import ClientConnection


KEPT = 10_000
"""The most orders whose last frame is remembered."""
LONGEST = 4 * 1024
"""The most characters that a remembered order may have, not counting its tokens."""

_HEAD = '{"type":"order_update","data":{"'
_TAIL = "}}"
_BETWEEN = ',"'
# One member after its first quote. Its text has neither quotes nor escapes, and in an order of
# such members alone a comma and a quote side by side stand between two of them and nowhere else.
_MEMBER = re.compile(
    r'(?P<name>[A-Za-z0-9]+)":'
    r'(?:"(?P<text>[^"\\\x00-\x1f]*)"'
    r"|(?P<number>-?[0-9][0-9.eE+-]*)"
    r"|(?P<word>true|false|null))"
)
_WORDS = {"true": True, "false": False, "null": None}
_TOGETHER = Order.SHARED | Order.JOINED
_SEPARATE = {
    field.validation_alias: name
    for name, field in Order.model_fields.items()
    if isinstance(field.validation_alias, str) and name not in _TOGETHER
}
"""The fields of an order that can be decoded alone: by wire name, the field's name."""

MAX_MESSAGE = 256 * 1024
WAITING_MESSAGES = 64
"""The most received messages that wait to be read. With fewer, a busy stream would stop and restart
all the time."""
TURN_SECONDS = 0.01
"""Time in seconds for which messages are read before other tasks of the event loop run."""


class _Known(Struct, frozen=True):
    """The parts of an order's last frame. Each pair in ``tokens`` is a member's name and its JSON
    text; both are shared with other orders."""

    flat: list[str]
    tokens: tuple[tuple[str, str], ...]
    order: Order


class OrderFrames:
    """Reads the frames of one connection, in the order of their arrival."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._known: Newest[str, _Known] = Newest(KEPT)
        """The parts of each order's last frame, by the text of the order's first member."""

    def read(self, message: str) -> ServerFrame | Order | None:
        """Returns the decoded frame, or the order of an order update; None for an unusable
        message."""
        try:
            data = message.encode()
            if not message.startswith(_HEAD):
                return self._whole(data)
            first = message[len(_HEAD) : message.find(_BETWEEN, len(_HEAD))]
            before = self._known.get(first)
            latest = None if before is None else self._changed(before, message, len(data))
            if latest is None:
                whole = self._whole(data)
                latest = self._learned(data, whole) if isinstance(whole, Order) else None
                if latest is None:
                    self._known.pop(first, None)
                    return whole
        except (CodecError, UnicodeEncodeError):
            return None
        self._known[first] = latest
        return latest.order

    def _whole(self, data: bytes) -> ServerFrame | Order:
        frame = decode(ServerFrame, data, side="client", max_bytes=self._max_bytes)
        if frame.type != "order_update" or frame.code == StreamError.AUTH_FAILED:
            return frame
        return frame if frame.data is None else frame.data

    def _learned(self, data: bytes, order: Order) -> _Known | None:
        """Returns the parts of a decoded frame to remember; None if later frames cannot be compared
        with this frame."""
        try:
            text = shortened(data, max_bytes=self._max_bytes)
        except NumberError:
            return None
        members = text.removeprefix(_HEAD).removesuffix(_TAIL)
        if len(members) != len(text) - len(_HEAD) - len(_TAIL) or len(members) > LONGEST:
            return None
        flat, tokens = [], []
        for text in members.split(_BETWEEN):
            member = _MEMBER.fullmatch(text)
            if member is None:
                return None
            part = part_of(member["number"]) if member["number"] else None
            if part is None:
                flat.append(text)
            else:
                tokens.append((sys.intern(f'{_BETWEEN}{member["name"]}":'), part))
        return _Known(flat, tuple(tokens), order)

    def _changed(self, before: _Known, message: str, size: int) -> _Known | None:
        """Decodes only the members that differ from the order's last frame. Returns None if the
        message must be decoded as a whole."""
        flat = _flat(before, message)
        if flat is None or len(flat) != len(before.flat) or size > self._max_bytes:
            return None
        kept, news = before.flat.copy(), {}
        for at in compress(count(), map(ne, before.flat, flat)):
            member = _MEMBER.fullmatch(flat[at])
            if member is None:
                return None
            name = member["name"]
            if name not in _SEPARATE or not kept[at].startswith(f'{name}":'):
                return None
            try:
                news[_SEPARATE[name]] = validate(_kind(name), _value(member), side="client")
            except (CodecError, NumberError):
                return None
            kept[at] = flat[at]
        if not news:
            return before
        if sum(map(len, kept)) > LONGEST:
            return None
        return _Known(kept, before.tokens, _with(before.order, news))


def _flat(before: _Known, message: str) -> list[str] | None:
    if not message.endswith(_TAIL):
        return None
    runs: list[str] = []
    done = len(_HEAD)
    for mark, text in before.tokens:
        at = message.find(mark, done)
        if at < 0 or not message.startswith(text, at + len(mark)):
            return None
        runs.append(message[done:at])
        done = at + len(mark) + len(text)
    end = len(message) - len(_TAIL)
    if end < done:
        return None
    runs.append(message[done:end])
    # The first run begins behind the quote of a name; another one with what parts it from a token.
    flat = runs[0].split(_BETWEEN)
    for run in runs[1:]:
        nothing, *members = run.split(_BETWEEN)
        if nothing:
            return None
        flat += members
    return flat


def _with(order: Order, news: dict[str, Any]) -> Order:
    moved = Order.__new__(Order)
    put = object.__setattr__
    put(moved, "__dict__", order.__dict__ | news)
    put(moved, "__pydantic_fields_set__", order.model_fields_set)
    put(moved, "__pydantic_extra__", None)
    put(moved, "__pydantic_private__", None)
    return moved


@cache
def _kind(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(Order.model_fields[_SEPARATE[name]].rebuild_annotation())


def _value(member: re.Match[str]) -> Any:
    _, text, number, word = member.groups()
    if text is not None:
        return text
    return number_token(number) if number is not None else _WORDS[word]


# A logger of its own: the library's DEBUG lines hold the Authorization header.
_socket_log = logging.getLogger("swapdesk.client.stream_socket.frames")
_socket_log.setLevel(logging.WARNING)


class StreamTimes(Struct, frozen=True):
    """The intervals and limits of the stream in seconds. A dead connection is noticed after
    ``ping_every + pong_within``."""

    ping_every: float = 10.0
    pong_within: float = 5.0
    quiet_limit: float = 30.0
    poll_down: float = 10.0
    poll_live: float = 30.0
    open_within: float = 10.0
    acknowledged_within: float = 5.0
    first_jitter: float = 1.0
    backoff_cap: float = 30.0
    steady_after: float = 30.0
    longest_retry_after: float = LONGEST_HOLD


class SocketLost(Exception):
    """Raised if the connection failed or ended. ``fatal`` means that the credentials were refused,
    ``restarting`` that the service restarts. ``retry_after`` is the seconds to wait, or None if
    unknown."""

    def __init__(
        self,
        reason: str,
        *,
        fatal: bool = False,
        restarting: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fatal = fatal
        self.restarting = restarting
        self.retry_after = retry_after


def stream_url(base_url: str) -> str:
    """Returns the WebSocket address of the order stream for the address of an API."""
    url = service_url(base_url)
    scheme = "wss" if url.scheme == "https" else "ws"
    return str(url.copy_with(scheme=scheme, path=url.path + STREAM_PATH))


@runtime_checkable
class CarriesStreams(Protocol):
    """An HTTP transport that can also open the stream, without a network socket."""

    async def open_stream(self, url: str, headers: Mapping[str, str]) -> ClientConnection:
        """Opens the stream: a WebSocket, or an object with the same methods. Raises InvalidStatus
        or OSError."""
        ...


class OrderSocket:
    """An open connection of the stream. ``on_heard`` is called for every message and pong."""

    def __init__(
        self,
        connection: ClientConnection,
        clock: Clock,
        times: StreamTimes,
        on_heard: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._times = times
        self._on_heard = on_heard
        self._frames = OrderFrames(MAX_MESSAGE)
        self.subscribed = asyncio.Event()

    @classmethod
    async def open(
        cls,
        url: str,
        credentials: Credentials,
        clock: Clock,
        times: StreamTimes,
        on_heard: Callable[[], None],
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> OrderSocket:
        """Connects, without retries. Raises SocketLost. If ``transport`` is a
        :class:`CarriesStreams`, it replaces the network."""
        from websockets.exceptions import InvalidStatus, WebSocketException

        try:
            if isinstance(transport, CarriesStreams):
                connection = await transport.open_stream(url, credentials.headers())
            else:
                connection = await _connected(url, credentials, times)
        except InvalidStatus as error:
            status = error.response.status_code
            values = {
                name: error.response.headers.get_all(name) for name in ("Retry-After", "Date")
            }
            wait = retry_after(
                ", ".join(values["Retry-After"]), clock.now(), next(iter(values["Date"]), None)
            )
            raise SocketLost(
                f"the stream answered {status}", fatal=status in (401, 403), retry_after=wait
            ) from None
        except (WebSocketException, OSError, TimeoutError, ValueError) as error:
            raise SocketLost(f"no stream ({type(error).__name__})") from None
        on_heard()
        return cls(connection, clock, times, on_heard)

    async def subscribe(self) -> None:
        frame = encode_json(ClientFrame(type="subscribe"), exclude_none=True)
        await self._guarded(self._connection.send(frame.decode("utf-8")))

    async def frames(self) -> AsyncIterator[ServerFrame | Order | None]:
        """Yields each message as an order, another frame, or None if unusable. Raises SocketLost
        when the connection ends."""
        from websockets.exceptions import ConnectionClosed

        loop = asyncio.get_running_loop()
        turn_ends = loop.time() + TURN_SECONDS
        try:
            while True:
                message = await self._connection.recv()
                self._on_heard()
                frame = None if isinstance(message, bytes) else self._frames.read(message)
                if isinstance(frame, ServerFrame):
                    if frame.type == "subscribed":
                        self.subscribed.set()
                    if frame.code == StreamError.AUTH_FAILED:
                        raise SocketLost("the stream refused the credentials", fatal=True)
                yield frame
                if loop.time() >= turn_ends:
                    # A message that is there already is received without a break.
                    await asyncio.sleep(0)
                    turn_ends = loop.time() + TURN_SECONDS
        except ConnectionClosed as closed:
            raise _loss(closed) from None

    async def heartbeat(self) -> None:
        """Sends pings until the connection ends. Raises SocketLost if a pong is late."""
        while True:
            await self._clock.sleep(self._times.ping_every)
            if not await self._in_time(self._pong(), self._times.pong_within):
                raise SocketLost("the stream fell silent")
            self._on_heard()

    async def acknowledged(self) -> None:
        """Waits for the confirmation of the subscription, but only for a few seconds, because some
        services never confirm."""
        await self._in_time(self.subscribed.wait(), self._times.acknowledged_within)

    async def close(self) -> None:
        """Closes the connection without waiting for the peer, which may be gone."""
        if not self._connection.transport.is_closing():
            self._connection.transport.abort()
        await self._connection.wait_closed()

    async def _pong(self) -> None:
        waiter = await self._connection.ping()
        await waiter

    async def _in_time(self, work: Awaitable[Any], seconds: float) -> bool:
        return await within(self._clock, seconds, self._guarded(work))

    async def _guarded(self, work: Awaitable[Any]) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await work
        except ConnectionClosed as closed:
            raise _loss(closed) from None


async def _connected(url: str, credentials: Credentials, times: StreamTimes) -> ClientConnection:
    from websockets.asyncio.client import connect

    class Straight(connect):
        def process_redirect(self, exc: Exception) -> Exception:
            return exc

    return await Straight(
        url,
        additional_headers=credentials.headers(),
        compression=None,
        proxy=None,
        open_timeout=times.open_within,
        close_timeout=1.0,
        # The pings are sent by heartbeat(), on the injected clock.
        ping_interval=None,
        max_size=MAX_MESSAGE,
        max_queue=WAITING_MESSAGES,
        logger=_socket_log,
    )


def _loss(closed: Any) -> SocketLost:
    code = closed.rcvd.code if closed.rcvd is not None else None
    if code is None:
        sent = closed.sent.code if closed.sent is not None else None
        return SocketLost("the stream broke off" if sent is None else f"the stream ended ({sent})")
    return SocketLost(
        f"the stream was closed ({code})",
        fatal=code == CloseCode.AUTH_FAILED,
        restarting=code == CloseCode.RESTART,
    )

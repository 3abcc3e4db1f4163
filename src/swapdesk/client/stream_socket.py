"""One WebSocket connection of the order stream, from handshake to loss (contract 11.1)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from swapdesk.background import within
from swapdesk.client.credentials import Credentials, service_url
from swapdesk.client.order_frames import OrderFrames
from swapdesk.clock import Clock
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.timestamps import LONGEST_HOLD, retry_after
from swapdesk.wire.events import ClientFrame, CloseCode, ServerFrame, StreamError
from swapdesk.wire.operations import STREAM_PATH
from swapdesk.wire.orders import Order

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

MAX_MESSAGE = 256 * 1024
WAITING_MESSAGES = 64
"""Received and not read yet, before the peer has to wait: with fewer, a stream of many orders
stops and starts the reading of the socket all the time."""
TURN_SECONDS = 0.01
"""For as long messages are read one after the other before the rest of the program has its turn."""
# A logger of its own: the library's DEBUG lines hold the Authorization header.
_socket_log = logging.getLogger("swapdesk.client.stream_socket.frames")
_socket_log.setLevel(logging.WARNING)


class StreamTimes(Struct, frozen=True):
    """Seconds. A half-open socket is found after ``ping_every + pong_within``."""

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
    """The connection could not be opened or ended. ``fatal``: the credentials were refused."""

    def __init__(
        self, reason: str, *, fatal: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fatal = fatal
        self.retry_after = retry_after


def stream_url(base_url: str) -> str:
    """The address of the stream that belongs to an API address."""
    url = service_url(base_url)
    scheme = "wss" if url.scheme == "https" else "ws"
    return str(url.copy_with(scheme=scheme, path=url.path + STREAM_PATH))


class OrderSocket:
    """An open connection. ``on_heard`` is called for every message and pong."""

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
    ) -> OrderSocket:
        """Connect once, without redirects, proxies or compression; :class:`SocketLost`."""
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidStatus, WebSocketException

        class Straight(connect):
            def process_redirect(self, exc: Exception) -> Exception:
                return exc

        try:
            connection = await Straight(
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
        except InvalidStatus as error:
            status = error.response.status_code
            told = {name: error.response.headers.get_all(name) for name in ("Retry-After", "Date")}
            wait = retry_after(
                ", ".join(told["Retry-After"]), clock.now(), next(iter(told["Date"]), None)
            )
            raise SocketLost(
                f"the stream answered {status}", fatal=status in (401, 403), retry_after=wait
            ) from None
        except (WebSocketException, OSError, TimeoutError, ValueError) as error:
            raise SocketLost(f"no stream ({type(error).__name__})") from None
        on_heard()
        return cls(connection, clock, times, on_heard)

    async def subscribe(self) -> None:
        """Ask for all orders of the account."""
        frame = encode_json(ClientFrame(type="subscribe"), exclude_none=True)
        await self._guarded(self._connection.send(frame.decode("utf-8")))

    async def frames(self) -> AsyncIterator[ServerFrame | Order | None]:
        """Every message, of an update the order; None for one that cannot be used. Ends with
        :class:`SocketLost`. However many wait, others have their turn in between."""
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
        """Ping for ever; :class:`SocketLost` when a pong is late."""
        while True:
            await self._clock.sleep(self._times.ping_every)
            if not await self._in_time(self._pong(), self._times.pong_within):
                raise SocketLost("the stream fell silent")
            self._on_heard()

    async def acknowledged(self) -> None:
        """Wait until the subscription is in force. A service that never says so is believed."""
        await self._in_time(self.subscribed.wait(), self._times.acknowledged_within)

    async def close(self) -> None:
        """Hang up without waiting for a peer that may be gone."""
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


def _loss(closed: Any) -> SocketLost:
    code = closed.rcvd.code if closed.rcvd is not None else None
    if code is None:
        sent = closed.sent.code if closed.sent is not None else None
        return SocketLost("the stream broke off" if sent is None else f"the stream ended ({sent})")
    return SocketLost(f"the stream was closed ({code})", fatal=code == CloseCode.AUTH_FAILED)

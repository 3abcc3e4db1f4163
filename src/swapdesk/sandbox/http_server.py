"""The HTTP server of every part of the sandbox, which limits what a connection may do.

Malformed, too large or too slow requests never reach the application; the server answers them in
the same form (contract 1.20).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import ctypes
import hmac
import logging
import socket
import struct
import sys
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from email.utils import format_datetime
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from swapdesk.chain.rpc.ledger import TOKEN_HEADER
from swapdesk.clock import Clock
from swapdesk.keepalive import SERVER_SECONDS
from swapdesk.service.front import Front, Told, customer_of
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import ErrorBody, ErrorCode
from swapdesk.wire.events import MAX_FRAME_BYTES

logger = logging.getLogger(__name__)


def misdirected(headers: Mapping[str, str], hosts: frozenset[str]) -> tuple[int, str] | None:
    """Returns the status and reason for refusing a request to a host name that is not served (a
    sign of DNS rebinding); None if the request is allowed. Loopback names are served, and those in
    ``hosts``."""
    if not _served(f"//{headers.get('host', '')}", hosts):
        return 421, "This host name is not served here."
    return None


def misled(headers: Mapping[str, str], hosts: frozenset[str]) -> tuple[int, str] | None:
    """Returns the status and reason for refusing a request whose ``Host`` or ``Origin`` shows that
    it comes from another website; None if the request is allowed. ``hosts`` are served names
    besides the loopback names."""
    refused = misdirected(headers, hosts)
    origin = headers.get("origin")
    if refused is None and origin is not None and not _served(origin, hosts):
        return 403, "Requests of other origins are not served."
    return refused


def refusal(
    headers: Mapping[str, str], token: str, hosts: frozenset[str]
) -> tuple[int, str] | None:
    """Returns the status and reason for refusing a request that comes from another website or lacks
    the token; None if the request is allowed."""
    refused = misled(headers, hosts)
    given = headers.get(TOKEN_HEADER, "").encode()
    if refused is None and not hmac.compare_digest(given, token.encode()):
        return 401, f"The header {TOKEN_HEADER} is missing or wrong."
    return refused


def _served(url: str, hosts: frozenset[str]) -> bool:
    try:
        name = urlsplit(url).hostname or ""
        if name == "localhost" or name in hosts:
            return True
        address = ip_address(name)
    except ValueError:
        return False
    # Who listens on every address has none to be named by; an address is no name to rebind.
    return address.is_loopback or bool({"0.0.0.0", "::"} & hosts)


CUT = "swapdesk.cut"
"""Key in ``scope["state"]``. Its value is a function that aborts the connection."""
FORWARDED_HOST = "swapdesk.host"
"""Key in ``scope["state"]`` for the host name that the caller used, present only if a trusted proxy
states it."""

URL_LIMIT = 64 * 1024
HEADER_LIMIT = 16 * 1024
"""Largest size in bytes of all header fields of a request together."""
FRAMING_LIMIT = 1024 * 1024
"""Largest number of bytes of a request's body that are not content but chunk sizes and trailers."""
HANDSHAKE_LINE_LIMIT = 8_000
HANDSHAKE_FIELDS_LIMIT = 128
"""Largest number of header fields of a WebSocket handshake; the WebSocket library would not answer
more."""

REQUEST_SECONDS = 20.0
"""Seconds in which the head of a request must arrive, and then its body."""
STUCK_SECONDS = 30.0
"""Seconds without progress after which an answer is aborted."""
LEAVE_SECONDS = 5.0
"""Seconds in which the last bytes of a closing connection must be sent."""

MOST_CONNECTIONS = 400
"""Largest number of connections of a port. Two ports of a process stay below 1,024 descriptors."""
MOST_STREAMS = 256
MOST_CONNECTIONS_OF_A_PEER, MOST_STREAMS_OF_A_PEER = 300, 192
"""Most connections and streams from one address (behind a trusted proxy, from one caller), so that
nobody can take all."""


def refusal_of(clock: Clock, code: ErrorCode, message: str) -> tuple[dict[str, str], bytes]:
    """Returns headers and body of an error answer, for requests that do not reach the
    application."""
    request_id = str(uuid.uuid4())
    body = encode_json(ErrorBody(message=message, code=code, request_id=request_id))
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "date": format_datetime(clock.now(), usegmt=True),
        "x-request-id": request_id,
    }
    return headers, body


async def refuse(
    scope: Any,
    send: Any,
    clock: Clock,
    status: int,
    message: str,
    code: ErrorCode,
    more_headers: Mapping[str, str] | None = None,
) -> None:
    """Sends an error answer to a request or a handshake in place of the application."""
    kind = "websocket.http" if scope["type"] == "websocket" else "http"
    headers, body = refusal_of(clock, code, message)
    headers |= more_headers or {}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": f"{kind}.response.start", "status": status, "headers": pairs})
    await send({"type": f"{kind}.response.body", "body": body})


class BoundedConfig(uvicorn.Config):
    """uvicorn's configuration, extended by the clock that measures the age of connections and by
    the trusted proxies (``front``)."""

    def __init__(self, app: Any, clock: Clock, front: Front, **settings: Any) -> None:
        super().__init__(_answering(app, clock), http=BoundedHttp, ws=BoundedStream, **settings)
        self.clock = clock
        self.front = front
        self.ending = False
        """True once the server is ending, so that connections are no longer kept alive."""


def _answering(app: Any, clock: Clock) -> Any:

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        begun = False

        async def noted(message: Any) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await app(scope, receive, noted)
        except Exception:
            if scope["type"] == "http" and not begun:
                message = "Something went wrong. Quote the request id to support."
                await refuse(scope, send, clock, 500, message, ErrorCode.INTERNAL_SERVER_ERROR)
            # The server logs it whole.
            raise

    return answer


class _Outflow:
    def __init__(self) -> None:
        self._seen = 0
        self._since = 0.0

    def is_stuck(self, waiting: int, ending: bool, now: float) -> bool:
        """Returns True if pending output made no progress for STUCK_SECONDS. If the connection is
        ``ending``, returns True if the output was not sent completely within LEAVE_SECONDS."""
        seen = -1 if ending else waiting
        if seen != self._seen:
            self._seen, self._since = seen, now
        return seen != 0 and now - self._since >= (LEAVE_SECONDS if ending else STUCK_SECONDS)


class BoundedHttp(HttpToolsProtocol):
    """uvicorn's HTTP protocol, with limits on the size of request heads and on the duration of
    requests. An application can abort its connection."""

    config: BoundedConfig

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.url = b""
        self._due: float | None = self._in(REQUEST_SECONDS)
        """Monotonic time by which the rest of a request must arrive; None while nothing is
        awaited."""
        self._fed = False
        self._room = self._fields = HEADER_LIMIT
        self._problem = 400, "This is no valid HTTP request.", ErrorCode.BAD_REQUEST
        self._outflow = _Outflow()

    def _in(self, seconds: float) -> float:
        return self.config.clock.monotonic() + seconds

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, CUT: transport.abort}
        self._proxy = self._trusted()
        if self._is_crowd(self.connections, MOST_CONNECTIONS, MOST_CONNECTIONS_OF_A_PEER):
            self._refuse_crowd("connections")

    def _trusted(self) -> str | None:
        if self.client is None or not self.config.front.trusts(self.client[0]):
            return None
        proxy, self.client = self.client[0], None
        return proxy

    # What comes

    def data_received(self, data: bytes) -> None:
        if self._due is None and self._is_answered():
            self._due = self._in(REQUEST_SECONDS)
        self._fed = True
        self._room -= len(data)
        super().data_received(data)
        if self._room < 0 and not self.transport.is_closing():
            self._refuse(431, "The header fields have at most 16 KiB.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._due = self._in(REQUEST_SECONDS)
        self._room = self._fields = HEADER_LIMIT

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._room += len(url)
        if len(self.url) > URL_LIMIT:
            self._raise(400, "The URL has at most 64 KiB.")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields -= len(name) + len(value) + 4
        if self._fields < 0:
            self._raise(431, "The header fields have at most 16 KiB.")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._proxy is not None:
            forwarded = self.config.front.told(self._proxy, self.headers)
            self.client = self.scope["client"] = forwarded.address or self._proxy, 0
            self.scope["scheme"] = forwarded.scheme or "http"
            self.scope["state"][FORWARDED_HOST] = forwarded.host
            if self._is_crowd(self.connections, MOST_CONNECTIONS, MOST_CONNECTIONS_OF_A_PEER):
                self._raise(503, _CROWD.format("connections"), ErrorCode.SERVICE_UNAVAILABLE)
        super().on_headers_complete()
        if self.config.ending and self.cycle is not None:
            self.cycle.keep_alive = False
        self._due = self._in(REQUEST_SECONDS)
        self._room = FRAMING_LIMIT

    def on_body(self, body: bytes) -> None:
        self._room += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._due = None
        if self._is_answered():
            # The answer came first, and uvicorn does not wait for the next request any more.
            self._due, self._fed = self._in(self.timeout_keep_alive), False

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._proxy is not None:
            # The next request may be anybody's.
            self.client = None

    def _is_answered(self) -> bool:
        return self.cycle is not None and self.cycle.response_complete

    def is_idle(self) -> bool:
        """Returns True if the connection has no request, complete or in part, that still has to be
        answered."""
        coming = self._due is not None and self._fed
        return (self.cycle is None or self._is_answered()) and not coming

    def _raise(self, status: int, message: str, code: ErrorCode = ErrorCode.BAD_REQUEST) -> None:
        self._problem = status, message, code
        raise ValueError(message)

    def sweep(self, now: float) -> None:
        """Refuses a request that has not arrived in time, and aborts a connection whose output
        makes no progress."""
        closing = self.transport.is_closing()
        if self._outflow.is_stuck(self.transport.get_write_buffer_size(), closing, now):
            self.transport.abort()
        elif closing or self._due is None:
            return
        elif self.pipeline:
            # Of a request behind another one nothing is read meanwhile.
            self._due = now + REQUEST_SECONDS
        elif now >= self._due and self._fed:
            self._refuse(408, "The request did not come to its end in time.")
        elif now >= self._due:
            self.transport.close()

    # Handshakes

    def _should_upgrade(self) -> bool:
        if not super()._should_upgrade() or self.scope["method"] != "GET":
            return False
        versions = [value for name, value in self.headers if name == b"sec-websocket-version"]
        keys = [value for name, value in self.headers if name == b"sec-websocket-key"]
        longest = max(len(self.url), *(len(name) + len(value) for name, value in self.headers))
        readable = longest <= HANDSHAKE_LINE_LIMIT and len(self.headers) <= HANDSHAKE_FIELDS_LIMIT
        return readable and versions == [b"13"] and len(keys) == 1 and _is_nonce(keys[0])

    def handle_websocket_upgrade(self) -> None:
        streams = [
            connection for connection in self.connections if isinstance(connection, BoundedStream)
        ]
        if self._is_crowd([*streams, self], MOST_STREAMS, MOST_STREAMS_OF_A_PEER):
            self._refuse_crowd("streams")
        else:
            super().handle_websocket_upgrade()

    # What is refused here

    def _is_crowd(self, those: Collection[Any], most: int, of_a_peer: int) -> bool:
        if len(those) <= min(most, of_a_peer):
            return False
        peer = _peer(self.client)
        same = 0 if peer is None else sum(_peer(connection.client) == peer for connection in those)
        return len(those) > most or same > of_a_peer

    def _refuse_crowd(self, what: str) -> None:
        logger.warning("too many %s at once", what)
        self._refuse(503, _CROWD.format(what), ErrorCode.SERVICE_UNAVAILABLE)

    def send_400_response(self, msg: str) -> None:
        self._refuse(*self._problem)

    def _refuse(self, status: int, message: str, code: ErrorCode = ErrorCode.BAD_REQUEST) -> None:
        """Answers with an error and closes the connection, or only closes it if an earlier answer
        is still due."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            # What the application still says of it goes nowhere.
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started or self.pipeline or not cycle.more_body:
                self.transport.abort()
                return
        headers, body = refusal_of(self.config.clock, code, message)
        headers["connection"] = "close"
        if status == 503:
            headers["retry-after"] = "1"
        head = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        self.transport.write("\r\n".join([*head, "", ""]).encode() + body)
        self.transport.close()


def _peer(client: tuple[str, int] | None) -> str | None:
    return None if client is None else customer_of(client[0])


_CROWD = "There are too many {} at once. Try again."


def _is_nonce(key: bytes) -> bool:
    try:
        return len(base64.b64decode(key, validate=True)) == 16
    except binascii.Error:
        return False


class BoundedStream(WebSocketsSansIOProtocol):
    """A WebSocket connection that is closed after its last frame, even if the peer does not read
    that frame."""

    config: BoundedConfig

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.close_timeout = LEAVE_SECONDS
        self.conn = _Handshake(
            self.config.clock,
            max_size=self.config.ws_max_size,
            logger=logging.getLogger("uvicorn.error"),
        )
        self._outflow = _Outflow()

    def handle_connect(self, event: Request) -> None:
        forwarded = Told()
        if self.client is not None and self.config.front.trusts(self.client[0]):
            headers = [
                (name.lower().encode("latin-1"), value.encode("latin-1", "surrogateescape"))
                for name, value in event.headers.raw_items()
            ]
            forwarded = self.config.front.told(self.client[0], headers)
            self.client = forwarded.address or self.client[0], 0
            self.scheme = "wss" if forwarded.scheme == "https" else "ws"
        super().handle_connect(event)
        if forwarded.host is not None:
            self.scope["state"][FORWARDED_HOST] = forwarded.host

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        if not self.writable.is_set():
            # The application has waited already: its last word cannot even be written.
            self.transport.abort()

    def leave(self) -> None:
        if self.handshake_complete and not (self.close_sent or self.transport.is_closing()):
            self.shutdown()

    def sweep(self, now: float) -> None:
        """Aborts a closed connection whose last bytes are overdue. Open connections with slow
        readers are left to the application."""
        if self._outflow.is_stuck(0, self.close_sent or self.transport.is_closing(), now):
            self.transport.abort()


class _Handshake(ServerProtocol):
    def __init__(self, clock: Clock, **settings: Any) -> None:
        super().__init__(**settings)
        self._clock = clock

    def reject(self, status: int, text: str) -> Response:
        response = super().reject(status, text)
        code = ErrorCode.INTERNAL_SERVER_ERROR if status >= 500 else ErrorCode.BAD_REQUEST
        headers, body = refusal_of(self._clock, code, text.strip() or "The handshake is refused.")
        headers["connection"] = "close"
        return Response(response.status_code, response.reason_phrase, Headers(headers), body)


SHUTDOWN_SECONDS = 1.0
DRAIN_SECONDS = 20.0
"""Seconds that a service has to finish what it began, when another process has replaced it."""
IDLE_SHARE = 0.1
"""Share of an ending server's time limit after which idle connections are closed. Earlier, a
request could be on its way."""
HANDSHAKE_SECONDS = 0.25
"""Seconds for which a server that is told to end still finishes connections that are being
opened."""
SWEEP_SECONDS = 1.0
PING_SECONDS = 30.0
PONG_SECONDS = 2 * PING_SECONDS
"""Seconds without an answer to a ping after which a connection is dropped, that is after two missed
pings (contract 11.7)."""


def _tells_a_defect(record: logging.LogRecord) -> bool:
    raised = record.exc_info[1] if record.exc_info else None
    refused = record.msg == "ASGI callable returned without completing handshake."
    return not (refused or isinstance(raised, asyncio.CancelledError))


logging.getLogger("uvicorn.error").addFilter(_tells_a_defect)


class _Server(uvicorn.Server):
    config: BoundedConfig

    def __init__(self, config: BoundedConfig, drain_seconds: float) -> None:
        super().__init__(config)
        self._drain_seconds = drain_seconds

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Installs no signal handlers: signals belong to the process, which may run several
        servers."""
        yield

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        sweeping = asyncio.create_task(self._sweep())
        try:
            await super().serve(sockets)
        finally:
            sweeping.cancel()
            await asyncio.gather(sweeping, return_exceptions=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stops accepting connections and waits for open requests to finish. Cuts off requests that
        take too long."""
        if self._drain_seconds > SHUTDOWN_SECONDS:
            for listener in sockets or ():
                _turn_away(listener)
            await asyncio.sleep(HANDSHAKE_SECONDS)
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        await self._drain()
        for task in tuple(self.server_state.tasks):
            task.cancel()
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()
        await asyncio.gather(*self.server_state.tasks, return_exceptions=True)
        await self.lifespan.shutdown()

    async def _drain(self) -> None:
        state, clock = self.server_state, self.config.clock
        self.config.ending = True
        for connection in state.connections:
            if isinstance(connection, BoundedHttp) and connection.cycle is not None:
                connection.cycle.keep_alive = False
        begun = clock.monotonic()
        while (state.connections or state.tasks) and not self.force_exit:
            waited = clock.monotonic() - begun
            if waited >= self._drain_seconds:
                logger.info("%d requests and streams are cut off", len(state.tasks))
                return
            if waited >= self._drain_seconds * IDLE_SHARE:
                for connection in tuple(state.connections):
                    if isinstance(connection, BoundedStream):
                        connection.leave()
                    elif isinstance(connection, BoundedHttp) and connection.is_idle():
                        connection.transport.close()
            await asyncio.sleep(_LOOK_SECONDS)

    async def _sweep(self) -> None:
        while True:
            await self.config.clock.sleep(SWEEP_SECONDS)
            for connection in tuple(self.server_state.connections):
                if isinstance(connection, BoundedHttp | BoundedStream):
                    connection.sweep(self.config.clock.monotonic())


_LOOK_SECONDS = 0.02


def _turn_away(listener: socket.socket) -> None:
    """Refuses new connections on a listening socket. Connections that already wait to be accepted
    stay, so that no request is lost. Does nothing outside Linux."""
    if sys.platform != "linux":
        return
    program = b"".join(
        struct.pack("HBBI", *instruction)
        for instruction in (
            (0x30, 0, 0, 13),  # the flags of the TCP header
            (0x54, 0, 0, 0x12),  # SYN and ACK of them
            (0x15, 1, 0, 0x02),  # SYN alone?
            (0x06, 0, 0, 0xFFFFFFFF),  # no: keep the packet
            (0x06, 0, 0, 0),  # yes: drop it
        )
    )
    held = ctypes.create_string_buffer(program)
    attached = struct.pack("HP", len(program) // 8, ctypes.addressof(held))
    with contextlib.suppress(OSError):  # then it is closed as it is
        listener.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, attached)


_ATTACH_FILTER = 26
"""``SO_ATTACH_FILTER`` of Linux, for which Python has no name."""


def build_server(
    app: Any,
    clock: Clock,
    *,
    lifespan: bool = False,
    front: Front | None = None,
    drain_seconds: float = SHUTDOWN_SECONDS,
) -> uvicorn.Server:
    """Builds a server for one ASGI application. Set ``should_exit`` to end it. If ``front`` is
    None, no proxy is trusted. ``drain_seconds`` is the time to finish requests; raise it only if no
    other process shares the socket."""
    return _Server(
        BoundedConfig(
            app,
            clock,
            front or Front(),
            loop="uvloop",
            lifespan="on" if lifespan else "off",
            date_header=False,
            server_header=False,
            proxy_headers=False,
            access_log=False,
            log_config=None,
            # A message that is a little too large is answered, a much larger one closes with 1009.
            ws_max_size=2 * MAX_FRAME_BYTES,
            ws_per_message_deflate=False,
            # Half a minute without life is asked about, a whole one ends the stream.
            ws_ping_interval=PING_SECONDS,
            ws_ping_timeout=PONG_SECONDS,
            timeout_keep_alive=SERVER_SECONDS,
        ),
        drain_seconds,
    )


async def serve_until(
    stop: asyncio.Event,
    *servers: tuple[uvicorn.Server, socket.socket],
    before_exit: Callable[[], None] | None = None,
    hurry: asyncio.Event | None = None,
) -> None:
    """Runs all servers until ``stop`` is set or one server ends. Then calls ``before_exit`` and
    ends the other servers; open requests may finish unless ``hurry`` is set."""
    tasks = [asyncio.create_task(server.serve(sockets=[listener])) for server, listener in servers]
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
    if before_exit is not None:
        before_exit()
    for server, _ in servers:
        server.should_exit = True
    ended = asyncio.gather(*tasks)
    hurrying = asyncio.create_task((hurry or asyncio.Event()).wait())
    either: list[asyncio.Future[Any]] = [hurrying, ended]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    for server, _ in servers:
        server.force_exit = True
    await ended
    for waiting in (stopping, hurrying):
        waiting.cancel()


async def started(server: uvicorn.Server, stop: asyncio.Event) -> bool:
    """Waits until a server accepts connections; returns False if ``stop`` is set before that."""
    while not server.started:
        if stop.is_set():
            return False
        await asyncio.sleep(0.01)
    return True

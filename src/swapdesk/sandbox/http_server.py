"""The server every part of the sandbox listens with, and connections that can be cut."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from swapdesk.kept_connections import SERVER_SECONDS

CUT = "swapdesk.cut"
"""Name in ``scope["state"]`` of a callable that cuts the connection without another byte."""

SHUTDOWN_SECONDS = 1
_CUT_OFF = "Cancel %s running task(s), timeout graceful shutdown exceeded"
PING_SECONDS = 30.0
PONG_SECONDS = 2 * PING_SECONDS
"""A connection that missed two pings is dropped (wire decisions 6)."""


class CuttableProtocol(HttpToolsProtocol):
    """Hands applications a way to break their own connection, WebSockets included."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, CUT: transport.abort}

    def _should_upgrade(self) -> bool:
        """Whether a complete handshake (RFC 6455, 4.2.1) has come.

        An incomplete one stays a plain request, which the application refuses in its own form.
        """
        if not super()._should_upgrade() or self.scope["method"] != "GET":
            return False
        versions = [value for name, value in self.headers if name == b"sec-websocket-version"]
        keys = [value for name, value in self.headers if name == b"sec-websocket-key"]
        return versions == [b"13"] and len(keys) == 1 and _nonce(keys[0])


def _nonce(key: bytes) -> bool:
    """Whether a key is 16 bytes in base64."""
    try:
        return len(base64.b64decode(key, validate=True)) == 16
    except binascii.Error:
        return False


def _tells_a_defect(record: logging.LogRecord) -> bool:
    """Whether a line of uvicorn is about more than requests that were cut off because the server
    ends, which it reports as errors with their whole stack."""
    raised = record.exc_info[1] if record.exc_info else None
    return not (isinstance(raised, asyncio.CancelledError) or record.msg == _CUT_OFF)


logging.getLogger("uvicorn.error").addFilter(_tells_a_defect)


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the process, which may run more than one server."""
        yield


def build_server(app: Any, *, lifespan: bool = False) -> uvicorn.Server:
    """A server for one ASGI application; its ``should_exit`` ends it."""
    return _Server(
        uvicorn.Config(
            app,
            loop="uvloop",
            http=CuttableProtocol,
            ws="websockets-sansio",
            lifespan="on" if lifespan else "off",
            date_header=False,
            server_header=False,
            proxy_headers=False,
            access_log=False,
            log_config=None,
            ws_max_size=64 * 1024,
            ws_per_message_deflate=False,
            # Half a minute without life is asked about, a whole one ends the stream.
            ws_ping_interval=PING_SECONDS,
            ws_ping_timeout=PONG_SECONDS,
            timeout_keep_alive=SERVER_SECONDS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
    )


async def serve_until(
    stop: asyncio.Event,
    *servers: tuple[uvicorn.Server, socket.socket],
    before_exit: Callable[[], None] | None = None,
) -> None:
    """Run all servers until ``stop`` is set or one of them ends.

    ``before_exit`` tells open connections first, so that they close with a code of their own.
    """
    tasks = [asyncio.create_task(server.serve(sockets=[listener])) for server, listener in servers]
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait([stopping, *tasks], return_when=asyncio.FIRST_COMPLETED)
    if before_exit is not None:
        before_exit()
    for server, _ in servers:
        server.should_exit = True
    await asyncio.gather(*tasks)
    stopping.cancel()


async def started(server: uvicorn.Server, stop: asyncio.Event) -> bool:
    """Wait until a server accepts connections; False when it is told to stop before."""
    while not server.started:
        if stop.is_set():
            return False
        await asyncio.sleep(0.01)
    return True

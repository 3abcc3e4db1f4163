"""The server every part of the sandbox listens with."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from swapdesk.clock import Clock
from swapdesk.kept_connections import SERVER_SECONDS
from swapdesk.sandbox.http_protocols import BoundedConfig, BoundedHttp, BoundedStream
from swapdesk.wire.events import MAX_FRAME_BYTES

SHUTDOWN_SECONDS = 1
SWEEP_SECONDS = 1.0
_CUT_OFF = "Cancel %s running task(s), timeout graceful shutdown exceeded"
PING_SECONDS = 30.0
PONG_SECONDS = 2 * PING_SECONDS
"""A connection that missed two pings is dropped (contract 11.7)."""


def _tells_a_defect(record: logging.LogRecord) -> bool:
    """Whether a line of uvicorn is about more than requests that were cut off because the server
    ends, which it reports as errors with their whole stack."""
    raised = record.exc_info[1] if record.exc_info else None
    return not (isinstance(raised, asyncio.CancelledError) or record.msg == _CUT_OFF)


logging.getLogger("uvicorn.error").addFilter(_tells_a_defect)


class _Server(uvicorn.Server):
    config: BoundedConfig

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the process, which may run more than one server."""
        yield

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        sweeping = asyncio.create_task(self._sweep())
        try:
            await super().serve(sockets)
        finally:
            sweeping.cancel()
            await asyncio.gather(sweeping, return_exceptions=True)

    async def _sweep(self) -> None:
        """End connections whose time is over."""
        while True:
            await self.config.clock.sleep(SWEEP_SECONDS)
            for each in tuple(self.server_state.connections):
                if isinstance(each, BoundedHttp | BoundedStream):
                    each.sweep(self.config.clock.monotonic())


def build_server(app: Any, clock: Clock, *, lifespan: bool = False) -> uvicorn.Server:
    """A server for one ASGI application; its ``should_exit`` ends it."""
    return _Server(
        BoundedConfig(
            app,
            clock,
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

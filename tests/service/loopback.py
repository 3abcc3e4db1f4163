"""The service, and any other server, on a real socket of this machine, as the sandbox serves it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import uvicorn

from manual_time import until
from swapdesk.clock import Clock, ManualClock
from swapdesk.sandbox.http_server import build_server, serve_until, started
from swapdesk.sandbox.processes import listen
from swapdesk.service.app import build_service
from swapdesk.service.handlers import ServiceParts


def listening() -> socket.socket:
    """A socket on a free port of the loopback interface."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", 0))
    return bound


def server_of(parts: ServiceParts, *, lifespan: bool = True) -> uvicorn.Server:
    return build_server(build_service(parts), parts.clock, lifespan=lifespan)


@contextlib.asynccontextmanager
async def on_port(server: uvicorn.Server, clock: Clock | None = None) -> AsyncIterator[int]:
    """The port of this machine that a server listens on until the block ends. By a ``clock`` that
    is moved it waits for connections until somebody moves it: here."""
    stop = asyncio.Event()
    with listen("127.0.0.1", 0) as bound:
        task = asyncio.create_task(serve_until(stop, (server, bound)))
        try:
            assert await started(server, stop)
            yield bound.getsockname()[1]
        finally:
            stop.set()
            if isinstance(clock, ManualClock):
                await until(clock, task.done)
            await task


@contextlib.asynccontextmanager
async def serving(parts: ServiceParts, *, lifespan: bool = True) -> AsyncIterator[str]:
    """The service at a base address ``http://127.0.0.1:PORT/v2`` until the block ends. Without its
    ``lifespan`` its worker is moved by somebody else."""
    async with on_port(server_of(parts, lifespan=lifespan)) as port:
        yield f"http://127.0.0.1:{port}/v2"

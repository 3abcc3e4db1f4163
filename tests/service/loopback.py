"""The service on a real socket of this machine, as the sandbox serves it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import uvicorn

from patience import PATIENCE
from swapdesk.sandbox.http_server import build_server
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
async def serving(parts: ServiceParts, *, lifespan: bool = True) -> AsyncIterator[str]:
    """The service at a base address ``http://127.0.0.1:PORT/v2`` until the block ends. Without its
    ``lifespan`` its worker is moved by somebody else."""
    server = server_of(parts, lifespan=lifespan)
    with listening() as bound:
        task = asyncio.create_task(server.serve([bound]))
        try:
            async with asyncio.timeout(PATIENCE):
                while not server.started:
                    await asyncio.wait({task}, timeout=0.01)
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/v2"
        finally:
            server.should_exit = True
            await task

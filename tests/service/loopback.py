"""The service on a real socket of this machine, as uvicorn serves it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import uvicorn

from patience import PATIENCE
from swapdesk.service.app import build_service
from swapdesk.service.parts import ServiceParts


def listening() -> socket.socket:
    """A socket on a free port of the loopback interface."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", 0))
    return bound


def server_of(parts: ServiceParts) -> uvicorn.Server:
    config = uvicorn.Config(
        build_service(parts),
        ws="websockets-sansio",
        ws_ping_interval=30,
        ws_ping_timeout=60,
        ws_per_message_deflate=False,
        date_header=False,
        server_header=False,
        access_log=False,
        log_level="warning",
        lifespan="on",
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)


@contextlib.asynccontextmanager
async def serving(parts: ServiceParts) -> AsyncIterator[str]:
    """The service at a base address ``http://127.0.0.1:PORT/v2`` until the block ends."""
    server = server_of(parts)
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

"""The service behind its faults, on a real socket of this machine, as the sandbox serves it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from swapdesk.clock import Clock
from swapdesk.sandbox.answer_faults import AnswerFaults
from swapdesk.sandbox.fault_layer import FaultLayer
from swapdesk.sandbox.http_server import build_server, serve_until, started
from swapdesk.sandbox.processes import listen
from swapdesk.service.app import build_service
from swapdesk.service.handlers import ServiceParts


@asynccontextmanager
async def serving_with_faults(
    parts: ServiceParts, faults: AnswerFaults, clock: Clock
) -> AsyncIterator[str]:
    """The base address ``http://127.0.0.1:PORT/v2``. The worker moves when it is told to."""
    stop = asyncio.Event()
    server = build_server(FaultLayer(build_service(parts), faults, clock), clock)
    with listen("127.0.0.1", 0) as bound:
        task = asyncio.create_task(serve_until(stop, (server, bound)))
        try:
            assert await started(server, stop)
            yield f"http://127.0.0.1:{bound.getsockname()[1]}/v2"
        finally:
            stop.set()
            await task

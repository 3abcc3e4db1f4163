"""A service of several processes over one database, each of which can be replaced by a new one on
its port while callers go on. Run as a program, it is one of the processes."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
if str(TESTS) not in sys.path:
    sys.path.insert(0, str(TESTS))

from patience import PATIENCE  # noqa: E402
from service.orders_fixtures import (  # noqa: E402
    ALICE,
    BITCOIN,
    CHAINS,
    TOKENS,
    XMR,
    venues_at,
)
from swapdesk.clock import SystemClock  # noqa: E402
from swapdesk.sandbox.http_server import (  # noqa: E402
    DRAIN_SECONDS,
    build_server,
    serve_until,
    started,
)
from swapdesk.sandbox.processes import announce, listen, stop_event  # noqa: E402
from swapdesk.service.app import assemble, build_service  # noqa: E402
from swapdesk.service.store.postgres import Place  # noqa: E402
from swapdesk.service.store.store import Store  # noqa: E402


async def serve(database: str, venues: str, port: int) -> None:
    """Until a signal, as a configured service does."""
    stop = stop_event(patient=True)
    clock, store = SystemClock(), await Store.connect(Place(database, connections=4))
    parts = assemble(
        clock,
        random.SystemRandom(),
        store,
        CHAINS,
        TOKENS,
        venues_at(Path(venues)),
        [ALICE],
        [XMR.id, BITCOIN.id],
    )
    server = build_server(build_service(parts), clock, lifespan=True, drain_seconds=DRAIN_SECONDS)
    with listen("127.0.0.1", port) as bound:
        serving = asyncio.create_task(
            serve_until(stop, (server, bound), before_exit=parts.hub.close, hurry=stop.again)
        )
        if await started(server, stop):
            announce({"port": bound.getsockname()[1]})
        await serving
    await store.close()


class Process:
    """One process of the service, and those that take its place."""

    def __init__(self, database: str, venues: Path) -> None:
        self._asked: dict[str, Any] = {"database": database, "venues": str(venues), "port": 0}
        self.running: asyncio.subprocess.Process | None = None

    @property
    def port(self) -> int:
        return int(self._asked["port"])

    async def start(self) -> None:
        self.running = await asyncio.create_subprocess_exec(
            sys.executable, __file__, json.dumps(self._asked), stdout=asyncio.subprocess.PIPE
        )
        async with asyncio.timeout(PATIENCE):
            self._asked |= json.loads(await self.running.stdout.readline())

    async def end(self) -> int:
        """The exit code after SIGTERM."""
        self.running.terminate()
        async with asyncio.timeout(PATIENCE):
            return await self.running.wait()


@asynccontextmanager
async def processes(database: str, venues: Path, number: int) -> AsyncIterator[list[Process]]:
    every = [Process(database, venues) for _ in range(number)]
    try:
        await asyncio.gather(*(each.start() for each in every))
        yield every
    finally:
        for each in every:
            if each.running is not None and each.running.returncode is None:
                os.kill(each.running.pid, 9)
                await each.running.wait()


if __name__ == "__main__":
    import uvloop

    uvloop.run(serve(**json.loads(sys.argv[1])))

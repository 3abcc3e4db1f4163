"""``python -m benchmarks.served PORT TOKENS``: the service over a large world, on one core.

The whole middleware is at work: access, rate limits, validation, request counts, log. Prints
one line with a token page and an order id when it answers.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import tempfile
from pathlib import Path

import uvloop

from benchmarks.service_world import build, stored_orders
from swapdesk.clock import SystemClock
from swapdesk.sandbox.http_server import build_server, started
from swapdesk.sandbox.world_generator import build_catalog
from swapdesk.service.app import build_service

SERVER_CORE = 0
ORDERS = 500


async def _serve(port: int, count: int) -> None:
    clock = SystemClock()
    chains, tokens = build_catalog(1, count, clock.now())
    with tempfile.TemporaryDirectory() as scratch:
        store, orders = await stored_orders(Path(scratch), tokens[:200], ORDERS, clock.now())
        server = build_server(
            build_service(build(clock, store, chains, tokens)), clock, lifespan=True
        )
        listener = socket.create_server(("127.0.0.1", port))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await started(server, asyncio.Event())
        print(json.dumps({"orders": [order.service_id for order in orders]}), flush=True)
        await serving
        await store.close()


def main() -> None:
    os.sched_setaffinity(0, {SERVER_CORE})
    port, count = map(int, sys.argv[1:])
    uvloop.run(_serve(port, count))


if __name__ == "__main__":
    main()

"""``python -m benchmarks.served PORT TOKENS ORDERS QUOTES URL``: the service over a large world,
over a database of PostgreSQL that others may use, too; embedded and on one core where ``URL`` is
empty.

The whole middleware is at work: access, rate limits, validation, request counts, log. Prints
one line with the ids of its orders and quotes when it answers.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import uvloop

from benchmarks.service_world import InstantVenue, build, orders_in, stored_quotes
from swapdesk.cli.main import OBJECTS_BETWEEN_COLLECTIONS
from swapdesk.clock import SystemClock
from swapdesk.sandbox.http_server import build_server, started
from swapdesk.sandbox.world_generator import build_catalog
from swapdesk.service.app import build_service
from swapdesk.service.store.database import Place
from swapdesk.service.store.store import Store

SERVER_CORE = 0
CLIENT_CORE = 1
ORDERS = 500


def start(
    port: int, tokens: int, orders: int = ORDERS, quotes: int = 0, database: str = ""
) -> tuple[subprocess.Popen[str], dict[str, list[str]]]:
    """The service as a process that answers, and the ids of its ``orders`` and ``quotes``."""
    numbers = map(str, (port, tokens, orders, quotes))
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.served", *numbers, database],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


async def _serve(port: int, count: int, orders: int, quotes: int, database: str) -> None:
    clock = SystemClock()
    chains, tokens = build_catalog(1, count, clock.now())
    with tempfile.TemporaryDirectory() as scratch:
        if database:
            store = await Store.connect(Place(database))
        else:
            store = Store.open(Path(scratch) / "service.db")
        held = await orders_in(store, tokens[:200], orders, clock.now())
        enabled = [token for token in tokens[:200] if token.enabled and token.chain_data.enabled]
        quoted = await stored_quotes(store, enabled, quotes, clock.now())
        parts = build(clock, store, chains, tokens, [InstantVenue()])
        server = build_server(build_service(parts), clock, lifespan=True)
        listener = socket.create_server(("127.0.0.1", port))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await started(server, asyncio.Event())
        ids = {"orders": [order.service_id for order in held], "quotes": quoted}
        print(json.dumps(ids), flush=True)
        await serving
        await store.close()


def main() -> None:
    *numbers, database = sys.argv[1:]
    if not database:
        os.sched_setaffinity(0, {SERVER_CORE})
    # As under the command.
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    port, tokens, orders, quotes = map(int, numbers)
    uvloop.run(_serve(port, tokens, orders, quotes, database))


if __name__ == "__main__":
    main()

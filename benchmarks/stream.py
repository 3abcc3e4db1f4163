"""How late an update of an order reaches a thousand readers of the stream.

Embedded: one process, one event loop. On PostgreSQL: two processes with half of the readers each,
and a third one that commits. A process is the whole service with its hub and worker, and its
sockets are in process, so that neither frames of the network nor clients take the cores; a port
would take 256 of them. Every order belongs to the one partner and every socket follows all of them:
30 commits a second are 30,000 updates a second. They come from a thread or a process of their own,
so that a busy loop does not put them off. The time counts from the commit to the
``websocket.send`` of each update, by the one clock of the machine.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import uvloop
from msgspec.structs import replace

from benchmarks import postgres_server
from benchmarks.report import Case
from benchmarks.service_world import AUTHORIZATION, build, orders_in, stored_orders
from swapdesk.clock import Clock, SystemClock
from swapdesk.sandbox.processes import leave_loaded_alone
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import build_service
from swapdesk.service.store.database import Place
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.store.store import Store
from swapdesk.wire.tokens import Token

SOCKETS = 1_000
RATE = 30
SECONDS = 10.0
MOST_SECONDS = 0.150
PROCESSES = 2
MOST_SECONDS_OF_PROCESSES = 0.250
PATIENCE = 120.0
"""What is still under way after the last commit."""
_ORDER = re.compile(r'"serviceId":"([^"]+)"')


class Socket:
    """A reader that takes every frame at once, and notes when it came."""

    def __init__(self) -> None:
        self._incoming: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._incoming.put_nowait({"type": "websocket.connect"})
        self.subscribed = asyncio.Event()
        self.updates: list[tuple[float, str]] = []

    def say(self, frame: dict[str, Any]) -> None:
        self._incoming.put_nowait({"type": "websocket.receive", "text": json.dumps(frame)})

    def leave(self) -> None:
        self._incoming.put_nowait({"type": "websocket.disconnect", "code": 1000})

    async def receive(self) -> dict[str, Any]:
        return await self._incoming.get()

    async def send(self, message: Any) -> None:
        text = message.get("text", "")
        if text.startswith('{"type":"order_update"'):
            self.updates.append((time.perf_counter(), text))
        elif '"subscribed"' in text:
            self.subscribed.set()


def run(seconds: float = SECONDS) -> list[Case]:
    with tempfile.TemporaryDirectory() as scratch:
        delays = uvloop.run(_embedded(Path(scratch), seconds))
    cases = _cases("embedded", delays, seconds, MOST_SECONDS)
    with postgres_server.server() as url:
        delays = asyncio.run(_over_processes(url, seconds))
    return cases + _cases(f"{PROCESSES} processes", delays, seconds, MOST_SECONDS_OF_PROCESSES)


def _cases(name: str, delays: list[float], seconds: float, most: float) -> list[Case]:
    """``delays`` are sorted."""
    count = len(delays)
    late = delays[int(0.99 * count)]
    missing = int(RATE * seconds) * SOCKETS - count
    print(
        f"  {name}, {SOCKETS:,} sockets x {RATE} a second: p50 {delays[count // 2] * 1e3:.1f} ms,"
        f" p99 {late * 1e3:.1f} ms, {count:,} updates"
    )
    return [
        Case(f"commit to reader, {name}, p99", "stream", "limit", late, most, 1.0, count=count),
        Case(f"never came, {name}", "stream", "limit", float(missing), 1.0, 0.0, "", 1),
    ]


async def _embedded(directory: Path, seconds: float) -> list[float]:
    """Seconds from commit to reader, sorted."""
    clock = SystemClock()
    count = int(RATE * seconds)
    store, orders = await stored_orders(directory, _tokens(clock), count, clock.now())
    async with followed(store, SOCKETS) as readers:
        committed = await asyncio.to_thread(asyncio.run, _commit(store, orders))
        await readers.come(count)
        delays = readers.delays(committed)
    await store.close()
    return sorted(delays)


async def _over_processes(url: str, seconds: float) -> list[float]:
    """The same over PostgreSQL."""
    clock = SystemClock()
    count = int(RATE * seconds)
    place = await postgres_server.database(url, "stream")
    store = await Store.connect(Place(place))
    orders = await orders_in(store, _tokens(clock), count, clock.now())
    peers = postgres_server.Peers("readers", place, [(SOCKETS // PROCESSES, count)] * PROCESSES)
    committed = await _commit(store, orders)
    peers.begin(json.dumps(committed))
    told = await asyncio.to_thread(peers.end)
    await store.close()
    return sorted(delay for each in told for delay in json.loads(each))


def _tokens(clock: Clock) -> list[Token]:
    tokens = build_tokens(build_chains(), clock.now())
    return [one for one in tokens if one.enabled and one.has_cex]


class Readers:
    """Sockets that follow every order."""

    def __init__(self, sockets: Sequence[Socket]) -> None:
        self._sockets = sockets

    async def come(self, count: int) -> None:
        """Until every socket has so many updates, or nothing can be under way any more."""
        until = time.perf_counter() + PATIENCE
        while sum(len(one.updates) for one in self._sockets) < count * len(self._sockets):
            if time.perf_counter() > until:
                break
            await asyncio.sleep(0.05)

    def delays(self, committed: Mapping[str, float]) -> list[float]:
        """Seconds since the commits, which are told by the id of the order."""
        updates = (update for one in self._sockets for update in one.updates)
        return [came - committed[_order_of(text)] for came, text in updates]


@asynccontextmanager
async def followed(store: Store, count: int) -> AsyncIterator[Readers]:
    """A process of the service over this store with so many sockets that have subscribed."""
    clock, chains = SystemClock(), build_chains()
    app = build_service(build(clock, store, chains, _tokens(clock)))
    async with app.router.lifespan_context(app):
        leave_loaded_alone()
        sockets = [Socket() for _ in range(count)]
        serving = [asyncio.create_task(app(_handshake(), one.receive, one.send)) for one in sockets]
        for one in sockets:
            one.say({"type": "subscribe"})
        for one in sockets:
            await one.subscribed.wait()
        yield Readers(sockets)
        for one in sockets:
            one.leave()
        await asyncio.gather(*serving)


async def _commit(store: Store, orders: Sequence[StoredOrder]) -> dict[str, float]:
    """Advance the orders one after another, ``RATE`` a second; when each was durable."""
    committed = {}
    began = time.perf_counter()
    for number, order in enumerate(orders):
        await asyncio.sleep(max(0.0, began + number / RATE - time.perf_counter()))
        moved = replace(order, rank=order.rank + 1, modified=order.modified + timedelta(seconds=1))
        await store.orders.advance(moved, expected_version=1)
        committed[order.service_id] = time.perf_counter()
    took = time.perf_counter() - began
    print(f"  {len(orders) / took:.1f} commits a second")
    return committed


def _order_of(text: str) -> str:
    found = _ORDER.search(text)
    assert found is not None
    return found[1]


def _handshake() -> dict[str, Any]:
    return {
        "type": "websocket",
        "path": "/v2/ws",
        "raw_path": b"/v2/ws",
        "query_string": b"",
        "headers": [(b"host", b"service"), (b"authorization", AUTHORIZATION.encode())],
        "client": ("127.0.0.1", 1),
        "subprotocols": [],
    }

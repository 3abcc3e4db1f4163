"""How late an update of an order reaches a thousand readers of the stream.

One process, one event loop: the whole service with its hub and worker, and sockets in process, so
that neither frames of the network nor clients take the core. Every order belongs to the one partner
and every socket follows all of them: 30 commits a second are 30,000 updates a second. They come
from a thread of their own, so that a busy loop does not put them off. The time counts from the
commit to the ``websocket.send`` of each update.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import uvloop
from msgspec.structs import replace

from benchmarks.report import Case
from benchmarks.service_world import AUTHORIZATION, build, stored_orders
from swapdesk.clock import SystemClock
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import build_service
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.store.store import Store

SOCKETS = 1_000
RATE = 30
SECONDS = 10.0
MOST_SECONDS = 0.150
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
        delays, missing = uvloop.run(_measure(Path(scratch), seconds))
    late = delays[int(0.99 * len(delays))]
    count = len(delays)
    print(
        f"  {SOCKETS:,} sockets x {RATE} a second: p50 {delays[count // 2] * 1e3:.1f} ms,"
        f" p99 {late * 1e3:.1f} ms, {count:,} updates"
    )
    return [
        Case("commit to reader, p99", "stream", "limit", late, MOST_SECONDS, 1.0, count=count),
        Case("updates that never came", "stream", "limit", float(missing), 1.0, 0.0, "", 1),
    ]


async def _measure(directory: Path, seconds: float) -> tuple[list[float], int]:
    """Seconds from commit to reader, sorted; and how many updates are missing."""
    clock, chains = SystemClock(), build_chains()
    tokens = [one for one in build_tokens(chains, clock.now()) if one.enabled and one.has_cex]
    count = int(RATE * seconds)
    store, orders = await stored_orders(directory, tokens, count, clock.now())
    app = build_service(build(clock, store, chains, tokens))
    async with app.router.lifespan_context(app):
        sockets = [Socket() for _ in range(SOCKETS)]
        serving = [asyncio.create_task(app(_handshake(), one.receive, one.send)) for one in sockets]
        for one in sockets:
            one.say({"type": "subscribe"})
        for one in sockets:
            await one.subscribed.wait()
        committed = await asyncio.to_thread(asyncio.run, _commit(store, orders))
        until = time.perf_counter() + PATIENCE
        while sum(len(one.updates) for one in sockets) < count * SOCKETS:
            if time.perf_counter() > until:
                break
            await asyncio.sleep(0.05)
        for one in sockets:
            one.leave()
        await asyncio.gather(*serving)
    await store.close()
    updates = [update for one in sockets for update in one.updates]
    delays = sorted(came - committed[_order_of(text)] for came, text in updates)
    return delays, count * SOCKETS - len(delays)


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

"""``GET /orders`` of a partner whose million orders came evenly over a month, over HTTP in process.

The window of 48 hours holds 66,666 of them, which the answer counts. Pages are chosen as partners
ask for them: mostly the newest, now and then a further one or one with filters.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import httpx

from benchmarks.account import ORDERS, multiply
from benchmarks.report import Case
from benchmarks.service_world import AUTHORIZATION, build, stored_orders
from swapdesk.clock import SystemClock
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import build_service
from swapdesk.service.store.database import connect
from swapdesk.service.store.rows import micros

DAYS = 30
REQUESTS = 100
"""In each round."""
MOST_SECONDS = 0.010
PATHS = {
    "a page of 100": "/orders",
    "a page of 20": "/orders?pageSize=20",
    "the tenth page of 20": "/orders?pageSize=20&page=10",
    "20 that are completed": "/orders?pageSize=20&status=4",
}


def run(rounds: int) -> list[Case]:
    """The 99th percentile of each kind of page, all rounds together."""
    with tempfile.TemporaryDirectory() as scratch:
        times = asyncio.run(_measure(Path(scratch), rounds * REQUESTS))
    cases = []
    for name, samples in times.items():
        samples.sort()
        middle, late = (samples[int(share * len(samples))] for share in (0.5, 0.99))
        print(f"  {name}: p50 {middle * 1e3:.1f} ms, p99 {late * 1e3:.1f} ms")
        count = len(samples)
        cases.append(Case(f"{name}, p99", "GET", "limit", late, MOST_SECONDS, 1.0, count=count))
    return cases


async def _measure(scratch: Path, count: int) -> dict[str, list[float]]:
    clock, chains = SystemClock(), build_chains()
    tokens = [one for one in build_tokens(chains, clock.now()) if one.enabled and one.has_cex]
    store, _ = await stored_orders(scratch, tokens, 1, clock.now())
    with closing(connect(scratch / "service.db", writes=True)) as db:
        _fill(db, clock.now())
    transport = httpx.ASGITransport(app=build_service(build(clock, store, chains, tokens)))
    times: dict[str, list[float]] = {name: [] for name in PATHS}
    async with httpx.AsyncClient(
        transport=transport,
        base_url="http://service/v2",
        headers={"Authorization": AUTHORIZATION},
    ) as api:
        # Interleaved, so that a busy moment of the machine meets all of them.
        for _ in range(count):
            for name, path in PATHS.items():
                began = time.perf_counter()
                answer = await api.get(path)
                times[name].append(time.perf_counter() - began)
                assert answer.status_code == 200, answer.text
        told = answer.json()
        print(f"  {told['total']:,} of {ORDERS:,} orders are within 48 hours")
    await store.close()
    return times


def _fill(db: sqlite3.Connection, now: datetime) -> None:
    since, step = micros(now - timedelta(days=DAYS)), DAYS * 86_400 * 1_000_000 // ORDERS
    made = f"{since} + n * {step}"
    multiply(db, since // 1_000_000, created=made, modified=made)

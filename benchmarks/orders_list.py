"""``GET /orders`` beside a million orders that came evenly over a month, over HTTP in process.

They are those of twenty partners, so that the window of 48 hours holds 3,333 of the one who asks,
or all of them are its own: 66,666 within the window, which every answer counts.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import httpx2

from benchmarks.account import ORDERS, multiply
from benchmarks.report import Case
from benchmarks.service_world import AUTHORIZATION, build, stored_orders
from swapdesk.clock import SystemClock
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import build_service
from swapdesk.service.store.database import micros
from swapdesk.service.store.sqlite import connect

DAYS = 30
PARTNERS = (20, 1)
REQUESTS = 100
"""In each round."""
MOST_SECONDS = 0.010
PATHS = (
    "/orders",
    "/orders?pageSize=20",
    "/orders?pageSize=20&page=10",
    "/orders?pageSize=20&status=4",
)


def run(rounds: int) -> list[Case]:
    """The 99th percentile of each kind of page, all rounds together."""
    cases = []
    for partners in PARTNERS:
        with tempfile.TemporaryDirectory() as scratch:
            times = asyncio.run(_measure(Path(scratch), partners, rounds * REQUESTS))
        whose = "all own" if partners == 1 else f"of {partners} partners"
        for path, samples in times.items():
            samples.sort()
            middle, late = (samples[int(share * len(samples))] for share in (0.5, 0.99))
            print(f"  {path}, {whose}: p50 {middle * 1e3:.1f} ms, p99 {late * 1e3:.1f} ms")
            name, count = f"{path} {whose}, p99", len(samples)
            cases.append(Case(name, "GET", "limit", late, MOST_SECONDS, 1.0, count=count))
    return cases


async def _measure(scratch: Path, partners: int, count: int) -> dict[str, list[float]]:
    clock, chains = SystemClock(), build_chains()
    tokens = [one for one in build_tokens(chains, clock.now()) if one.enabled and one.has_cex]
    store, _ = await stored_orders(scratch, tokens, 1, clock.now())
    with closing(connect(scratch / "service.db", writes=True)) as db:
        _fill(db, clock.now(), partners)
    transport = httpx2.ASGITransport(app=build_service(build(clock, store, chains, tokens)))
    times: dict[str, list[float]] = {path: [] for path in PATHS}
    async with httpx2.AsyncClient(
        transport=transport,
        base_url="http://service/v2",
        headers={"Authorization": AUTHORIZATION},
    ) as api:
        # Interleaved, so that a busy moment of the machine meets all of them.
        for _ in range(count):
            for path in PATHS:
                began = time.perf_counter()
                answer = await api.get(path)
                times[path].append(time.perf_counter() - began)
                assert answer.status_code == 200, answer.text
        told = answer.json()
        print(f"  {told['total']:,} of {ORDERS:,} orders are own ones within 48 hours")
    await store.close()
    return times


def _fill(db: sqlite3.Connection, now: datetime, partners: int) -> None:
    since, step = micros(now - timedelta(days=DAYS)), DAYS * 86_400 * 1_000_000 // ORDERS
    made = f"{since} + n * {step}"
    whose = f"iif(n % {partners} = 0, partner_id, 'partner' || n % {partners})"
    multiply(db, since // 1_000_000, created=made, modified=made, partner_id=whose)

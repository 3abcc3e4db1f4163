"""``GET /orders`` beside a million orders that came evenly over a month, over HTTP in process.

They are those of twenty partners, so that the window of 48 hours holds 3,333 of the one who asks,
or all of them are its own: 66,666 within the window, which every answer counts.
"""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

from benchmarks.account import asking
from benchmarks.million import ORDERS, filled
from benchmarks.report import Case
from swapdesk.clock import SystemClock

DAYS = 30
REQUESTS = 100
"""In each round."""
WORLDS = (("SQLite", 20, 0.010), ("SQLite", 1, 0.010), ("PostgreSQL", 20, 0.020))
"""A database, partners in it, and the seconds that a page may take."""
PATHS = (
    "/orders",
    "/orders?pageSize=20",
    "/orders?pageSize=20&page=10",
    "/orders?pageSize=20&status=4",
)


def run(rounds: int) -> list[Case]:
    """The 99th percentile of each kind of page, all rounds together."""
    cases = []
    for database, partners, most in WORLDS:
        times = asyncio.run(_measure(database, partners, rounds * REQUESTS))
        whose = "all own" if partners == 1 else f"of {partners} partners"
        for path, samples in times.items():
            samples.sort()
            middle, late = (samples[int(share * len(samples))] for share in (0.5, 0.99))
            name = f"{path} {whose}, {database}"
            print(f"  {name}: p50 {middle * 1e3:.1f} ms, p99 {late * 1e3:.1f} ms")
            cases.append(Case(f"{name}, p99", "GET", "limit", late, most, 1.0, count=len(samples)))
    return cases


async def _measure(database: str, partners: int, count: int) -> dict[str, list[float]]:
    clock = SystemClock()
    times: dict[str, list[float]] = {path: [] for path in PATHS}
    since = clock.now() - timedelta(days=DAYS)
    async with filled(database, since, DAYS, partners) as store, asking(store, clock) as api:
        # Interleaved, so that a busy moment of the machine meets all of them.
        for _ in range(count):
            for path in PATHS:
                began = time.perf_counter()
                answer = await api.get(path)
                times[path].append(time.perf_counter() - began)
                assert answer.status_code == 200, answer.text
        told = answer.json()
        print(f"  {told['total']:,} of {ORDERS:,} orders are own ones within 48 hours")
    return times

"""What a partner with a million finished orders in three years is told, over HTTP in process, from
both databases; and how long the operator's recount of them takes, for a figure without a bound."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import httpx2

from benchmarks.million import DATABASES, ORDERS, filled
from benchmarks.report import Case, Figures
from benchmarks.service_world import AUTHORIZATION, build
from swapdesk.clock import SystemClock
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import build_service
from swapdesk.service.store.store import Store

DAYS = 3 * 365
MOST_SECONDS = 0.050
PATHS = (
    "/commissions/summary",
    "/commissions/summary?month=2026-01",
    "/stats/volume",
    "/stats/weeklyVolume",
    "/stats/chart?metric=volume",
    "/stats/chart?metric=volume&from={since:%Y-%m-%d}",
)


def run(rounds: int) -> list[Case]:
    """The best of ``rounds`` answers of each kind."""
    cases = []
    for name in DATABASES:
        figures = Figures()
        asyncio.run(_measure(name, rounds, figures))
        named = [path.partition("{")[0] for path in PATHS]
        cases += [figures.best(f"{each}, {name}", each, MOST_SECONDS) for each in named]
    return cases


async def _measure(name: str, rounds: int, figures: Figures) -> None:
    clock = SystemClock()
    since = clock.now() - timedelta(days=DAYS)
    async with filled(name, since, DAYS) as store:
        await store.books.rebuild(await store.books.recount())
        began = time.perf_counter()
        found = await store.books.recount()
        print(f"  {name}: recount of {ORDERS:,} orders: {time.perf_counter() - began:.1f} s")
        assert found.agrees
        assert found.sums >= DAYS
        async with asking(store, clock) as api:
            for path in PATHS:
                for _ in range(rounds):
                    began = time.perf_counter()
                    answer = await api.get(path.format(since=since))
                    figures.add(path.partition("{")[0], time.perf_counter() - began)
                    assert answer.status_code == 200, answer.text


def asking(store: Store, clock: SystemClock) -> httpx2.AsyncClient:
    """The service over this store, in process."""
    chains = build_chains()
    parts = build(clock, store, chains, build_tokens(chains, clock.now()))
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=build_service(parts)),
        base_url="http://service/v2",
        headers={"Authorization": AUTHORIZATION},
    )

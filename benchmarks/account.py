"""What a partner with a million finished orders in three years is told, over HTTP; and how long
the operator's recount of them takes, for a figure without a bound."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import httpx2

from benchmarks.report import Case, Figures
from benchmarks.service_world import PARTNER, build, stored_orders
from swapdesk.clock import SystemClock
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import build_service
from swapdesk.service.store.database import micros
from swapdesk.service.store.sqlite import connect

ORDERS = 1_000_000
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
    figures = Figures()
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(_measure(Path(scratch), rounds, figures))
    named = [path.partition("{")[0] for path in PATHS]
    return [figures.best(name, name, MOST_SECONDS) for name in named]


async def _measure(scratch: Path, rounds: int, figures: Figures) -> None:
    clock, chains = SystemClock(), build_chains()
    tokens = [one for one in build_tokens(chains, clock.now()) if one.enabled and one.has_cex]
    store, _ = await stored_orders(scratch, tokens, 1, clock.now())
    since = clock.now() - timedelta(days=DAYS)
    with closing(connect(scratch / "service.db", writes=True)) as db:
        multiply(db, micros(since) // 1_000_000)
    await store.books.rebuild(await store.books.recount())
    began = time.perf_counter()
    found = await store.books.recount()
    print(f"  recount of {ORDERS:,} orders: {time.perf_counter() - began:.1f} s")
    assert found.agrees
    assert found.sums >= DAYS
    transport = httpx2.ASGITransport(app=build_service(build(clock, store, chains, tokens)))
    headers = {"Authorization": f"{PARTNER.keys[0].key}:benchmark"}
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://service/v2", headers=headers
    ) as api:
        for path in PATHS:
            for _ in range(rounds):
                began = time.perf_counter()
                answer = await api.get(path.format(since=since))
                figures.add(path.partition("{")[0], time.perf_counter() - began)
                assert answer.status_code == 200, answer.text
    await store.close()


def multiply(db: sqlite3.Connection, since: int, **more: str) -> None:
    """Finish a million copies of the one order, each at a time and of a value of its own.

    ``more`` are further columns as expressions over ``n``, the number of the copy from 1.
    """
    named = (row["name"] for row in db.execute("PRAGMA table_info(orders)"))
    columns = [name for name in named if name != "number"]
    finished = f"{since} + n * {DAYS * 86_400} / {ORDERS}, 'unixepoch'"
    changed = {
        "service_id": "printf('order%017d', n)",
        "record_id": "printf('%024x', n)",
        "quote_id": "printf('%024x', n)",
        "status": "4",
        "rank": "8",
        "due_at": "NULL",
        "amount_in_usd": "(n % 9973) || '.' || printf('%06d', n % 999983)",
        "commission": "'0.' || printf('%08d', n % 99999989)",
        "detail": f"json_object('finished', strftime('%Y-%m-%dT%H:%M:%S.000Z', {finished}))",
        "finished_day": f"strftime('%Y-%m-%d', {finished})",
        **more,
    }
    values = ", ".join(changed.get(name, name) for name in columns)
    db.execute("BEGIN")
    db.execute(
        "WITH RECURSIVE counted(n) AS"  # noqa: S608 - our own names
        f" (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {ORDERS})"
        f" INSERT INTO orders ({', '.join(columns)})"
        f" SELECT {values} FROM counted, (SELECT * FROM orders LIMIT 1)"
    )
    db.execute(
        "INSERT INTO commissions (partner_id, kind, month, day, booked, amount, service_id)"
        " SELECT partner_id, 'earned', substr(finished_day, 1, 7), finished_day,"
        " CAST(strftime('%s', finished_day) AS INTEGER) * 1000000, commission, service_id"
        " FROM orders WHERE status = 4"
    )
    db.execute("COMMIT")

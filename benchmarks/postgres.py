"""What two processes do on one PostgreSQL, against procrastinate's jobs on the same server; and
reads of an order there against reads from the embedded database, over HTTP in process.

The server flushes to disk. It shares the two cores with both processes.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx2
import uvloop

from benchmarks.report import Case, Figures
from benchmarks.service_world import AUTHORIZATION, build, orders_in
from swapdesk.clock import SystemClock
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import build_service
from swapdesk.service.store.postgres import Place
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.store.store import Store

_TESTS = Path(__file__).resolve().parent.parent / "tests"

PROCESSES = 2
TRANSITIONS = 6_400
JOBS = 800
TRANSITIONS_A_SECOND = 3_000
ORDERS = 300
READERS = 32
READS = 0.6
"""Of those that the embedded database answers in the same time."""


def run(rounds: int) -> list[Case]:
    """The best of ``rounds``, in which both take turns."""
    figures = Figures()
    peer = find_spec("procrastinate") is not None
    if not peer:
        print("  without its baseline: pip install procrastinate==3.10.0")
    with server() as url:
        for turn in range(rounds):
            for work, count in (("transitions", TRANSITIONS), ("jobs", JOBS)):
                if work == "transitions" or peer:
                    name = f"{work}_{turn}"
                    figures.add(work, together(work, database(url, name, work), count) / count)
        with tempfile.TemporaryDirectory() as scratch:
            reads = _read_both(Path(scratch), database(url, "reads", "reads"), rounds, figures)
            uvloop.run(reads)
    cases = [
        figures.best("time per transition", "transitions", 1 / TRANSITIONS_A_SECOND, "us", 1e6),
        figures.case("GET /orders/{id}", "PostgreSQL", "SQLite", 1 / READS),
    ]
    if peer:
        cases.append(figures.case("transition against a job", "transitions", "jobs", 1.0))
    return cases


async def _read_both(directory: Path, url: str, rounds: int, figures: Figures) -> None:
    """Time per read, each store in turn; no order is read twice from the memory of a service."""
    clock, chains = SystemClock(), build_chains()
    tokens = [one for one in build_tokens(chains, clock.now()) if one.enabled and one.has_cex]
    stores = {
        "SQLite": Store.open(directory / "service.db"),
        "PostgreSQL": await Store.connect(Place(url)),
    }
    for turn in range(rounds):
        for name, store in stores.items():
            orders = await orders_in(store, tokens, ORDERS, clock.now(), seed=turn)
            app = build_service(build(clock, store, chains, tokens))
            async with httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app=app),
                base_url="http://service/v2",
                headers={"Authorization": AUTHORIZATION},
            ) as api:
                shares = [orders[place::READERS] for place in range(READERS)]
                began = time.perf_counter()
                await asyncio.gather(*(_read(api, share) for share in shares))
                figures.add(name, (time.perf_counter() - began) / ORDERS)
    for store in stores.values():
        await store.close()


async def _read(api: httpx2.AsyncClient, orders: Sequence[StoredOrder]) -> None:
    for order in orders:
        answer = await api.get(f"/orders/{order.service_id}")
        assert answer.status_code == 200, answer.text


@contextmanager
def server() -> Iterator[str]:
    """URL of a server of the run's own, as the tests have one."""
    if str(_TESTS) not in sys.path:
        sys.path.insert(0, str(_TESTS))
    import databases

    os.environ[databases.FLUSHES] = "on"
    with databases.OwnServer.started() as own:
        yield own.cluster.url("postgres")


def database(url: str, name: str, work: str) -> str:
    """URL of a new database for such work."""
    head, mark, options = url.partition("?")
    made = f"{head.rpartition('/')[0]}/{name}{mark}{options}"
    asyncio.run(_created(url, name))
    if work == "jobs":
        asyncio.run(_with_jobs(made))
    return made


async def _created(url: str, name: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(url)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()


async def _with_jobs(url: str) -> None:
    import procrastinate

    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


def together(work: str, url: str, count: int) -> float:
    """Seconds in which all processes did ``count`` pieces of work."""
    command = [sys.executable, "-m", "benchmarks.postgres_peer", work, url]
    processes = [
        subprocess.Popen(
            [*command, str(number), str(count // PROCESSES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    pipes = [(each.stdin, each.stdout) for each in processes]
    assert all(into and out and out.readline() == "ready\n" for into, out in pipes)
    for into, _ in pipes:
        assert into is not None
        into.write("\n")
        into.flush()
    took = max(float(out.readline()) for _, out in pipes if out is not None)
    for each in processes:
        each.communicate()
    return took

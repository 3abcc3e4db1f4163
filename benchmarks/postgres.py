"""What two processes do on one PostgreSQL, against procrastinate's jobs on the same server and
against one process; and reads of an order there against reads from the embedded database.

Transitions, jobs and the reads of both databases are done in process, creates and the reads of one
and two processes over HTTP. Server, processes and clients share the cores that there are.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import httpx2
import uvloop

from benchmarks import creates, load, served
from benchmarks.postgres_server import Peers, database, server
from benchmarks.report import Case, Figures
from benchmarks.service_world import AUTHORIZATION, build, orders_in
from swapdesk.clock import SystemClock
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import build_service
from swapdesk.service.store.database import Place
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.store.store import Store

PROCESSES = 2
TRANSITIONS = 6_400
JOBS = 800
TRANSITIONS_A_SECOND = 3_000
CREATES = 1_600
CREATES_A_SECOND = 700
SPEED_UP = 1.5
"""Of two processes that answer over one, where there are cores for both beside the rest."""
ORDERS = 300
READERS = 32
READS = 0.6
"""Of those that the embedded database answers in the same time."""
MANY_ORDERS = 2_000
"""More than a service remembers, so that each is read from the database."""
READ_SECONDS = 3.0
TOKENS = 1_000


def run(rounds: int) -> list[Case]:
    """Medians, and the best against a fixed limit, of ``rounds`` in which all take turns."""
    figures = Figures()
    peer = find_spec("procrastinate") is not None
    if not peer:
        print("  without its baseline: pip install procrastinate==3.10.0")
    with server() as url:
        for turn in range(rounds):
            _work("transitions", TRANSITIONS, _new(url, f"transitions_{turn}"), figures)
            if peer:
                jobs = _new(url, f"jobs_{turn}")
                asyncio.run(_with_jobs(jobs))
                _work("jobs", JOBS, jobs, figures)
                _work("enqueuing", JOBS, jobs, figures)
        with _services(_new(url, "services"), rounds) as (ports, ids):
            for turn in range(rounds):
                quotes = ids["quotes"][2 * turn * CREATES : 2 * (turn + 1) * CREATES]
                _create("1 process, create", ports[:1], quotes[:CREATES], figures)
                _create("2 processes, create", ports, quotes[CREATES:], figures)
                _ask("1 process, read", ports[:1], ids["orders"], figures)
                _ask("2 processes, read", ports, ids["orders"], figures)
        with tempfile.TemporaryDirectory() as scratch:
            uvloop.run(_read_both(Path(scratch), _new(url, "reads"), rounds, figures))
    print(f"  {len(os.sched_getaffinity(0))} cores for the server, the processes and the clients")
    limits = {"transitions": TRANSITIONS_A_SECOND, "2 processes, create": CREATES_A_SECOND}
    cases = [figures.best(name, name, 1 / most, "us", 1e6) for name, most in limits.items()]
    if peer:
        cases += [
            figures.case("transition against a job", "transitions", "jobs", 1.0),
            figures.case("create against enqueuing", "2 processes, create", "enqueuing", 1.0),
        ]
    return [
        *cases,
        figures.case("create", "2 processes, create", "1 process, create", 1 / SPEED_UP),
        figures.case("GET /orders/{id}", "2 processes, read", "1 process, read", 1 / SPEED_UP),
        figures.case("GET /orders/{id}", "PostgreSQL", "SQLite", 1 / READS),
    ]


def _new(url: str, name: str) -> str:
    return asyncio.run(database(url, name))


def _work(work: str, count: int, url: str, figures: Figures) -> None:
    peers = Peers(work, url, [(number, count // PROCESSES) for number in range(PROCESSES)])
    peers.begin()
    figures.add(work, max(map(float, peers.end())) / count)


async def _with_jobs(url: str) -> None:
    import procrastinate

    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


@contextmanager
def _services(url: str, rounds: int) -> Iterator[tuple[list[int], dict[str, list[str]]]]:
    """Ports of two processes, each of which answers and works, and what the first one stored."""
    ports = [served.free_port() for _ in range(PROCESSES)]
    quotes = 2 * rounds * CREATES
    first, ids = served.start(ports[0], TOKENS, MANY_ORDERS, quotes, url)
    others = [served.start(port, TOKENS, 0, 0, url)[0] for port in ports[1:]]
    try:
        yield ports, ids
    finally:
        for process in (first, *others):
            process.terminate()
            process.wait(10)


def _create(name: str, ports: Sequence[int], quotes: Sequence[str], figures: Figures) -> None:
    figures.add(name, 1 / creates.create(ports, quotes).per_second)


def _ask(name: str, ports: Sequence[int], orders: Sequence[str], figures: Figures) -> None:
    headers = {"authorization": AUTHORIZATION}
    paths = [f"/v2/orders/{service_id}" for service_id in orders]
    requests = [load.request(ports[0], path, headers) for path in paths]
    seen = load.run(ports, requests, connections=READERS, seconds=READ_SECONDS)
    assert not seen.refused
    figures.add(name, 1 / seen.per_second)


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

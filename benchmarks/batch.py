"""Planning a file of 1,000 rows: until the first problem, until the plan, stalls and memory; the
same by keys in a desk that was idle before."""

from __future__ import annotations

import asyncio
import hashlib
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import httpx2

from benchmarks import service_world
from benchmarks.homes import DESK
from benchmarks.report import Case, Figures
from benchmarks.terminal import Terminal
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.clock import SystemClock
from swapdesk.flows.batch.planner import BatchPlanner
from swapdesk.flows.batch.reading import read_sheet
from swapdesk.flows.batch.rows import Row
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import build_service
from swapdesk.service.store.store import Store

ROWS = 1_000
MOST_SECONDS = 1.0
FIRST_PROBLEM_SECONDS = 0.2
STALL_SECONDS = 0.05
MEMORY_MIB = 60.0
_TARGETS = (("ETH", "base", "evm"), ("BTC", "bitcoin", "bitcoin"), ("LTC", "litecoin", "ltc"))


def run(rounds: int) -> list[Case]:
    figures = Figures()
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(_rounds(Path(place), rounds, figures))
    return [
        figures.best("first problem of 1,000 rows", "first", FIRST_PROBLEM_SECONDS),
        figures.best("plan of 1,000 rows", "plan", MOST_SECONDS),
        figures.best("longest stall while planning", "stall", STALL_SECONDS),
        figures.limit("memory of planning 1,000 rows", "memory", MEMORY_MIB),
        *_by_keys(),
    ]


def _by_keys() -> list[Case]:
    """A desk with its own sandbox: what it takes more once the file is planned on its screen."""
    figures = Figures()
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        file = home / "rows.csv"
        file.write_bytes(_content())
        environment = {"HOME": str(home), "SWAPDESK_HOME": str(home)}
        desk = Terminal(DESK, environment=environment)
        try:
            _shown(desk, "write what to swap", 60)
            desk.settle(1.0, 10)
            idle = desk.memory()
            desk.send("b")
            _shown(desk, "a CSV: comma", 10)
            desk.send(str(file))
            desk.settle(0.5, 10)
            begin = desk.send("\r")
            figures.add("first", _shown(desk, "problem", 20) - begin)
            figures.add("plan", _shown(desk, f"{_wrong()} problems", 20) - begin)
            _shown(desk, "told by the build", 60)
            desk.settle(1.0, 10)
            figures.add("memory", desk.memory() - idle)
        finally:
            desk.close()
    return [
        figures.best("first problem on the screen", "first", FIRST_PROBLEM_SECONDS),
        figures.best("plan on the screen", "plan", MOST_SECONDS),
        figures.limit("memory over the idle desk", "memory", MEMORY_MIB),
    ]


def _shown(desk: Terminal, words: str, seconds: float) -> float:
    """When these words stood on the screen."""
    at = desk.wait(lambda one: one.shows(words), seconds)
    if at is None:
        raise RuntimeError(f"no {words!r}:\n" + "\n".join(desk.lines()))
    return at


def _wrong() -> int:
    """Rows of the file that have a problem."""
    return len([at for at in range(ROWS) if at % 97 == 2])


async def _rounds(place: Path, rounds: int, figures: Figures) -> None:
    clock = SystemClock()
    chains = build_chains()
    store = Store.open(place / "service.db")
    parts = service_world.build(clock, store, chains, build_tokens(chains, clock.now()))
    key, _, secret = service_world.AUTHORIZATION.partition(":")
    transport = httpx2.ASGITransport(app=build_service(parts))
    credentials = Credentials.of_key(key, secret)
    async with PartnerApi(
        "http://127.0.0.1/v2", credentials, clock=clock, transport=transport
    ) as api:
        catalog = Catalog.open(place / "catalog.db", clock)
        await catalog.refresh(api)
        book = AddressBook.load(place / "address_book.toml", sandbox=True)
        journal = Journal.open(place / "journal.db", clock)
        planner = BatchPlanner(catalog, book, journal, clock, live=False)
        before = _resident()
        for _ in range(rounds):
            await _once(planner, api, figures)
        figures.add("memory", _resident() - before)
        journal.close()
        catalog.close()
    await store.close()


async def _once(planner: BatchPlanner, api: PartnerApi, figures: Figures) -> None:
    """One file from bytes to its plan with limits, while another task counts its own delays."""
    longest = 0.0
    first: list[float] = []

    async def beat() -> None:
        nonlocal longest
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    def told(rows: Sequence[Row]) -> None:
        if not first and any(row.problems for row in rows):
            first.append(time.perf_counter() - begin)

    content = _content()
    beating = asyncio.create_task(beat())
    begin = time.perf_counter()
    plan = await planner.judged(await read_sheet("rows.csv", content, SystemClock()), told)
    plan = await planner.with_limits(plan, api)
    figures.add("plan", time.perf_counter() - begin)
    figures.add("first", first[0])
    beating.cancel()
    figures.add("stall", longest)
    if len(plan.rows) != ROWS or len(plan.problems) != _wrong():
        raise RuntimeError("the file was not planned")


def _resident() -> float:
    """Memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def _content() -> bytes:
    """Every 97th row has a problem, the third one too."""
    rows = ["to,sell_amount,buy,chain,memo,route,sell"]
    for at in range(ROWS):
        symbol, chain, kind = _TARGETS[at % len(_TARGETS)]
        to = derive_address(kind, hashlib.sha256(f"row {at}".encode()).digest())
        amount = "1;5" if at % 97 == 2 else str(100 + at)
        rows.append(f"{to},{amount},{symbol},{chain},,,USDC.ethereum")
    return "\n".join(rows).encode()

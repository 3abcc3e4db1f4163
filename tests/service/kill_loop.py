"""Kill a real service with ``kill -9`` under load, again and again, and count what is lost.

One process, the nursery, imports everything once and forks a service whenever it is asked
to, so that a restart costs milliseconds. The service is uvicorn on a loopback socket over a
store file; its venues keep their accounts in a file of their own, as venues elsewhere do.
:func:`run` is the harness over one process and its file, :func:`run_processes` that over several
and a database. A test asserts on the :class:`Tally`, a benchmark prints how long the restarts took.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
from msgspec import Struct, field
from msgspec.structs import replace

HERE = Path(__file__).resolve()
TESTS = HERE.parent.parent
if str(TESTS) not in sys.path:
    sys.path.insert(0, str(TESTS))

from databases import OwnServer  # noqa: E402
from patience import PATIENCE  # noqa: E402
from service.loopback import listening  # noqa: E402
from service.new_store import found  # noqa: E402
from service.orders_fixtures import (  # noqa: E402
    ALICE,
    BITCOIN,
    BOB,
    BTC,
    CHAINS,
    ETH,
    TOKENS,
    XMR,
    Floor,
    credentials,
    venues_at,
)
from swapdesk.clock import ManualClock, SystemClock  # noqa: E402
from swapdesk.sandbox.http_server import build_server  # noqa: E402
from swapdesk.service.app import Role, assemble, build_service, in_background  # noqa: E402
from swapdesk.service.store.database import Place  # noqa: E402
from swapdesk.service.store.store import Store  # noqa: E402
from swapdesk.wire.account import RateWindows  # noqa: E402

HEADERS = {"Authorization": credentials(ALICE)}
A_MINUTE = 7
LIMITED = replace(
    BOB, exchange_limits=RateWindows(per_minute=A_MINUTE, per_hour=10**6, per_day=10**6)
)


async def serve(asked: dict[str, str]) -> None:
    """The service, or one process of it, until it is killed; says on standard output that it is
    there, and where it listens."""
    if "database" in asked:
        store = await Store.connect(Place(asked["database"], connections=4))
    else:
        store = Store.open(asked["store"])
    venues = venues_at(Path(asked["venues"]))
    for venue in venues:
        venue.trouble.report_slowly = "silent" in asked
    parts = assemble(
        SystemClock(),
        random.SystemRandom(),
        store,
        CHAINS,
        TOKENS,
        venues,
        [ALICE, LIMITED],
        [XMR.id, BITCOIN.id],
    )
    role = Role[asked.get("role", "BOTH")]
    if Role.ANSWERS not in role:
        async with in_background(parts, role):
            _say({"pid": os.getpid()})
            await asyncio.Event().wait()
    server = build_server(build_service(parts, role), parts.clock, lifespan=True)
    bound = listening()
    bound.listen(64)
    port = bound.getsockname()[1]
    serving = asyncio.create_task(server.serve([bound]))
    while not server.started:
        await asyncio.wait({serving}, timeout=0.002)
    _say({"pid": os.getpid(), "url": f"http://127.0.0.1:{port}/v2"})
    await serving


def _say(ready: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()


def nursery() -> None:
    """Fork one service, or one process of it, for each line on standard input, until that ends: its
    ``venues``, which may be ``silent``, and its ``store`` or its ``database`` and ``role``."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        asked = json.loads(line)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asyncio.run(serve(asked))
            os._exit(0)


class Tally(Struct):
    """What happened."""

    sent: set[str] = field(default_factory=set)
    acknowledged: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    """Orders of the groups that were acknowledged."""
    contradictions: list[str] = field(default_factory=list)
    restart_seconds: list[float] = field(default_factory=list)


class Service:
    """The processes of a service, each in its place by its role; ``urls`` are those that answer."""

    def __init__(
        self,
        nursery: asyncio.subprocess.Process,
        asked: Mapping[str, str],
        roles: Sequence[str] = ("BOTH",),
    ) -> None:
        self._nursery = nursery
        self._asked = asked
        self._there: dict[int, dict[str, Any]] = {}
        self.roles = roles
        self.kills = 0

    @property
    def urls(self) -> list[str]:
        return [process["url"] for process in self._there.values() if "url" in process]

    async def start(self, place: int = 0) -> None:
        """The process at a place, once it says that it is there."""
        line = json.dumps({**self._asked, "role": self.roles[place]})
        self._nursery.stdin.write(line.encode() + b"\n")
        async with asyncio.timeout(PATIENCE):
            self._there[place] = json.loads(await self._nursery.stdout.readline())

    def kill(self, place: int = 0) -> None:
        os.kill(self._there.pop(place)["pid"], signal.SIGKILL)
        self.kills += 1

    def kill_all(self) -> None:
        for place in tuple(self._there):
            self.kill(place)


class Callers:
    """So many that quote and create one order after the other until it is ``over``, with a ``rest``
    of some seconds in between; what has no answer is asked for again until it has one. The last
    ``limited`` of them are of a partner with a limit, and with ``groups`` one creates groups."""

    def __init__(
        self,
        service: Service,
        tally: Tally,
        rng: random.Random,
        *,
        count: int,
        limited: int = 0,
        groups: bool = False,
        rest: float = 0.0,
    ) -> None:
        self._service = service
        self._tally = tally
        self._rng = rng
        self._headers = [HEADERS] * (count - limited) + [
            {"Authorization": credentials(LIMITED)}
        ] * limited
        self._creates_groups = groups
        self._rest = rest
        self._http = httpx2.AsyncClient(
            limits=httpx2.Limits(max_connections=count + 16), timeout=PATIENCE, trust_env=False
        )
        self.over = False
        self.refused = 0
        """Creates of the partner with a limit that were refused for it."""

    async def run(self) -> None:
        async with self._http:
            await asyncio.gather(
                *(self._calls(number, headers) for number, headers in enumerate(self._headers)),
                *([self._groups()] if self._creates_groups else []),
            )

    async def confirm(self) -> None:
        """What was acknowledged before a kill is there after it."""
        known = list(self._tally.acknowledged.values())
        for order in self._rng.sample(known, min(10, len(known))):
            answer = await self._asked("GET", f"/orders/{order['serviceId']}", HEADERS)
            if answer.status_code != 200:
                self._tally.contradictions.append(f"{order['serviceId']}: {answer.status_code}")
            elif answer.json()["depositAddress"] != order["depositAddress"]:
                self._tally.contradictions.append(f"{order['serviceId']}: another address")

    async def _calls(self, number: int, headers: Mapping[str, str]) -> None:
        kind = "private" if number % 4 == 0 else "standard"
        query = {"amount": "0.5", "from": ETH.id, "to": BITCOIN.id, "types": kind}
        while not self.over:
            answer = await self._asked("GET", "/quotes", headers, params=query)
            if answer is None or answer.status_code != 200:
                continue
            for quote in answer.json()["quotes"][:3]:
                await self._create({"quoteId": quote["quoteId"], "addressTo": BTC}, headers)
            # Spread, so that some are under way at any moment.
            await asyncio.sleep(self._rng.uniform(0, 2 * self._rest))

    async def _groups(self) -> None:
        row = {"from": ETH.id, "to": BITCOIN.id, "amount": 0.5, "addressTo": BTC}
        orders = [row, {**row, "anonymous": True}, {**row, "amount": 0.75}]
        while not self.over:
            answer = await self._asked("POST", "/exchanges/multi", HEADERS, json={"orders": orders})
            if answer is not None and answer.status_code == 200:
                group = answer.json()
                ids = [each["order"]["serviceId"] for each in group["orders"]]
                self._tally.groups[group["multiId"]] = ids

    async def _create(self, body: dict[str, str], headers: Mapping[str, str]) -> None:
        """Until it is definite: an order, or a refusal."""
        quote_id = body["quoteId"]
        self._tally.sent.add(quote_id)
        while True:
            answer = await self._asked("POST", "/exchanges", headers, json=body)
            if answer is None or answer.status_code == 503:
                continue
            if answer.status_code == 200:
                order = answer.json()
                before = self._tally.acknowledged.setdefault(quote_id, order)
                if before["serviceId"] != order["serviceId"]:
                    self._tally.contradictions.append(f"{quote_id}: two orders")
            elif answer.status_code == 429 and headers is not HEADERS:
                self.refused += 1
            elif answer.status_code != 422:
                told = f"{quote_id}: {answer.status_code} {answer.text}"
                self._tally.contradictions.append(told)
            return

    async def _asked(
        self, method: str, path: str, headers: Mapping[str, str], **more: Any
    ) -> httpx2.Response | None:
        """None where the process died before it answered."""
        urls = self._service.urls
        if not urls:
            await asyncio.sleep(0.01)
            return None
        try:
            url = self._rng.choice(urls) + path
            return await self._http.request(method, url, headers=headers, **more)
        except httpx2.TransportError:
            return None


@contextlib.asynccontextmanager
async def forking() -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def _moment(
    calling: asyncio.Task[None], tally: Tally, rng: random.Random, *, early: bool
) -> None:
    """Until the service is to die: in the middle of some orders, or soon after its start."""
    wanted = 0 if early else len(tally.acknowledged) + rng.randint(10, 30)
    async with asyncio.timeout(PATIENCE):
        while len(tally.acknowledged) < wanted and not calling.done():
            await asyncio.wait({calling}, timeout=0.005)
    await asyncio.wait({calling}, timeout=rng.uniform(0, 0.3 if early else 0.05))


async def run(directory: Path, *, cycles: int, seed: int) -> Tally:
    """Start and kill a service under load, ``cycles`` times; the files stay in ``directory`` for
    :func:`verify`."""
    rng = random.Random(seed)
    tally = Tally()
    async with forking() as nursery:
        files = {"store": str(directory / "s.db"), "venues": str(directory / "v.db")}
        service = Service(nursery, files)
        callers = Callers(service, tally, rng, count=12, groups=True)
        calling = asyncio.create_task(callers.run())
        try:
            for cycle in range(cycles):
                begin = time.monotonic()
                await service.start()
                tally.restart_seconds.append(time.monotonic() - begin)
                await callers.confirm()
                await _moment(calling, tally, rng, early=cycle % 4 == 3)
                assert not calling.done(), calling.result()
                service.kill()
        finally:
            # It holds on to the nursery's pipes, which are waited for.
            service.kill_all()
            calling.cancel()
            await asyncio.wait({calling})
    return tally


async def verify(directory: Path, tally: Tally) -> list[str]:
    """Everything wrong with what is left on disk, after the worker has finished what was open."""
    with contextlib.closing(sqlite3.connect(directory / "s.db")) as db:
        (verdict,) = db.execute("PRAGMA integrity_check").fetchone()
    wrong = [] if verdict == "ok" else [f"integrity: {verdict}"]
    clock = ManualClock(SystemClock().now() + timedelta(seconds=60))
    floor = Floor(directory / "s.db", clock, venues_at(directory / "v.db"))
    return wrong + await finished(floor, directory / "v.db", tally)


async def finished(floor: Floor, venues: Path, tally: Tally) -> list[str]:
    """Everything wrong with orders and venues once the worker has finished what was open; the store
    is closed then."""
    wrong, store = list(tally.contradictions), floor.store
    for _ in range(200):
        floor.clock.advance(15)
        await floor.worker.step(floor.clock.now())
        ((left,),) = await found(store, "SELECT COUNT(*) FROM orders WHERE status < 0")
        if not left:
            break
    else:
        wrong.append(f"{left} orders were never finished")
    rows = await found(store, "SELECT service_id, quote_id, status, deposit_address FROM orders")
    groups: dict[str, set[str]] = {
        multi_id: set() for (multi_id,) in await found(store, "SELECT multi_id FROM groups")
    }
    for multi_id, sid in await found(
        store, "SELECT multi_id, service_id FROM orders WHERE multi_id IS NOT NULL"
    ):
        groups[multi_id].add(sid)
    told = "SELECT service_id, MAX(status) AS newest FROM outbox GROUP BY service_id"
    announced = dict(await found(store, told))
    await store.close()
    with contextlib.closing(sqlite3.connect(venues)) as db:
        accounts = dict(db.execute("SELECT key, address FROM accounts").fetchall())
    by_quote = {quote_id: (sid, address) for sid, quote_id, _, address in rows}
    if len(by_quote) != len(rows):
        wrong.append("a quote became two orders")
    for quote_id, order in tally.acknowledged.items():
        if by_quote.get(quote_id) != (order["serviceId"], order["depositAddress"]):
            wrong.append(f"acknowledged {order['serviceId']} is lost or changed")
    together = {sid for ids in groups.values() for sid in ids}
    for multi_id, ids in tally.groups.items():
        if groups.get(multi_id) != set(ids):
            wrong.append(f"acknowledged group {multi_id} is lost or changed")
    wrong += [f"group {one} has {len(ids)} orders" for one, ids in groups.items() if len(ids) != 3]
    wrong += [
        f"{sid} was never asked for"
        for sid, q, _, _ in rows
        if q not in tally.sent and sid not in together
    ]
    wrong += [f"{sid} ended at {status}" for sid, _, status, _ in rows if status != 0]
    wrong += [f"{sid} was not announced" for sid, _, _, _ in rows if announced.get(sid) != 0]
    ids = {sid for sid, _, _, _ in rows}
    wrong += [f"{key} has no order" for key in accounts if key.partition(":")[0] not in ids]
    for sid, _, _, address in rows:
        opened = [key for key in accounts if key.startswith(f"{sid}:in")]
        if len(opened) != 1 or accounts[opened[0]] != address:
            wrong.append(f"{sid} has deposit addresses {opened}")
    return wrong


ROLES = ("ANSWERS", "ANSWERS", "WORKS", "WORKS")


async def run_processes(
    own: OwnServer,
    directory: Path,
    *,
    count: int,
    seconds: float,
    kills: int,
    restarts: int,
    rest: float,
    seed: int,
) -> tuple[Tally, Service, Callers, set[int]]:
    """A service of two processes that answer and two that work, over one PostgreSQL: every second
    one of each is killed, and in between the database ends as in a crash. Whoever calls goes on at
    the process that is there.

    Start, load, kill and restart for so long; then everybody is answered, and all is killed. The
    last one returned are the first and the last minute in which was called."""
    rng, tally = random.Random(seed), Tally()
    own.cluster.run(own.cluster._created("kills"))
    asked = {"database": own.cluster.url("kills"), "venues": str(directory / "v.db")}
    async with forking() as nursery:
        service = Service(nursery, asked, ROLES)
        try:
            for place in range(len(ROLES)):
                await service.start(place)
            callers = Callers(service, tally, rng, count=count, limited=2, rest=rest)
            minutes = {int(time.time()) // 60}
            calling = asyncio.create_task(callers.run())
            begin, restarted = time.monotonic(), 0
            # However slow the machine is: killed often, under a real load, to the limit.
            while (
                (passed := time.monotonic() - begin) < seconds
                or service.kills <= kills
                or len(tally.acknowledged) <= 100
                or not callers.refused
            ):
                await asyncio.wait({calling}, timeout=rng.uniform(0.3, 0.7))
                assert not calling.done(), calling.result()
                if passed > (restarted + 1) * seconds / (restarts + 1):
                    restarted += 1
                    await asyncio.to_thread(own.stop)
                    await asyncio.to_thread(own.start)
                for place in (rng.choice((0, 1)), rng.choice((2, 3))):
                    service.kill(place)
                    await service.start(place)
            callers.over = True
            async with asyncio.timeout(PATIENCE):
                await calling
            minutes.add(int(time.time()) // 60)
        finally:
            # They hold on to the nursery's pipes, which are waited for.
            service.kill_all()
    return tally, service, callers, minutes


async def verify_processes(
    own: OwnServer, directory: Path, tally: Tally, minutes: set[int]
) -> list[str]:
    """What is wrong with orders, venues, limits and the order of states."""
    place = Place(own.cluster.url("kills"))
    store = await Store.connect(place)
    ((orders,),) = await found(
        store,
        "SELECT COUNT(*) FROM orders WHERE partner_id = :partner",
        partner=LIMITED.partner_id,
    )
    # By minutes that passed: an order is counted a moment after the time that it is created at.
    most = A_MINUTE * (max(minutes) - min(minutes) + 1)
    wrong = [f"{orders} orders where {most} are the most"] if orders > most else []
    told: dict[str, list[tuple[int, int]]] = {}
    for name, version, rank in await found(
        store, "SELECT service_id, version, rank FROM outbox ORDER BY sequence, version"
    ):
        told.setdefault(name, []).append((version, rank))
    for name, states in told.items():
        if states != sorted(set(states)) or [rank for _, rank in states] != sorted(
            rank for _, rank in states
        ):
            wrong.append(f"{name} went back: {states}")
    clock = ManualClock(SystemClock().now())
    clock.advance(60)
    floor = Floor(directory, clock, venues_at(directory / "v.db"), opened=store)
    return wrong + await finished(floor, directory / "v.db", tally)


if __name__ == "__main__":
    nursery()

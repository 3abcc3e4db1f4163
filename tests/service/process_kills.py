"""A service of two processes that answer and two that work, over one PostgreSQL: every second one
of each is killed, and in between the database ends as in a crash. Whoever calls goes on at the
process that is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import httpx2

from databases import OwnServer
from patience import PATIENCE
from service.kill_loop import A_MINUTE, HEADERS, LIMITED, Tally, finished, forking
from service.new_store import found
from service.orders_fixtures import BITCOIN, BTC, ETH, Floor, credentials, venues_at
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.service.store.database import Place
from swapdesk.service.store.store import Store

CALLERS = 64
ROLES = ("ANSWERS", "ANSWERS", "WORKS", "WORKS")


class Service:
    """The processes; ``urls`` are those that answer."""

    def __init__(self, nursery: asyncio.subprocess.Process, asked: dict[str, str]) -> None:
        self._nursery = nursery
        self._asked = asked
        self._there: dict[int, dict[str, Any]] = {}
        self.kills = 0

    @property
    def urls(self) -> list[str]:
        return [one["url"] for one in self._there.values() if "url" in one]

    async def start(self, place: int) -> None:
        """The process at a place; one that dies before it says that it is there is begun anew."""
        line = json.dumps(self._asked | {"role": ROLES[place]})
        self._nursery.stdin.write(line.encode() + b"\n")
        async with asyncio.timeout(PATIENCE):
            self._there[place] = json.loads(await self._nursery.stdout.readline())

    def kill(self, place: int) -> None:
        os.kill(self._there.pop(place)["pid"], signal.SIGKILL)
        self.kills += 1

    def kill_all(self) -> None:
        for place in tuple(self._there):
            self.kill(place)


class Callers:
    """Create one after the other, until ``over``, with a ``rest`` of some seconds in between; what
    has no answer is asked for again until it has one."""

    def __init__(self, service: Service, tally: Tally, rng: random.Random, rest: float) -> None:
        self._service = service
        self._tally = tally
        self._rng = rng
        self._rest = rest
        self._http = httpx2.AsyncClient(
            limits=httpx2.Limits(max_connections=CALLERS), timeout=PATIENCE, trust_env=False
        )
        self.over = False
        self.minutes: set[int] = set()
        """The first and the last of them."""
        self.refused = 0
        """Creates of the partner with a limit that were refused for it."""

    async def run(self) -> None:
        limited = {"Authorization": credentials(LIMITED)}
        async with self._http:
            await asyncio.gather(
                *(self._calls(number, HEADERS) for number in range(CALLERS - 2)),
                *(self._calls(number, limited) for number in range(2)),
            )

    async def _calls(self, number: int, headers: dict[str, str]) -> None:
        kind = "private" if number % 4 == 0 else "standard"
        query = {"amount": "0.5", "from": ETH.id, "to": BITCOIN.id, "types": kind}
        while not self.over:
            answer = await self._asked("GET", "/quotes", headers, params=query)
            if answer is None or answer.status_code != 200:
                continue
            for quote in answer.json()["quotes"][:2]:
                await self._create({"quoteId": quote["quoteId"], "addressTo": BTC}, headers)
            # Spread, so that some are under way at any moment.
            await asyncio.sleep(self._rng.uniform(0, 2 * self._rest))

    async def _create(self, body: dict[str, str], headers: dict[str, str]) -> None:
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
                said = f"{quote_id}: {answer.status_code} {answer.text}"
                self._tally.contradictions.append(said)
            return

    async def _asked(
        self, method: str, path: str, headers: dict[str, str], **more: Any
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


async def run(
    own: OwnServer, directory: Path, *, seconds: float, restarts: int, rest: float, seed: int
) -> tuple[Tally, Service, Callers]:
    """Start, load, kill and restart for so long; then everybody is answered, and all is killed."""
    rng, tally = random.Random(seed), Tally()
    own.cluster.run(own.cluster._created("kills"))
    asked = {"database": own.cluster.url("kills"), "venues": str(directory / "v.db")}
    async with forking() as nursery:
        service = Service(nursery, asked)
        try:
            for place in range(len(ROLES)):
                await service.start(place)
            callers = Callers(service, tally, rng, rest)
            callers.minutes.add(int(time.time()) // 60)
            calling = asyncio.create_task(callers.run())
            begin, restarted = time.monotonic(), 0
            # However slow the machine is: killed often, under a real load, to the limit.
            while (
                (passed := time.monotonic() - begin) < seconds
                or service.kills <= 20
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
            callers.minutes.add(int(time.time()) // 60)
        finally:
            # They hold on to the nursery's pipes, which are waited for.
            service.kill_all()
    return tally, service, callers


async def verify(own: OwnServer, directory: Path, tally: Tally, minutes: set[int]) -> list[str]:
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

"""A service of two processes that answer and two that work, over one PostgreSQL: every second one
of each is killed, and in between the database ends as in a crash. Whoever calls goes on at the
process that is there.
"""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

from databases import OwnServer
from patience import PATIENCE
from service.kill_loop import A_MINUTE, LIMITED, Callers, Service, Tally, finished, forking
from service.new_store import found
from service.orders_fixtures import Floor, venues_at
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.service.store.database import Place
from swapdesk.service.store.store import Store

ROLES = ("ANSWERS", "ANSWERS", "WORKS", "WORKS")


async def run(
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
    """Start, load, kill and restart for so long; then everybody is answered, and all is killed. The
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

"""``python -m benchmarks.postgres_peer WORK URL NUMBER COUNT``: one of two processes on a database.

It prints ``ready`` when all is prepared, begins at the next line of its input, and prints what came
of the ``COUNT`` pieces of ``WORK``: the seconds that they took, or of readers how late each was.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

import uvloop
from msgspec.structs import replace

from benchmarks import stream
from benchmarks.service_world import orders_in
from swapdesk.clock import SystemClock
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.store.database import Place
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.store.store import Store
from swapdesk.wire.orders import LegStatus

CALLERS = 64
"""In each process."""
STEPS = (LegStatus.CONFIRMING, LegStatus.EXCHANGING, LegStatus.SENDING, LegStatus.FINISHED)

Work = Callable[[str], Awaitable[object]]
"""Takes the line at which it begins."""


async def advance(store: Store, orders: Sequence[StoredOrder]) -> None:
    """All steps of these orders, one after another."""
    for order in orders:
        for number, step in enumerate(STEPS, start=1):
            moved = replace(
                order,
                in_status=int(step),
                rank=order.rank + number,
                modified=order.modified + timedelta(seconds=number),
                detail={"depositHash": "0x" + "ab" * 32},
            )
            if not await store.orders.advance(moved, expected_version=number):
                raise RuntimeError(f"{order.service_id} was not moved")


@asynccontextmanager
async def transitions(url: str, number: int, count: int) -> AsyncIterator[Work]:
    """Changes of orders of this process's own."""
    clock = SystemClock()
    store = await Store.connect(Place(url))
    tokens = [one for one in build_tokens(build_chains(), clock.now()) if one.has_cex]
    orders = await orders_in(store, tokens, count // len(STEPS), clock.now(), seed=number)

    async def every(_: str) -> float:
        shares = [orders[place::CALLERS] for place in range(CALLERS)]
        began = time.perf_counter()
        await asyncio.gather(*(advance(store, share) for share in shares))
        return time.perf_counter() - began

    try:
        yield every
    finally:
        await store.close()


@asynccontextmanager
async def jobs(url: str, number: int, count: int, *, finished: bool = True) -> AsyncIterator[Work]:
    """Jobs of procrastinate, each enqueued and ``finished``."""
    import procrastinate

    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url, max_size=8))
    queue = f"queue{number}"

    async def nothing(order: str) -> None:
        pass

    job = app.task(name="nothing", queue=queue)(nothing)

    async def enqueue(place: int) -> None:
        for each in range(place, count, CALLERS):
            await job.defer_async(order=f"order{each}")

    async def every(_: str) -> float:
        began = time.perf_counter()
        await asyncio.gather(*map(enqueue, range(CALLERS)))
        if finished:
            await app.run_worker_async(
                queues=[queue], concurrency=CALLERS, wait=False, install_signal_handlers=False
            )
        return time.perf_counter() - began

    async with app.open_async():
        yield every


@asynccontextmanager
async def readers(url: str, sockets: int, count: int) -> AsyncIterator[Work]:
    """Sockets that each get so many updates of orders. The line tells when those were committed."""
    store = await Store.connect(Place(url))
    async with stream.followed(store, sockets) as following:

        async def every(line: str) -> list[float]:
            await following.come(count)
            return following.delays(json.loads(line))

        yield every
    await store.close()


WORKS = {
    "transitions": transitions,
    "jobs": jobs,
    "enqueuing": partial(jobs, finished=False),
    "readers": readers,
}


async def main(work: str, url: str, number: int, count: int) -> None:
    async with WORKS[work](url, number, count) as every:
        print("ready", flush=True)
        # In a thread: what was prepared may go on meanwhile.
        line = await asyncio.to_thread(sys.stdin.readline)
        print(json.dumps(await every(line)), flush=True)


if __name__ == "__main__":
    name, where, *numbers = sys.argv[1:]
    uvloop.run(main(name, where, *map(int, numbers)))

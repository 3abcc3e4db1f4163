"""Changes of orders a second that the store makes durable, each with its row in the outbox.

64 callers advance orders of their own, version by version, through the one writer of the store and
its group commit. The baseline is one caller: the same writes with a flush to disk each.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

import uvloop

from benchmarks.postgres_peer import STEPS, advance
from benchmarks.report import Case, Figures
from benchmarks.service_world import stored_orders
from swapdesk.clock import SystemClock
from swapdesk.sandbox.world import build_chains, build_tokens

CALLERS = 64
ORDERS = 2_000
A_SECOND = 5_000
OF_ALONE = 1.0
"""Group commit may not be slower than a flush each."""


def run(rounds: int) -> list[Case]:
    """The best of ``rounds`` over new stores."""
    figures = Figures()
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as scratch:
            uvloop.run(_measure(Path(scratch), figures))
    return [
        figures.best("time per durable transition", "64 callers", 1 / A_SECOND, "us", 1e6),
        figures.case("the same against a flush each", "64 callers", "1 caller", OF_ALONE),
    ]


async def _measure(directory: Path, figures: Figures) -> None:
    clock = SystemClock()
    tokens = [one for one in build_tokens(build_chains(), clock.now()) if one.has_cex]
    store, orders = await stored_orders(directory, tokens, ORDERS, clock.now())
    alone, many = orders[: ORDERS // 10], orders[ORDERS // 10 :]
    shares = [many[number::CALLERS] for number in range(CALLERS)]
    before = await store.outbox.newest()
    for name, groups in (("1 caller", [alone]), ("64 callers", shares)):
        moved = sum(map(len, groups)) * len(STEPS)
        began = time.perf_counter()
        await asyncio.gather(*(advance(store, group) for group in groups))
        figures.add(name, (time.perf_counter() - began) / moved)
    if await store.outbox.newest() - before != ORDERS * len(STEPS):
        raise RuntimeError("a transition was not announced")
    await store.close()

"""Changes of orders a second that the store makes durable, each with its row in the outbox.

64 callers advance orders of their own, version by version, through the one writer of the store and
its group commit. The baseline is one caller: the same writes with a flush to disk each.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import uvloop
from msgspec.structs import replace

from benchmarks.report import Case, Figures
from benchmarks.service_world import stored_orders
from swapdesk.clock import SystemClock
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.store.store import Store
from swapdesk.wire.orders import LegStatus

CALLERS = 64
ORDERS = 2_000
STEPS = (LegStatus.CONFIRMING, LegStatus.EXCHANGING, LegStatus.SENDING, LegStatus.FINISHED)
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
        await asyncio.gather(*(_advance(store, group) for group in groups))
        figures.add(name, (time.perf_counter() - began) / moved)
    if await store.outbox.newest() - before != ORDERS * len(STEPS):
        raise RuntimeError("a transition was not announced")
    await store.close()


async def _advance(store: Store, orders: Sequence[StoredOrder]) -> None:
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

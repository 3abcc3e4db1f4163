"""Keys are dropped after a rest, by the clock that is passed in."""

from __future__ import annotations

import asyncio

from swapdesk.agent.process.wallet_session import IdleLock
from swapdesk.clock import ManualClock


async def test_keys_are_dropped_once_nothing_was_asked_for_so_long() -> None:
    clock, dropped = ManualClock(), asyncio.Event()
    idle = IdleLock(clock, 900.0, dropped.set)
    idle.start()
    await asyncio.sleep(0)
    clock.advance(899.0)
    idle.used()
    for _ in range(5):
        await asyncio.sleep(0)
    clock.advance(899.0)
    for _ in range(5):
        await asyncio.sleep(0)
    assert not dropped.is_set()
    clock.advance(1.0)
    await dropped.wait()
    dropped.clear()
    idle.start()
    await asyncio.sleep(0)
    clock.advance(900.0)
    await dropped.wait()

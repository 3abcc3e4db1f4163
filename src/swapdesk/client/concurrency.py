"""Two ways of running things side by side that end when they should."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any

from swapdesk.clock import Clock


async def together(*work: Coroutine[Any, Any, None]) -> None:
    """Run until one of them raises, then end the others and raise it.

    Not a TaskGroup: on Python 3.11 a group loses a cancellation that meets a failing child.
    """
    tasks = [asyncio.ensure_future(part) for part in work]
    if not tasks:
        return
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        await _end(*tasks)


async def within(clock: Clock, seconds: float, work: Awaitable[Any]) -> bool:
    """Whether ``work`` ended before ``seconds`` of the clock had passed; raises what it raises."""
    doing = asyncio.ensure_future(work)
    waiting = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait({doing, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            return False
        doing.result()
        return True
    finally:
        await _end(doing, waiting)


async def _end(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

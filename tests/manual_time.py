"""A manual clock that moves on once nothing else goes on, however quick the machine is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from patience import PATIENCE
from swapdesk.clock import ManualClock
from swapdesk.service.store.postgres import PostgresDatabase
from swapdesk.service.store.sqlite import SqliteDatabase, Writer

_THREADS: frozenset[CodeType] = frozenset(
    each.__code__
    for each in (
        *(asyncio.to_thread, SqliteDatabase.read, Writer.submit),
        *(PostgresDatabase._once, PostgresDatabase.read),
        *(PostgresDatabase.snapshot, PostgresDatabase.look),
    )
)
"""What waits for a thread, or for the database of another process."""
_BREATH = 0.0005
"""Seconds left to a thread: who only turns the loop meanwhile keeps the interpreter from it."""


def at_rest() -> bool:
    """Whether no callback is due, no socket of this loop can be read, and no thread works for a
    task of it, nor a database."""
    return not _due() and not _in_threads()


def _due() -> bool:
    loop: Any = asyncio.get_running_loop()
    return bool(loop._ready or loop._selector.select(0))


def _in_threads() -> bool:
    return any(code in _THREADS for task in asyncio.all_tasks() for code in _waits_in(task))


async def _turn() -> bool:
    """One turn of the loop; True if there was nothing to do in it."""
    due = _due()
    works = not due and _in_threads()
    await asyncio.sleep(_BREATH if works else 0)
    return not due and not works


def _waits_in(task: asyncio.Task[Any]) -> Iterator[CodeType]:
    """The code of the task's coroutine, and of each that it waits for."""
    coroutine: Any = task.get_coro()
    while (code := getattr(coroutine, "cr_code", None)) is not None:
        yield code
        coroutine = coroutine.cr_await


async def rest() -> None:
    """Return once the loop is :func:`at_rest`."""
    end = time.monotonic() + PATIENCE
    while not await _turn():
        assert time.monotonic() < end, "the loop never comes to rest"


async def pass_seconds(clock: ManualClock, seconds: float) -> None:
    """Second by second, each once what the one before it set going is over."""
    for _ in range(int(seconds)):
        clock.advance(1)
        await rest()


async def until(
    clock: ManualClock, condition: Callable[[], object], told: Callable[[], object] = str
) -> None:
    """Wait for ``condition``, asked at every turn of the loop. The clock moves to where somebody
    waits for, at rest alone. ``told`` is in the error when it never comes."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, told()
        if await _turn() and at_rest():
            clock.advance_to_next()

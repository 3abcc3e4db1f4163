"""Two threads beside the event loop: one executes blocks, one answers calls.

Python runs one thread at a time, so that more threads would mine no faster; a call does not
wait for a block, though, and the event loop for neither.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from swapdesk.sandbox.node.evm.problem import Code, Problem

T = TypeVar("T")

MOST_WAITING = 256
"""Calls that wait for the reader; one more is refused."""


class Lane:
    """One thread with a bounded row of work before it."""

    def __init__(self, name: str, most: int) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._most = most
        self._waiting = 0

    async def run(self, work: Callable[..., T], *values: Any) -> T:
        """Run ``work`` in the thread. Raises Problem when too much waits there already."""
        if self._waiting >= self._most:
            raise Problem("the node is busy: too many calls at once", Code.LIMIT)
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, work, *values)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Wait for what runs; nothing more is begun."""
        self._threads.shutdown(wait=True, cancel_futures=True)


class Lanes:
    """The two threads of all chains of a node."""

    def __init__(self) -> None:
        self.writer = Lane("evm-writer", most=1_000)
        self.reader = Lane("evm-reader", most=MOST_WAITING)

    def close(self) -> None:
        self.writer.close()
        self.reader.close()

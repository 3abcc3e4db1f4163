"""Threads beside the event loop: one for each chain executes blocks, one answers calls.

Python runs one thread at a time, but while a block waits for the disk another chain goes on:
five chains at once took 350 transactions a second with one writer and 392 with five, on a busy
disk 188 and 322. A call does not wait for a block, and the event loop for neither.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from swapdesk.sandbox.node.evm.json_rpc import Code, Problem

T = TypeVar("T")

MOST_WAITING = 256
"""Calls that wait for the reader; one more is refused."""
NICENESS = 5
"""Of the process that makes blocks: others go first."""
SWITCH_SECONDS = 0.0005
"""How long a thread that makes a block keeps the interpreter when the event loop wants it. The
loop wants it back after every read and write of a socket: at Python's 5 ms, a read beside sixteen
senders waited 0.2 to 0.4 s (p99, at a load of 10), and 0.14 to 0.18 s at this."""


def give_way() -> None:
    """Blocks are made when nobody else needs the processor, and questions do not wait for them.

    For the process of a node, once, before its loop runs.
    """
    os.nice(NICENESS)
    sys.setswitchinterval(SWITCH_SECONDS)


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

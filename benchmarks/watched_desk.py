"""The desk with a watch on its event loop: the longest callbacks are written down at its end.

``python -m benchmarks.watched_desk FILE [ARGUMENTS]``
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

from swapdesk.cli.main import main

WORTH_KEEPING = 0.010
"""Seconds a callback must hold the loop to be written down."""


def watch(stalls: list[tuple[float, float, str]]) -> None:
    """Time every callback of every loop of this process, and every garbage collection."""
    run = asyncio.events.Handle._run

    def timed(handle: Any) -> None:
        begin = time.perf_counter()
        run(handle)
        took = time.perf_counter() - begin
        if took >= WORTH_KEEPING:
            stalls.append((begin, took, _named(handle)))

    collecting = 0.0

    def collected(phase: str, info: dict[str, int]) -> None:
        nonlocal collecting
        now = time.perf_counter()
        if phase == "start":
            collecting = now
        elif now - collecting >= WORTH_KEEPING:
            stalls.append((collecting, now - collecting, f"collection {info['generation']}"))

    gc.callbacks.append(collected)
    asyncio.events.Handle._run = timed  # type: ignore


def _named(handle: Any) -> str:
    """The coroutine of a task's step, else the callback."""
    task = getattr(handle._callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return f"{task.get_name()}: {getattr(task.get_coro(), '__qualname__', task.get_coro())}"
    return repr(handle)[:300]


if __name__ == "__main__":
    target = Path(sys.argv.pop(1))
    found: list[tuple[float, float, str]] = []
    watch(found)
    try:
        main()
    finally:
        target.write_text(json.dumps(found))

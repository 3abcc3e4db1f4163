"""Waiting until an application under test has nothing to do, in milliseconds.

The toolkit's own wait looks at the processor every 20 ms, at least twice for each key, so most
of a test was sleep. This one asks the event loop: nothing is ready, nothing falls due within a
frame, and no thread of the process works. Keys, pauses and resizes of every pilot use it.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import textual.app
import textual.pilot

LOOK = 0.004
"""Seconds between two looks: threads and sockets get this long to come back."""
BUSY = 0.0008
"""Processor seconds between two looks, of all threads, from which the process is at work."""
MOST_STARVED = 10
"""A second of looks ends after so many seconds, whatever the machine does meanwhile."""
FRAME = 0.02
"""Seconds ahead in which no timer may fall due: more than the toolkit takes for a frame."""


def _is_due(loop: Any) -> bool:
    """Whether the loop has something to run now or within a frame."""
    if loop._ready:
        return True
    until = loop.time() + FRAME
    return any(one.when() <= until and not one.cancelled() for one in loop._scheduled)


async def at_rest(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until the loop is at rest; give up after ``max_sleep`` seconds of looks.

    They are counted and not timed: where others have the processor, a second may pass in which
    this process did nothing, and what a test looks for then is not there yet.
    """
    loop = asyncio.get_running_loop()
    began = time.monotonic()
    for _ in range(max(1, int(max_sleep / LOOK))):
        worked = time.process_time()
        await asyncio.sleep(LOOK)
        waited = time.monotonic() - began
        if waited >= max_sleep * MOST_STARVED:
            return
        if waited >= min_sleep and time.process_time() - worked < BUSY and not _is_due(loop):
            return


def use() -> None:
    """Let every pilot wait this way."""
    for module in (textual.app, textual.pilot):
        vars(module)["wait_for_idle"] = at_rest

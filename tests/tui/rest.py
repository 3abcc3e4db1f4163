"""Waiting until an application under test has nothing to do, in milliseconds.

The toolkit's own wait looks at the processor every 20 ms, at least twice for each key, so most
of a test was sleep. This one asks the event loop: nothing is ready, nothing falls due within a
frame, and no thread of the process works. Keys, pauses and resizes of every pilot use it.

Before that the toolkit lets every widget of the screen answer, though most of them wait for a
message: a tenth of a test was such questions. Only those are asked that have something to do.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import textual.app
import textual.pilot
from textual.app import ScreenError
from textual.message_pump import MessagePump
from textual.pilot import Pilot, WaitForScreenTimeout

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


def _has_work(pump: MessagePump) -> bool:
    """Whether a message waits for it, or one is being handled."""
    queue: Any = pump._message_queue
    return bool(queue.values) or not any(not one.done() for one in queue.ready_event._waiters)


async def messages_handled(pilot: Pilot[Any], timeout: float = 30.0) -> bool:
    """Wait until the application, its screen and all widgets have handled what they were sent;
    False if they cannot, because one of them failed. WaitForScreenTimeout after ``timeout``."""
    app = pilot.app
    try:
        screen = app.screen
    except ScreenError:
        return False
    left, handled = 0, asyncio.Event()

    def one_handled() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            handled.set()

    for pump in (app, *screen.walk_children(with_self=True)):
        if _has_work(pump) and pump.call_later(one_handled):
            left += 1
    if left:
        waits = [asyncio.create_task(event.wait()) for event in (handled, app._exception_event)]
        over, _ = await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if not over:
            raise WaitForScreenTimeout("widgets have still not handled their messages")
    return left <= 0


def use() -> None:
    """Let every pilot wait this way."""
    for module in (textual.app, textual.pilot):
        vars(module)["wait_for_idle"] = at_rest
    pilots: Any = Pilot
    pilots._wait_for_screen = messages_handled

"""Waiting until an application under test has nothing to do, in milliseconds.

The toolkit's own wait looks at the processor every 20 ms, at least twice for each key, so most
of a test was sleep. This one asks the event loop: nothing is ready, nothing falls due within a
frame, and no thread of the process works. What falls due soon, with nothing to do before it, does
so at once: the time of the loop moves on to it. Keys, pauses and resizes of every pilot use it.

A pause also sends every widget a message of its own and waits for each, which is a tenth of what
a test costs. A widget that waits for its next message has handled all there were, so this is done
only while one of them does not.

Layouts and frames are half of what a test costs. The toolkit makes one every 16 ms as long as
something changes; here one is made when nothing else is left to do, or after ``SLOW_FRAME``.
"""

from __future__ import annotations

import asyncio
import time
from math import inf
from typing import Any
from weakref import WeakSet

import textual.app
import textual.pilot
import textual.screen
from textual.app import App
from textual.message_pump import MessagePump
from textual.pilot import Pilot

LOOK = 0.004
"""Seconds between two looks: threads and sockets get this long to come back."""
BUSY = 0.0008
"""Processor seconds between two looks, of all threads, from which the process is at work."""
MOST_STARVED = 10
"""A second of looks ends after so many seconds, whatever the machine does meanwhile."""
FRAME = 0.02
"""Seconds ahead in which no timer may fall due: more than the toolkit takes for a frame."""
SLOW_FRAME = 0.25
"""Seconds until a frame is drawn while a test does not wait for rest."""

_wait_for_screen = Pilot._wait_for_screen
_begin_pilot = Pilot.__init__
_piloted: WeakSet[App[Any]] = WeakSet()


def _is_due(loop: Any, ahead: float) -> bool:
    """Whether the loop has something to run now or within ``ahead`` seconds; the time of the loop
    moves on to that, as nothing else is left to do before it. A thread that was given work has
    some to run, also where the machine does not let it."""
    pool = loop._default_executor
    if loop._ready or (pool is not None and pool._idle_semaphore._value < len(pool._threads)):
        return True
    dues = [one.when() for one in loop._scheduled if not one.cancelled()]
    wait = min(dues, default=inf) - loop.time()
    if wait > ahead:
        return False
    if wait > 0:
        moved = loop.time() + wait - time.monotonic()
        loop.time = lambda: time.monotonic() + moved
    return True


async def at_rest(min_sleep: float = 0.0, max_sleep: float = 1.0, ahead: float = FRAME) -> None:
    """Wait until the loop is at rest; give up after ``max_sleep`` seconds of looks.

    Nothing falls due within ``ahead`` seconds then.

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
        quiet = waited >= min_sleep and time.process_time() - worked < BUSY
        if quiet and not _is_due(loop, ahead) and not _drawn():
            return


def _drawn() -> bool:
    """Draw what waits for the next frame; whether there was something to draw."""
    drawn = False
    for app in list(_piloted):
        if app._exit or not app._running or not app.screen_stack:
            continue
        for screen in (app.screen, *app._background_screens):
            if screen._update_timer._active.is_set():
                with screen._context():
                    screen._on_timer_update()
                drawn = True
    return drawn


def _waits(pump: MessagePump) -> bool:
    """Whether a widget has handled every message and waits for the next one."""
    queue: Any = pump._message_queue
    return queue.empty() and any(not one.done() for one in queue.ready_event._waiters)


async def _all_handled(pilot: Pilot[Any], timeout: float = 30.0) -> bool:
    """As the toolkit has it: every widget of the screen has handled what was sent to it."""
    app = pilot.app
    if app._exception is None and app.screen_stack:
        screens = (app.screen, *app._background_screens)
        pumps = (app, *(pump for one in screens for pump in one.walk_children(with_self=True)))
        if all(_waits(pump) for pump in pumps):
            return True
    return await _wait_for_screen(pilot, timeout)


def _begin(pilot: Pilot[Any], app: App[Any]) -> None:
    _begin_pilot(pilot, app)
    _piloted.add(app)


def use() -> None:
    """Let every pilot wait this way."""
    for module in (textual.app, textual.pilot):
        vars(module)["wait_for_idle"] = at_rest
    textual.screen.UPDATE_PERIOD = SLOW_FRAME  # type: ignore[misc]
    pilots: Any = Pilot
    pilots.__init__ = _begin
    pilots._wait_for_screen = _all_handled

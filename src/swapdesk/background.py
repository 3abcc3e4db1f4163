"""Background tasks that keep running: if a defect stops a task, the defect is reported and the task
is started again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

from msgspec import Struct

from swapdesk.clock import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Longest pause in seconds, doubled from ``FIRST_PAUSE``, before a defective task starts again."""
TOLD_AGAIN = 600.0
"""The time in seconds for which ``on_defect`` is called only once for the same defect of the same
task."""


class Defect(Struct, frozen=True):
    """The error that stopped a task; ``again`` is True if the task is started again."""

    task: str
    error: BaseException
    again: bool

    def __str__(self) -> str:
        then = "It is started again." if self.again else "The rest goes on."
        return f"A defect stopped {self.task}: {type(self.error).__name__}. {then}"


class Silence:
    """Logs the silence of a peer with one line at its beginning and one at its end, instead of one
    for each request."""

    def __init__(self, logger: logging.Logger, whose: str) -> None:
        self._log = logger
        self._whose = whose
        self.lasts = False

    def begin(self, why: object) -> None:
        if not self.lasts:
            self.lasts = True
            self._log.warning("%s does not answer: %s", self._whose, why)

    def end(self) -> None:
        if self.lasts:
            self.lasts = False
            self._log.warning("%s answers again", self._whose)


class SharedWork(Generic[T]):
    """Work that runs at most once at a time: ``begin`` returns the task in progress, if any. The
    task continues if a caller is cancelled."""

    def __init__(self) -> None:
        self._task: asyncio.Task[T] | None = None

    def begin(self, work: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(work())
            # Its failure is for who waits; where nobody does any more it is nobody's.
            self._task.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._task

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def over(self) -> None:
        """Waits until the present run, if any, has succeeded, failed or been cancelled."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await self.over()


class BackgroundTasks:
    """The background tasks of one desk. ``on_defect`` gets every defect on the event loop."""

    def __init__(self, clock: Clock, on_defect: Callable[[Defect], None] | None = None) -> None:
        self.on_defect = on_defect
        self._clock = clock
        self._told: dict[tuple[str, str], float] = {}

    def start(self, task: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        return asyncio.create_task(self.keep(task, work), name=task)

    async def keep(self, task: str, work: Callable[[], Awaitable[None]]) -> None:
        """Runs ``work`` until it returns or is cancelled. A defect is reported under the name
        ``task``, and ``work`` starts again."""
        pause = FIRST_PAUSE
        while True:
            began = self._clock.monotonic()
            if await self._ended(task, work(), again=True):
                return
            if self._clock.monotonic() - began >= LONGEST_PAUSE:
                pause = FIRST_PAUSE
            await self._clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    async def once(self, task: str, work: Awaitable[None]) -> None:
        """Runs ``work`` once. An error that it raises is reported as a defect and not raised."""
        await self._ended(task, work, again=False)

    async def _ended(self, task: str, work: Awaitable[None], *, again: bool) -> bool:
        try:
            await work
        except asyncio.CancelledError as error:
            # Cancelled by whoever ends the desk, or by something within that was given up.
            current = asyncio.current_task()
            if current is None or current.cancelling():
                raise
            self.tell(Defect(task, error, again))
        except Exception as error:  # noqa: BLE001 (each kind means the same here)
            self.tell(Defect(task, error, again))
        else:
            return True
        return False

    def tell(self, defect: Defect) -> None:
        """Logs a defect, and passes it to ``on_defect`` unless it was passed on within the last
        ``TOLD_AGAIN`` seconds."""
        log.error("%s", defect, exc_info=defect.error)
        now = self._clock.monotonic()
        key = (defect.task, repr(defect.error)[:200])
        if now - self._told.get(key, float("-inf")) < TOLD_AGAIN:
            return
        self._told = {entry: at for entry, at in self._told.items() if now - at < TOLD_AGAIN}
        self._told[key] = now
        if self.on_defect is not None:
            self.on_defect(defect)


async def together(*work: Coroutine[Any, Any, None]) -> None:
    """Runs all coroutines until they have ended. If one raises an error, cancels the others and
    raises that error."""
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
    """Runs ``work`` for at most ``seconds`` of the clock. Returns False, after cancelling it, if it
    did not end in time."""
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

"""Keys do not stay open for a desk that nobody uses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from swapdesk.clock import Clock

MIN_SECONDS = 0.01
MAX_SECONDS = 24 * 3600.0


class IdleLock:
    """Calls ``lock`` once after ``seconds`` in which nothing was asked.

    Time is the clock's monotonic one, which counts while the machine sleeps.
    """

    def __init__(self, clock: Clock, seconds: float, lock: Callable[[], None]) -> None:
        self._clock = clock
        self._seconds = min(MAX_SECONDS, max(MIN_SECONDS, seconds))
        self._lock = lock
        self._last = clock.monotonic()
        self._watch: asyncio.Task[None] | None = None

    def used(self) -> None:
        """Something was asked: the time begins anew."""
        self._last = self._clock.monotonic()

    def start(self) -> None:
        """Keys were opened."""
        self.used()
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._wait(), name="idle lock")

    @property
    def overdue(self) -> bool:
        return self._clock.monotonic() - self._last >= self._seconds

    async def _wait(self) -> None:
        while not self.overdue:
            await self._clock.sleep(self._last + self._seconds - self._clock.monotonic())
        self._lock()

"""Compares the clock of this process with the database's, which all processes share. A process with
a wrong clock does nothing that depends on time, such as expiry or rate limits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta

from swapdesk.clock import Clock
from swapdesk.service.store.database import ClockDiffers
from swapdesk.service.store.store import Store

log = logging.getLogger(__name__)


class Timekeeper:
    """Knows whether this process's clock agrees with the database's, within ``tolerance``. If
    ``tolerance`` is None, this is the service's only process, and its clock counts as right."""

    def __init__(self, store: Store, clock: Clock, tolerance: timedelta | None) -> None:
        self._store = store
        self._clock = clock
        self._tolerance = tolerance
        self._right, self._wrong = asyncio.Event(), asyncio.Event()
        self._right.set()

    @property
    def is_shared(self) -> bool:
        """True if other processes may use the same database, so that clocks are compared."""
        return self._tolerance is not None

    @property
    def is_right(self) -> bool:
        """True if the clock agreed with the database's clock when they were last compared."""
        return self._right.is_set()

    async def look(self) -> None:
        """Compares this process's clock with the database's clock and records the result. Raises
        StoreUnavailable."""
        if self._tolerance is None:
            return
        before = self._clock.now()
        at = await self._store.now()
        # Between the two questions the database may have been asked at any moment.
        ahead = before - at if before > at else min(self._clock.now() - at, timedelta(0))
        if abs(ahead) > self._tolerance:
            if self.is_right:
                log.error("clock: nothing is done that goes by time: %s", ClockDiffers(ahead))
            self._right.clear()
            self._wrong.set()
        elif not self.is_right:
            log.warning("clock: it agrees with the database's again")
            self._wrong.clear()
            self._right.set()

    async def while_right(self, part: Callable[[], Awaitable[None]]) -> None:
        """Runs ``part`` while the clock is right. Cancels ``part`` when the clock is wrong, and
        runs it anew once the clock is right again. Returns when ``part`` ends by itself."""
        while True:
            await self._right.wait()
            running = asyncio.ensure_future(part())
            ending = asyncio.ensure_future(self._wrong.wait())
            try:
                await asyncio.wait({running, ending}, return_when=asyncio.FIRST_COMPLETED)
                if running.done():
                    return running.result()
            finally:
                for task in (running, ending):
                    task.cancel()
                await asyncio.gather(running, ending, return_exceptions=True)

"""Compares the clock of this process with the database's, which is the same for all processes.

If the clock is ahead, orders and bundles would expire although their payers are still in time. If
it is behind, a quote would be accepted although its price is long outdated. In both cases calls
would be counted in the windows of another time. So a process whose clock is wrong does nothing that
depends on time.
"""

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
    """Knows whether the clock of this process agrees with the database's, within ``tolerance``.

    Without a ``tolerance`` the clock is right by definition, because no other process works by it.
    """

    def __init__(self, store: Store, clock: Clock, tolerance: timedelta | None) -> None:
        self._store = store
        self._clock = clock
        self._tolerance = tolerance
        self._right, self._wrong = asyncio.Event(), asyncio.Event()
        self._right.set()

    @property
    def is_shared(self) -> bool:
        """True if other processes may use the database's clock, too."""
        return self._tolerance is not None

    @property
    def is_right(self) -> bool:
        """True if the clock agreed with the database's at the last look."""
        return self._right.is_set()

    async def look(self) -> None:
        """Compares the clock with the database's. Raises StoreUnavailable."""
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
        """Runs ``part``, a part of the background work, as long as the clock is right.

        When the clock becomes wrong, ``part`` is cancelled, in the same way as at the end of the
        process. It is started again when the clock is right again.
        """
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

"""How many requests each partner made in a month (contract 12.1)."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, defaultdict

from swapdesk.clock import Clock
from swapdesk.service.access import Partner
from swapdesk.service.store.protocol import Store, StoreUnavailable

FLUSH_SECONDS = 1.0

logger = logging.getLogger(__name__)

_Month = tuple[int, int]
"""Year and month of UTC."""


class RequestCounter:
    """Authenticated requests by partner and UTC month; written to the store in batches.

    At most the last second of counting is lost when the process is killed, nothing when it is
    shut down.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._unwritten: dict[_Month, Counter[str]] = defaultdict(Counter)
        self._writing = asyncio.Lock()

    def _month(self) -> _Month:
        now = self._clock.now()
        return now.year, now.month

    def count(self, partner: Partner) -> None:
        self._unwritten[self._month()][partner.partner_id] += 1

    async def in_month(self, partner: Partner) -> int:
        """Requests of this month so far, the unwritten ones included."""
        month = self._month()
        async with self._writing:
            written = await self._store.requests_in_month(partner.partner_id, _stored(month))
            return written + self._unwritten[month][partner.partner_id]

    async def flush(self) -> None:
        """Write what was counted. What could not be written is kept; raises StoreUnavailable."""
        async with self._writing:
            for month in list(self._unwritten):
                counts = self._unwritten.pop(month)
                try:
                    if counts:
                        await self._store.add_requests(_stored(month), dict(counts))
                except StoreUnavailable:
                    self._unwritten[month].update(counts)
                    raise

    async def run(self) -> None:
        """Flush every second until cancelled."""
        while True:
            await self._clock.sleep(FLUSH_SECONDS)
            try:
                # Shielded: a shutdown in the middle must neither lose nor repeat a batch.
                await asyncio.shield(self.flush())
            except StoreUnavailable:
                logger.warning("request counts not written; trying again")


def _stored(month: _Month) -> str:
    """``YYYY-MM``."""
    return "{:04}-{:02}".format(*month)

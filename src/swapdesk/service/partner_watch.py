"""Keeps the directory of a running service as the store has it.

An operator changes accounts and keys from another process. Requests read the directory in memory;
only this part looks at the store, once a second.
"""

from __future__ import annotations

import logging

from swapdesk.clock import Clock
from swapdesk.service.access import Directory
from swapdesk.service.events import Hub
from swapdesk.service.store.records import Store, StoreUnavailable

LOOK_SECONDS = 1.0

logger = logging.getLogger(__name__)


class PartnerWatch:
    """One per process. ``run`` until cancelled; ``refresh`` first, before any request."""

    def __init__(self, store: Store, directory: Directory, hub: Hub, clock: Clock) -> None:
        self._store = store
        self._directory = directory
        self._hub = hub
        self._clock = clock

    async def refresh(self) -> None:
        """Take up what was changed, and end the streams whose key is no longer accepted. Raises
        StoreUnavailable."""
        if self._store.partner_changes() == self._directory.version:
            return
        version, partners = await self._store.read_partners()
        self._directory.replace([each.as_partner() for each in partners], version)
        self._hub.end_refused(self._directory.accepts)

    async def run(self) -> None:
        """Look every second until cancelled."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            try:
                await self.refresh()
            except StoreUnavailable:
                logger.warning("partners not read; trying again")

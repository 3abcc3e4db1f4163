"""Keeps a process's directory of partners up to date with changes that operators make, in any
process. If the background task fails for a while, the store is asked before an API key is
accepted."""

from __future__ import annotations

from collections.abc import Callable

from swapdesk.clock import Clock
from swapdesk.service.access import Directory
from swapdesk.service.store.store import Store

KNOWN_SECONDS = 5.0
"""Seconds for which the process relies on its last comparison with the store."""


class PartnerWatch:
    def __init__(self, store: Store, clock: Clock, directory: Directory) -> None:
        self._store = store
        self._clock = clock
        self._directory = directory
        self._looked: float | None = None
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Registers a function that is called after each change of the directory."""
        self._listeners.append(listener)

    async def look(self) -> None:
        """Reads the partners from the store if they have changed. Raises StoreUnavailable."""
        begun = self._clock.monotonic()
        if await self._store.partners.changes() != self._directory.version:
            version, partners = await self._store.partners.read()
            self._directory.replace([partner.terms for partner in partners], version)
            for listener in self._listeners:
                listener()
        self._looked = begun

    async def require(self) -> None:
        """Reads the partners again if the last read is too old. If it raises StoreUnavailable, no
        API key may be accepted."""
        if self._looked is not None and self._clock.monotonic() - self._looked > KNOWN_SECONDS:
            await self.look()

"""The partners as operators change them, from whichever process.

Requests read the directory alone, which costs them nothing. It is held against the store once a
second; a process that could not look for a while asks before it takes a key, which may have been
revoked meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

from swapdesk.clock import Clock
from swapdesk.service.access import Directory
from swapdesk.service.store.store import Store

KNOWN_SECONDS = 5.0
"""For so long a look counts."""


class PartnerWatch:
    def __init__(self, store: Store, clock: Clock, directory: Directory) -> None:
        self._store = store
        self._clock = clock
        self._directory = directory
        self._looked: float | None = None
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Call it whenever the directory has changed."""
        self._listeners.append(listener)

    async def look(self) -> None:
        """Know the partners as they stand in the store now. Raises StoreUnavailable."""
        begun = self._clock.monotonic()
        if await self._store.partners.changes() != self._directory.version:
            version, partners = await self._store.partners.read()
            self._directory.replace([partner.terms for partner in partners], version)
            for listener in self._listeners:
                listener()
        self._looked = begun

    async def require(self) -> None:
        """Look again where the last look counts no longer. Before the first one those partners
        count that the service was given. Raises StoreUnavailable: nobody is known then."""
        if self._looked is not None and self._clock.monotonic() - self._looked > KNOWN_SECONDS:
            await self.look()

"""Who wants to know of changes, and what changed since each looked last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator


class OrderChanges:
    """Orders by their ids, and the state of the stream."""

    def __init__(self) -> None:
        self._listeners: list[asyncio.Queue[str | None]] = []

    def tell(self, service_id: str | None) -> None:
        """An order moved; None: the stream did."""
        for queue in self._listeners:
            queue.put_nowait(service_id)

    async def each(self) -> AsyncGenerator[frozenset[str], None]:
        """Ids that changed since the last look, coalesced; an empty set means the stream state."""
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self._listeners.append(queue)
        try:
            while True:
                changed = {await queue.get()}
                while not queue.empty():
                    changed.add(queue.get_nowait())
                yield frozenset(name for name in changed if name is not None)
        finally:
            self._listeners.remove(queue)

"""What is asked of the service beside the stream, for one order at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from swapdesk.background import BackgroundTasks
from swapdesk.flows.orders.order_fields import short_id


class OrderErrands:
    """At most one errand an order; :meth:`end` cancels all."""

    def __init__(self, background: BackgroundTasks) -> None:
        self._background = background
        self._for: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, service_id: str, work: Coroutine[None, None, None]) -> None:
        """Run ``work`` unless something is under way for the order already."""
        if service_id in self._for:
            work.close()
            return
        self._for.add(service_id)
        name = f"looking after order {short_id(service_id)}"
        task = asyncio.create_task(self._background.once(name, work), name=name)
        self._tasks.add(task)

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            self._for.discard(service_id)

        task.add_done_callback(done)

    def __len__(self) -> int:
        return len(self._for)

    def end(self) -> None:
        for task in self._tasks:
            task.cancel()

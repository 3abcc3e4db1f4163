"""States of orders on their way into the journal: the newest of each, ten commits a second.

A thread writes, so that no commit stops the screen; the caller hears of a state once the
journal has it, or has refused it and will be asked again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from swapdesk.clock import Clock
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import Source
from swapdesk.flows.journal.order_log import OrderLog
from swapdesk.wire.orders import Order

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.1
"""States that arrive within this time become one commit and one announcement."""
AGAIN_SECONDS = 2.0
"""How long a journal that took nothing is left alone."""
SLICE = 100
"""Orders a transaction: the file is locked for a few milliseconds at a time."""


@dataclass(frozen=True)
class Writing:
    """One state to be written; ``ended`` says that REST confirmed its end."""

    order: Order
    source: Source
    ended: bool


class OrderWrites:
    """``written`` is called with the ids of every commit, on the event loop."""

    def __init__(
        self,
        log_file: OrderLog,
        clock: Clock,
        written: Callable[[Iterable[str]], None],
        *,
        seconds: float = FLUSH_SECONDS,
    ) -> None:
        self.pending: dict[str, Writing] = {}
        self._log = log_file
        self._clock = clock
        self._written = written
        self._seconds = seconds
        self._flush: asyncio.Task[None] | None = None
        self._finished = False
        self._one_at_a_time = asyncio.Lock()

    def put(self, writing: Writing) -> None:
        """Take the newest state of an order; an older one that waits is dropped."""
        self.pending[writing.order.service_id] = writing

    def schedule(self) -> None:
        """Write what waits, soon."""
        if self._finished or not self.pending:
            return
        if self._flush is None or self._flush.done():
            self._flush = asyncio.create_task(self._flush_soon(), name="journal-flush")

    async def flush(self) -> bool:
        """Write what waits now; False when the journal did not take it all."""
        async with self._one_at_a_time:
            waiting = list(self.pending)
            for at in range(0, len(waiting), SLICE):
                # Taken only now: what changed meanwhile is written in its newest state, once.
                names = [name for name in waiting[at : at + SLICE] if name in self.pending]
                part = {name: self.pending.pop(name) for name in names}
                try:
                    await asyncio.shield(asyncio.to_thread(self._write, list(part.values())))
                except asyncio.CancelledError:
                    # The thread goes on with this part; written twice is written once.
                    self.pending = {**part, **self.pending}
                    self.schedule()
                    raise
                except JournalUnavailable as error:
                    log.error("the journal did not take %d orders: %s", len(waiting) - at, error)
                    self.pending = {**part, **self.pending}
                    self._written(waiting[at:])
                    return False
                self._written(names)
        return True

    def finish(self) -> None:
        """Stop, and write what still waits before anything is closed."""
        self._finished = True
        if self._flush is not None:
            self._flush.cancel()
        pending, self.pending = self.pending, {}
        if not pending:
            return
        try:
            self._write(list(pending.values()))
        except JournalUnavailable as error:
            log.error("the journal did not take %d orders: %s", len(pending), error)

    def _write(self, states: list[Writing]) -> None:
        self._log.record((one.order, one.source, one.ended) for one in states)

    async def _flush_soon(self) -> None:
        wait = self._seconds
        while self.pending:
            await self._clock.sleep(wait)
            wait = self._seconds if await self.flush() else AGAIN_SECONDS

"""Writes the newest state of each order to the journal, at most ten commits a second, in a thread.

A state is reported to the caller once the journal has it, or if the journal refused it and will be
asked again. States that differ only in amounts and times are reported at once and written later.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple

from swapdesk.background import BackgroundTasks
from swapdesk.clock import Clock
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.order_log import OrderLog
from swapdesk.flows.orders.order_transactions import Source
from swapdesk.wire.orders import Order

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.1
"""Seconds in which arriving states are collected, to be committed and announced together."""
AGAIN_SECONDS = 2.0
"""Pause in seconds after a commit that the journal refused."""
FIGURES_SECONDS = 120.0
"""Seconds in which changed figures are collected before they are written."""
SLICE = 100
"""Number of orders in one transaction, which locks the file for a few milliseconds."""


class Writing(NamedTuple):
    """A state of an order, to be written to the journal. ``ended`` is True if the REST API
    confirmed the end of the order."""

    order: Order
    source: Source
    ended: bool


class OrderWrites:
    """Queues of order states for the journal. ``written`` is called with the ids of the orders to
    announce, after each commit and after a failed commit."""

    def __init__(
        self,
        orders: OrderLog,
        clock: Clock,
        written: Callable[[Iterable[str]], None],
        background: BackgroundTasks,
    ) -> None:
        self.pending: dict[str, Writing] = {}
        self._figures: dict[str, Writing] = {}
        """By order id, states that differ from the written one only in amounts and times."""
        self._untold: set[str] = set()
        """Orders whose figures changed since the last announcement."""
        self._orders = orders
        self._clock = clock
        self._written = written
        self._background = background
        self._flush: asyncio.Task[None] | None = None
        self._collecting: asyncio.Task[None] | None = None
        self._finished = False
        self._one_at_a_time = asyncio.Lock()

    def put(self, writing: Writing) -> None:
        """Queues the newest state of an order, in place of an older state that is still queued."""
        service_id = writing.order.service_id
        self._figures.pop(service_id, None)
        # It may have ended, which is not announced before the commit.
        self._untold.discard(service_id)
        self.pending[service_id] = writing

    def put_figures(self, writing: Writing) -> None:
        """Queues a state in which only amounts and times are new. The journal receives such states
        later than others."""
        service_id = writing.order.service_id
        if service_id in self.pending:
            self.put(writing)
            return
        self._figures[service_id] = writing
        self._untold.add(service_id)

    def waiting(self, service_id: str) -> bool:
        return service_id in self.pending or service_id in self._figures

    def schedule(self) -> None:
        if self._finished:
            return
        if (self.pending or self._untold) and (self._flush is None or self._flush.done()):
            self._flush = self._background.start("writing orders down", self._flush_soon)
        if self._figures and (self._collecting is None or self._collecting.done()):
            self._collecting = self._background.start("collecting figures", self._collect)

    async def flush(self) -> bool:
        """Writes the queued states to the journal and announces them. States with only new amounts
        or times are announced but not written. Returns False if the journal did not take all
        states."""
        if self._untold:
            names, self._untold = list(self._untold), set()
            self._written(names)
        async with self._one_at_a_time:
            waiting = list(self.pending)
            for at in range(0, len(waiting), SLICE):
                # Taken only now, so that each order is written in its newest state.
                names = [name for name in waiting[at : at + SLICE] if name in self.pending]
                part = {name: self.pending.pop(name) for name in names}
                states = list(part.values())
                try:
                    await asyncio.shield(asyncio.to_thread(self._orders.record, states))
                except JournalUnavailable as error:
                    log.error("the journal did not take %d orders: %s", len(waiting) - at, error)
                    self.pending = {**part, **self.pending}
                    self._written(waiting[at:])
                    return False
                except BaseException:
                    # The thread goes on with this part; written twice is written once.
                    self.pending = {**part, **self.pending}
                    self.schedule()
                    raise
                self._written(names)
        return True

    async def finish(self) -> None:
        """Stops the queues and writes all queued states: in a worker thread or, if cancelled, at
        once on the event loop."""
        self._finished = True
        self._due()
        tasks = [task for task in (self._flush, self._collecting) if task is not None]
        for task in tasks:
            task.cancel()
        try:
            # A cancelled flush queues again what it had in hand.
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.flush()
        except asyncio.CancelledError:
            try:
                self._orders.record(self.pending.values())
            except JournalUnavailable as error:
                log.error("the journal did not take %d orders: %s", len(self.pending), error)
            raise

    async def _flush_soon(self) -> None:
        wait = FLUSH_SECONDS
        while self.pending or self._untold:
            await self._clock.sleep(wait)
            wait = FLUSH_SECONDS if await self.flush() else AGAIN_SECONDS

    async def _collect(self) -> None:
        while self._figures:
            await self._clock.sleep(FIGURES_SECONDS)
            self._due()
            self.schedule()

    def _due(self) -> None:
        self.pending |= self._figures
        self._figures = {}

"""Checks whether the service is ready: the database, its clock, a worker for due orders, and the
nodes of chains. The public answer only gives the state of each; the log says why."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct

from swapdesk.background import SharedWork, Silence
from swapdesk.chain.node_http import NodeError
from swapdesk.clock import Clock
from swapdesk.service.dex.desk import Head, Sightings
from swapdesk.service.events import Hub
from swapdesk.service.orders.lifecycle import Worker
from swapdesk.service.partner_watch import PartnerWatch
from swapdesk.service.store.database import SchemaError, StoreUnavailable
from swapdesk.service.store.store import Store
from swapdesk.service.timekeeping import Timekeeper
from swapdesk.service.venues.registry import within
from swapdesk.wire.encoding.codec import encode_json

log = logging.getLogger(__name__)

T = TypeVar("T")

PROBE_SECONDS = 2.0
OVERDUE_SECONDS = 10.0
"""Seconds that the oldest due order may be overdue before it is concluded that no worker runs."""
ABSENT_SECONDS = 60.0
"""Seconds without a sign of life in the store after which a worker counts as absent; more than a
restart takes."""
_FRESH_SECONDS = 1.0


class Backlog(Struct, frozen=True):
    """The work that waits in the store. ``overdue`` (oldest due order) and ``untold`` (oldest
    change not sent on order streams) are ages in seconds: 0 if nothing waits, None if unknown.
    ``attended`` is True if a worker was seen lately."""

    overdue: float | None
    untold: float | None
    attended: bool


class Standing(Struct, frozen=True):
    """The state of the service that the readiness probe reports. If the database did not answer,
    ``backlog`` is None, and ``works`` and ``clock_is_right`` mean nothing. ``outgrown`` is True if
    the database belongs to a newer release."""

    backlog: Backlog | None
    outgrown: bool
    clock_is_right: bool
    works: bool
    heads: Mapping[str, Head | None]

    @property
    def database(self) -> str:
        if self.outgrown:
            return "newer"
        return "silent" if self.backlog is None else "ok"

    @property
    def clock(self) -> str:
        if self.backlog is None:
            return "unknown"
        return "ok" if self.clock_is_right else "differs"

    @property
    def worker(self) -> str:
        # One that goes round carries nothing out without the database.
        if self.backlog is None:
            return "unknown"
        if self.works:
            return "ok"
        if self.backlog.overdue is None:
            return "unknown"
        if self.backlog.overdue > OVERDUE_SECONDS:
            return "late"
        return "ok" if self.backlog.attended else "none"

    @property
    def status(self) -> str:
        """``ready``, ``unready``, or ``degraded``: the service is usable, but some chain nodes do
        not answer."""
        answering = [head is not None for head in self.heads.values()]
        able = not answering or any(answering)
        parts = (self.database, self.clock, self.worker)
        if parts != ("ok", "ok", "ok") or not able:
            return "unready"
        return "ready" if all(answering) else "degraded"

    @property
    def is_ready(self) -> bool:
        return self.status != "unready"

    def encoded(self) -> bytes:
        return encode_json(
            {
                "status": self.status,
                "database": self.database,
                "clock": self.clock,
                "worker": self.worker,
                "nodes": {
                    chain: "silent" if head is None else "ok"
                    for chain, head in sorted(self.heads.items())
                },
            }
        )


class Readiness:
    def __init__(
        self,
        store: Store,
        timekeeper: Timekeeper,
        partners: PartnerWatch,
        worker: Worker,
        hub: Hub,
        chains: Mapping[str, Sightings],
        clock: Clock,
    ) -> None:
        self._store = store
        self._timekeeper = timekeeper
        self._partners = partners
        self._worker = worker
        self._hub = hub
        self._chains = chains
        self._clock = clock
        self._standing: Standing | None = None
        self._looked = float("-inf")
        self._looking: SharedWork[Standing] = SharedWork()
        parts = ("the database", *map(_node, chains))
        self._silences = {part: Silence(log, part) for part in parts}
        self.outgrown: SchemaError | None = None
        """The reason why all work has ended, once the database belongs to a newer release."""

    async def look(self) -> Standing:
        """Returns the state of the service; a state at most one second old is returned without
        probing again."""
        if self._standing is not None and self._clock.monotonic() - self._looked < _FRESH_SECONDS:
            return self._standing
        # One who gives up must not end the look of the others.
        return await asyncio.shield(self._looking.begin(self._look))

    async def _look(self) -> Standing:
        now = self._clock.now()
        asking = asyncio.gather(
            *(self._answered(_node(name), c.head()) for name, c in self._chains.items())
        )
        backlog, heads = await asyncio.gather(
            self._answered("the database", self._backlog(now)), asking
        )
        self._looked = self._clock.monotonic()
        self._standing = Standing(
            backlog,
            self.outgrown is not None,
            self._timekeeper.is_right,
            self._worker.is_alive,
            dict(zip(self._chains, heads, strict=True)),
        )
        return self._standing

    async def _backlog(self, now: datetime) -> Backlog:
        # Without them no call is taken.
        await self._partners.require()
        due = await self._store.orders.next_due()
        delivered, untold = self._hub.delivered, None
        if delivered is not None:
            oldest = await self._store.outbox.oldest_beyond(delivered)
            untold = _age(oldest, now)
        if not self._timekeeper.is_right:
            return Backlog(None, None, attended=False)
        attended = True
        if self._timekeeper.is_shared:
            seen = await self._store.orders.worker_seen()
            attended = seen is not None and _age(seen, now) <= ABSENT_SECONDS
        return Backlog(_age(due, now), untold, attended)

    async def _answered(self, part: str, question: Coroutine[Any, Any, T]) -> T | None:
        try:
            answer = await within(self._clock, PROBE_SECONDS, question)
        except (StoreUnavailable, TimeoutError, NodeError) as error:
            self._silences[part].begin(str(error) or "no answer in time")
            return None
        self._silences[part].end()
        return answer


def _node(chain: str) -> str:
    return f"the node of {chain}"


def _age(moment: datetime | None, now: datetime) -> float:
    return 0.0 if moment is None else max((now - moment).total_seconds(), 0.0)

"""The worker: claims orders that are due, asks their venues, and commits what changed. If a worker
dies, its lease ends, and another continues from the order row."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec.structs import replace

from swapdesk.background import Silence
from swapdesk.service.access import Directory
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.service.orders.order_routes import leg_key
from swapdesk.service.orders.presentation import WINDOW
from swapdesk.service.orders.recovery import Recovery, given_up, moving
from swapdesk.service.orders.route_opening import OpeningUnknown
from swapdesk.service.orders.states import next_rows, rows_of_return
from swapdesk.service.partner_account import commission_of
from swapdesk.service.payments import PAYMENTS_KEPT
from swapdesk.service.room import Room, Shared
from swapdesk.service.store.database import StoreUnavailable
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.venues.adapter import LegReport, Transient, VenueFailure
from swapdesk.service.venues.registry import within
from swapdesk.wire.orders import LegStatus, OrderStatusCode

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=8)
"""Time for which an order belongs to one worker alone. The worker renews it; the orders of a killed
worker wait until it ends."""
_RENEW_SECONDS = 2.0
BATCH = 64
BACK_OFF_LIMIT = timedelta(minutes=5)
UNPAID_POLL = timedelta(seconds=2)
"""Longest interval between two checks for a deposit, unless the venue updates its reports less
often."""

SLOW_POLL = (timedelta(seconds=30), timedelta(minutes=10))
"""Shortest and longest interval between checks of an expired or failed order for a late deposit or
refund."""

RARE_POLL = (timedelta(seconds=30), timedelta(hours=1))
"""Shortest and longest interval between two checks of a finished order."""

_USUAL_PACE = 5.0
"""Report interval of a venue, in seconds, for which SLOW_POLL and RARE_POLL are meant. Both shrink
in proportion for a shorter interval."""

QUOTES_KEPT = timedelta(minutes=15)
_OUTBOX_KEPT = timedelta(hours=48)
_HOUSEKEEPING_SECONDS = 60.0
_IDLE_SECONDS = 0.5
_ALIVE_SECONDS = 10.0
"""Seconds after which an unfinished round of the worker counts as stuck."""
_NO_ANSWER = LegReport(LegStatus.WAITING)
_HAS_ARRIVED = LegReport(LegStatus.CONFIRMING, deposit_arrived=True)

_OPEN_ENDED = (OrderStatusCode.EXPIRED, OrderStatusCode.FAILED)
_SECOND_LEG_FROM = (
    LegStatus.SENDING,
    LegStatus.FINISHED,
    LegStatus.FALLBACK,
)


class Worker(Room):
    """Carries the store's orders to their end. ``run`` works until cancelled; ``step`` makes a
    single round. A process has one Worker."""

    def __init__(
        self, shared: Shared, desk: OrderDesk, directory: Directory, tolerance: timedelta | None
    ) -> None:
        super().__init__(shared)
        self._desk = desk
        self._directory = directory
        self._recovery = Recovery(shared, desk.opening.routes)
        self._owner = uuid.uuid4().hex
        self._tolerance = tolerance
        self._hinted: set[str] = set()
        self._woken = asyncio.Event()
        self._round_began = float("-inf")
        self.runs = False
        """True while a background task, in any process, handles due orders. Otherwise somebody has
        to call ``step``."""

    def hint(self, service_id: str) -> None:
        """Has the worker handle an order at once; an order that is being handled is handled again
        afterwards. If the process ends first, the order is handled when it is due."""
        self._hinted.add(service_id)
        self._woken.set()

    async def run(self) -> None:
        """Handles due orders until cancelled, and keeps trying if the store does not answer. Raises
        ClockDiffers."""
        swept = renewed = -_HOUSEKEEPING_SECONDS
        looking: dict[str, asyncio.Task[None]] = {}
        silence = Silence(log, "worker: the store")
        self.runs = True
        try:
            while True:
                claimed: list[StoredOrder] = []
                self._woken.clear()
                self._round_began = self._clock.monotonic()
                try:
                    await self._hasten(looking)
                    renews = looking or self._tolerance is not None
                    if renews and self._clock.monotonic() - renewed >= _RENEW_SECONDS:
                        now, renewed = self._clock.now(), self._clock.monotonic()
                        await self._store.orders.renew(
                            self._owner, now, now + LEASE, self._tolerance
                        )
                    due = await self._store.orders.next_due()
                    # Leases are by another clock than what is due.
                    soon = self._clock.now() + (self._tolerance or timedelta(0))
                    if due is not None and due <= soon:
                        claimed = await self._claim(self._clock.now(), BATCH - len(looking))
                    if self._clock.monotonic() - swept >= _HOUSEKEEPING_SECONDS:
                        await self.sweep(self._clock.now())
                        swept = self._clock.monotonic()
                except StoreUnavailable as unavailable:
                    silence.begin(unavailable)
                else:
                    silence.end()
                for order in claimed:
                    # A clock that jumps may end the lease of an order still looked at here.
                    if order.service_id not in looking:
                        self._begin(order, looking)
                with contextlib.suppress(TimeoutError):
                    await within(self._clock, _IDLE_SECONDS, self._something_to_do(looking))
        finally:
            self.runs = False
            for task in looking.values():
                task.cancel()
            await asyncio.gather(*looking.values(), return_exceptions=True)
            with contextlib.suppress(StoreUnavailable):
                await self._store.orders.end_leases(self._owner)

    @property
    def is_alive(self) -> bool:
        return self.runs and self._clock.monotonic() - self._round_began < _ALIVE_SECONDS

    async def pass_on(self) -> None:
        """Makes hinted orders due, so that workers of other processes handle them, until
        cancelled."""
        silence = Silence(log, "hints: the store")
        self.runs = True
        try:
            while True:
                await self._woken.wait()
                self._woken.clear()
                try:
                    await self._hasten({})
                except StoreUnavailable as unavailable:
                    silence.begin(unavailable)
                    await self._clock.sleep(_IDLE_SECONDS)
                    self._woken.set()
                else:
                    silence.end()
        finally:
            self.runs = False

    async def step(self, now: datetime) -> int:
        """Works once on each order that is due, up to BATCH orders; returns how many there were."""
        await self._hasten({})
        claimed = await self._claim(now, BATCH)
        await asyncio.gather(*(self._look(order) for order in claimed))
        return len(claimed)

    async def _claim(self, now: datetime, limit: int) -> list[StoredOrder]:
        if limit <= 0:
            return []
        return await self._store.orders.claim_due(
            now,
            owner=self._owner,
            lease_until=now + LEASE,
            limit=limit,
            tolerance=self._tolerance,
        )

    async def _hasten(self, looking: Mapping[str, object]) -> None:
        ready = sorted(self._hinted - looking.keys())
        if ready:
            await self._store.orders.hasten(ready, self._clock.now())
            self._hinted.difference_update(ready)

    async def _something_to_do(self, looking: Mapping[str, asyncio.Task[None]]) -> None:
        if len(looking) < BATCH:
            await self._woken.wait()
        else:
            await asyncio.wait(looking.values(), return_when=asyncio.FIRST_COMPLETED)

    def _begin(self, order: StoredOrder, looking: dict[str, asyncio.Task[None]]) -> None:
        task = asyncio.create_task(self._look(order))
        looking[order.service_id] = task
        task.add_done_callback(lambda _: self._looked(order, looking))

    def _looked(self, order: StoredOrder, looking: dict[str, asyncio.Task[None]]) -> None:
        looking.pop(order.service_id, None)
        if order.service_id in self._hinted:
            self._woken.set()

    async def sweep(self, now: datetime) -> None:
        """Deletes quotes that expired more than 15 minutes ago, outbox rows older than 48 hours,
        and records of payments and webhook events that are too old to be accepted again."""
        await self._store.quotes.drop(now - QUOTES_KEPT)
        await self._store.outbox.drop(now - _OUTBOX_KEPT)
        await self._store.payments.drop(now - PAYMENTS_KEPT)
        await self._store.webhooks.drop(now)

    async def _look(self, order: StoredOrder) -> None:
        try:
            await self._work_on(order)
        except StoreUnavailable as unavailable:
            # The lease runs out, and the order is looked at again.
            log.error("order %s: the store does not answer: %s", order.service_id, unavailable)

    async def _work_on(self, order: StoredOrder) -> None:
        try:
            if order.status < OrderStatusCode.WAITING:
                await self._desk.opening.carry(order, ask_first=True)
            else:
                await self._follow(order)
        except (VenueFailure, OpeningUnknown) as silence:
            log.info("order %s: asked in vain: %s", order.service_id, silence)
            await self._later(order, order.attempt + 1)
        except StoreUnavailable:
            raise
        except Exception:
            # One order that cannot be worked on must not hold up the others.
            log.exception("order %s: could not be worked on", order.service_id)
            await self._later(order, order.attempt + 1)

    async def _follow(self, order: StoredOrder) -> None:
        if order.route == "dex":
            rows = await self._on_chain(order)
        elif moving(order) is not None:
            rows = [await self._recovery.carry_on(order)]
        elif order.text("backCode") is not None:
            rows = await self._returned(order)
        else:
            rows = await self._told(order)
        await self._commit(order, rows)

    async def _on_chain(self, order: StoredOrder) -> list[StoredOrder]:
        asked = self._clock.now()
        progress = await self._desk.dex.progress(order)
        noted = replace(order, detail={**order.detail, **progress.notes})
        now = self._clock.now()
        rows = next_rows(noted, progress.report, None, now, asked=asked)
        if not rows and noted.detail != order.detail:
            rows = [replace(noted, modified=now, attempt=0)]
        return rows

    async def _told(self, order: StoredOrder) -> list[StoredOrder]:
        asked = self._clock.now()
        first, second = await self._reports(order)
        side = given_up(order, first, second)
        if side == "out" and order.status != OrderStatusCode.ANONYMIZING:
            # Nobody looked while the money went on: the order passes those states first.
            return next_rows(order, first, _HAS_ARRIVED, self._clock.now(), asked=asked)
        if side == "in" and order.status == OrderStatusCode.WAITING:
            return next_rows(order, _HAS_ARRIVED, second, self._clock.now(), asked=asked)
        if side is not None:
            report = first if side == "in" or second is None else second
            changed = await self._recovery.begin(order, side, report)
            if changed is not None and changed is not order:
                return [changed]
            first, second = await self._reports(order)
        return next_rows(order, first, second, self._clock.now(), asked=asked)

    async def _returned(self, order: StoredOrder) -> list[StoredOrder]:
        report = await self._venues.asked(str(order.detail["backCode"])).report(
            leg_key(order, "back")
        )
        token = self._catalog.token(order.token_in_id)
        if report is None or token is None:
            raise Transient("the venue does not know the leg")
        return rows_of_return(order, report, token.chain, self._clock.now())

    async def _commit(self, order: StoredOrder, rows: list[StoredOrder]) -> None:
        now = self._clock.now()
        version, before = order.version, order.status
        for number, row in enumerate(rows, start=1):
            due = now if number < len(rows) or moving(row) else self._due(row, now)
            if row.status == OrderStatusCode.FINISHED and row.commission is None:
                partner = self._directory.partners.get(row.partner_id)
                row = replace(row, commission=commission_of(row, partner, self._venues))
            if not await self._store.orders.advance(
                replace(row, due_at=due), expected_version=version, before=before
            ):
                return
            version, before = version + 1, row.status
        if not rows:
            await self._store.orders.postpone(
                order.service_id, owner=self._owner, due_at=self._due(order, now), attempt=0
            )

    async def _reports(self, order: StoredOrder) -> tuple[LegReport, LegReport | None]:
        first = await self._venues.asked(order.legs[0]).report(leg_key(order, "in"))
        if first is None:
            if order.status != OrderStatusCode.WAITING:
                raise Transient("the venue does not know the leg")
            first = _NO_ANSWER
        if order.route == "standard":
            return first, None
        second = None
        if first.status in _SECOND_LEG_FROM:
            second = await self._venues.asked(order.legs[1]).report(leg_key(order, "out"))
        return first, second or LegReport(LegStatus.WAITING)

    async def _later(self, order: StoredOrder, attempt: int) -> None:
        now = self._clock.now()
        wait = timedelta(seconds=self._venues.pace(order.legs[0]) * 2 ** min(attempt, 16))
        if now - order.created > WINDOW or wait > BACK_OFF_LIMIT:
            wait = BACK_OFF_LIMIT
        due: datetime | None = now + wait
        if order.status == OrderStatusCode.FINISHED and now + wait > order.created + WINDOW:
            due = None
        await self._store.orders.postpone(
            order.service_id, owner=self._owner, due_at=due, attempt=attempt
        )

    def _due(self, order: StoredOrder, now: datetime) -> datetime | None:
        """Returns when to check an order again; None if never. Intervals grow with the order's age.
        Ended orders are checked for 48 hours; refunded and deleted orders are not checked."""
        if order.status in _OPEN_ENDED:
            return self._rarely(order, now, SLOW_POLL, now - order.expires)
        if order.status == OrderStatusCode.FINISHED and not order.detail.get("actionRequired"):
            return self._rarely(order, now, RARE_POLL, now - order.modified)
        if order.status in (
            OrderStatusCode.FINISHED,
            OrderStatusCode.REFUNDED,
            OrderStatusCode.DELETED,
        ):
            return None
        if now - order.created > WINDOW:
            return now + BACK_OFF_LIMIT
        pace = timedelta(seconds=self._venues.pace(order.legs[0]))
        if order.status == OrderStatusCode.WAITING and now < order.expires:
            # Most deposits come soon: an order that waits is looked at ever more slowly.
            patience = min((now - order.created) / 20, UNPAID_POLL)
            return min(now + max(pace, patience), order.expires)
        return now + pace

    def _rarely(
        self, order: StoredOrder, now: datetime, waits: tuple[timedelta, timedelta], age: timedelta
    ) -> datetime | None:
        haste = min(1.0, self._venues.pace(order.legs[0]) / _USUAL_PACE)
        least, most = (wait * haste for wait in waits)
        due = now + sorted((least, most, age / 10))[1]
        return due if due <= order.created + WINDOW else None

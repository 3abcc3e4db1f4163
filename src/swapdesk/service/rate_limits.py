"""Admission of a partner's calls by tier or override, and the count of a month's requests.

A window is a minute, hour or day of the service's UTC time. A call passes when all three have
room and then counts in all three; a refused call counts in none (contract 2.8 to 2.11). Calls by
``partner-id`` have windows of their own, and so has each address that calls without credentials
(contract 2.12). Quotes and creates are written before they are carried out, so that a killed
process does not forget them; reads are written every second. Usage: contract 12.1.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct

from swapdesk.clock import Clock
from swapdesk.service.access import Caller, Partner
from swapdesk.service.errors import ServiceError
from swapdesk.service.store.records import Store, StoreUnavailable, Usage
from swapdesk.wire.account import RateLimits, RateWindows
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.operation import RateClass

WINDOW_SECONDS = (60, 3_600, 86_400)


class RateDecision(Struct):
    """What the answer's ``ratelimit-*`` headers say of the window that binds.

    ``resets_in``: seconds until that window ends. ``retry_after`` is set on a refused call:
    whole seconds until every full window has ended.
    """

    limit: int
    remaining: int
    resets_in: int
    retry_after: int | None = None

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """As they go over the wire."""
        named = [
            (b"ratelimit-limit", b"%d" % self.limit),
            (b"ratelimit-remaining", b"%d" % self.remaining),
            (b"ratelimit-reset", b"%d" % self.resets_in),
        ]
        if self.retry_after is not None:
            named.append((b"retry-after", b"%d" % self.retry_after))
        return named


class CallWindows:
    """How often each partner called in the windows that are open now."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, RateClass], list[tuple[int, int]]] = defaultdict(
            lambda: [(0, 0)] * len(WINDOW_SECONDS)
        )
        self._changed: set[tuple[str, RateClass]] = set()

    def admit(
        self, partner_id: str, rate_class: RateClass, limits: RateWindows, now: datetime
    ) -> RateDecision:
        """Count one call, or refuse it: then ``retry_after`` is set and nothing is counted."""
        key, seconds = (partner_id, rate_class), now.timestamp()
        most = (limits.per_minute, limits.per_hour, limits.per_day)
        used = self._open(key, seconds)
        left = [limit - count for (_, count), limit in zip(used, most, strict=True)]
        fewest = min(left)
        if fewest <= 0:
            full = [place for place, room in enumerate(left) if room <= 0]
            wait = max(_whole(_until_end(place, seconds)) for place in full)
            return RateDecision(most[full[-1]], 0, wait, retry_after=wait)
        self._used[key] = [(number, count + 1) for number, count in used]
        self._changed.add(key)
        # The fewest calls left bind; of equals the window that lasts longer.
        binding = max(place for place, room in enumerate(left) if room == fewest)
        return RateDecision(most[binding], fewest - 1, _whole(_until_end(binding, seconds)))

    def standing(
        self, partner_id: str, rate_class: RateClass, limits: RateWindows, now: datetime
    ) -> RateDecision:
        """What is left in the window that binds; nothing is counted."""
        seconds = now.timestamp()
        most = (limits.per_minute, limits.per_hour, limits.per_day)
        used = self._open((partner_id, rate_class), seconds)
        left = [max(0, limit - count) for (_, count), limit in zip(used, most, strict=True)]
        binding = max(place for place, room in enumerate(left) if room == min(left))
        return RateDecision(most[binding], left[binding], _whole(_until_end(binding, seconds)))

    def usage(self, partner_id: str, rate_class: RateClass) -> list[Usage]:
        """The counts of one partner and class as they stand, to be stored."""
        return [
            Usage(partner_id, rate_class.value, window, number, count)
            for window, (number, count) in zip(
                WINDOW_SECONDS, self._used[partner_id, rate_class], strict=True
            )
        ]

    def take_changed(self) -> list[Usage]:
        """Counts that changed since they were taken last."""
        changed, self._changed = self._changed, set()
        return [row for key in changed for row in self.usage(*key)]

    def restore(self, rows: Iterable[Usage]) -> None:
        """Counts as an earlier process left them; windows that ended are forgotten on use."""
        for row in rows:
            try:
                rate_class, place = RateClass(row.rate_class), WINDOW_SECONDS.index(row.seconds)
            except ValueError:
                continue
            used = self._used[row.partner_id, rate_class]
            if row.number >= used[place][0]:
                known = used[place][1] if used[place][0] == row.number else 0
                used[place] = (row.number, max(known, row.used))

    def _open(self, key: tuple[str, RateClass], seconds: float) -> list[tuple[int, int]]:
        """Number and count of the windows at this time; the time never goes back (see Clock)."""
        opened = []
        for window, (number, count) in zip(WINDOW_SECONDS, self._used[key], strict=True):
            current = int(seconds // window)
            opened.append((current, 0) if current > number else (number, count))
        return opened


def _until_end(place: int, seconds: float) -> float:
    """Seconds until the open window at this place ends."""
    return WINDOW_SECONDS[place] - seconds % WINDOW_SECONDS[place]


def _whole(seconds: float) -> int:
    return max(1, math.ceil(seconds))


STRANGER_READS = 60
"""A minute, of each address that calls without credentials."""


class AddressMinutes:
    """How often each address called without credentials within this minute; kept nowhere."""

    def __init__(self) -> None:
        self._minute = 0
        self._used: Counter[str] = Counter()

    def admit(self, address: str, now: datetime) -> RateDecision:
        """Count one call, or refuse it: then ``retry_after`` is set and nothing is counted."""
        seconds = now.timestamp()
        minute = int(seconds // WINDOW_SECONDS[0])
        if minute > self._minute:
            self._minute = minute
            self._used.clear()
        left, ends_in = STRANGER_READS - self._used[address], _whole(_until_end(0, seconds))
        if left <= 0:
            return RateDecision(STRANGER_READS, 0, ends_in, retry_after=ends_in)
        self._used[address] += 1
        return RateDecision(STRANGER_READS, left - 1, ends_in)


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


_LONGEST = timedelta(days=1)
_WRITTEN_FIRST = (RateClass.QUOTE, RateClass.EXCHANGE)


class RateLimiter:
    """The limits of every partner. Quotes and exchanges are counted in the store, so that every
    process over it and every restart counts on; reads are counted by each process, and written
    down every second."""

    def __init__(self, store: Store, clock: Clock, requests: RequestCounter) -> None:
        self._store = store
        self._clock = clock
        self._requests = requests
        self._windows = CallWindows()
        self._strangers = AddressMinutes()

    async def restore(self) -> None:
        """Take up the windows an earlier process left. Raises StoreUnavailable."""
        self._windows.restore(await self._store.load_usage(self._clock.now() - _LONGEST))

    async def admit(self, caller: Caller, rate_class: RateClass) -> RateDecision | None:
        """Count one call; None for operations without a class.

        The caller refuses a call whose admission has ``retry_after`` by ``refusal``. Raises
        StoreUnavailable when a quote or create cannot be written down.
        """
        limits = limits_of(caller, rate_class)
        if limits is None:
            return None
        counted, now = _counted(caller), self._clock.now()
        if rate_class not in _WRITTEN_FIRST:
            return self._windows.admit(counted, rate_class, limits, now)

        def count(known: list[Usage]) -> tuple[list[Usage], RateDecision]:
            windows = CallWindows()
            windows.restore(known)
            admission = windows.admit(counted, rate_class, limits, now)
            return windows.usage(counted, rate_class), admission

        usage, admission = await self._store.count_usage(counted, rate_class, count)
        self._windows.restore(usage)
        return admission

    def admit_stranger(self, address: str) -> RateDecision:
        """Count one read of an address without credentials."""
        return self._strangers.admit(address, self._clock.now())

    def standing(self, caller: Caller, rate_class: RateClass) -> RateDecision | None:
        """How the windows stand, for an answer to a call that counted in none of them."""
        limits = limits_of(caller, rate_class)
        if limits is None:
            return None
        return self._windows.standing(_counted(caller), rate_class, limits, self._clock.now())

    async def flush(self) -> None:
        """Write down the counts that changed. Raises StoreUnavailable."""
        changed = self._windows.take_changed()
        if changed:
            await self._store.save_usage(changed)

    async def run(self) -> None:
        """Flush every second until cancelled."""
        while True:
            await self._clock.sleep(FLUSH_SECONDS)
            try:
                await asyncio.shield(self.flush())
            except StoreUnavailable:
                logger.warning("rate windows not written")

    async def limits(self, caller: Caller) -> RateLimits:
        """The record of ``GET /rateLimits``: the very numbers that are enforced."""
        partner = caller.partner
        return RateLimits(
            monthly_request_count=await self._requests.in_month(partner),
            quote=partner.quote_limits,
            exchange=partner.exchange_limits,
        )


def _counted(caller: Caller) -> str:
    """Whose windows a call counts in: those of the account, or those of its public id."""
    partner_id = caller.partner.partner_id
    public = caller.key is None and not caller.pays
    return f"partner-id {partner_id}" if public else partner_id


def limits_of(caller: Caller, rate_class: RateClass) -> RateWindows | None:
    """What is enforced for a class of calls; None where nothing is. By ``partner-id`` half of
    what a key may."""
    limits = _of_key(caller.partner, rate_class)
    public = caller.key is None and not caller.pays
    return _halved(limits) if limits is not None and public else limits


def _of_key(partner: Partner, rate_class: RateClass) -> RateWindows | None:
    match rate_class:
        case RateClass.NONE:
            return None
        case RateClass.READ | RateClass.ATTEMPT:
            return partner.read_limits
        case RateClass.QUOTE:
            return partner.quote_limits
        case RateClass.EXCHANGE:
            return partner.exchange_limits


def _halved(limits: RateWindows) -> RateWindows:
    """Half of each, rounded down; one stays one."""
    most = (limits.per_minute, limits.per_hour, limits.per_day)
    minute, hour, day = (max(each // 2, min(each, 1)) for each in most)
    return RateWindows(per_minute=minute, per_hour=hour, per_day=day)


def refusal(rate_class: RateClass, admission: RateDecision) -> ServiceError:
    """The 429 of a call that found a full window."""
    return ServiceError(
        ErrorCode.RATE_LIMIT_EXCEEDED,
        f"The {rate_class.value} limit of {admission.limit} is used up; "
        f"try again in {admission.retry_after} s.",
    )

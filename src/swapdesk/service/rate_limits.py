"""Limits a partner's calls, and counts a month's requests (contract 2.8 to 2.12, 12.1).

A call needs room in three windows, a minute, an hour and a day of UTC; a refused call counts in
none. The counts are in the store, for all processes. For reads, a process reserves a share of the
calls in advance, so that no window ever admits more than its limit.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.service.access import Caller, Partner
from swapdesk.service.errors import ServiceError
from swapdesk.service.front import customer_of
from swapdesk.service.store.database import StoreUnavailable
from swapdesk.service.store.records import Usage
from swapdesk.service.store.store import Store
from swapdesk.wire.account import RateLimits, RateWindows
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.operation import RateClass

WINDOW_SECONDS = (60, 3_600, 86_400)


class RateDecision(Struct):
    """The state of the fullest rate-limit window, for the ``ratelimit-*`` headers. ``retry_after``,
    in whole seconds, is None unless the call was refused."""

    limit: int
    remaining: int
    resets_in: int
    retry_after: int | None = None

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        named = [
            (b"ratelimit-limit", b"%d" % self.limit),
            (b"ratelimit-remaining", b"%d" % self.remaining),
            (b"ratelimit-reset", b"%d" % self.resets_in),
        ]
        if self.retry_after is not None:
            named.append((b"retry-after", b"%d" % self.retry_after))
        return named


class LimitReached(ServiceError):
    def __init__(self, rate_class: RateClass, decision: RateDecision) -> None:
        super().__init__(
            ErrorCode.RATE_LIMIT_EXCEEDED,
            f"The {rate_class.value} limit of {decision.limit} is used up; "
            f"try again in {decision.retry_after} s.",
        )
        self.decision = decision


class CallCount(Struct, frozen=True):
    """A partner's calls of one class in the current rate-limit windows, one for each length in
    ``WINDOW_SECONDS``. ``numbers`` are the numbers of the windows, counted from 1970; ``used``
    holds the number of calls in each window."""

    at: float
    numbers: tuple[int, ...]
    used: tuple[int, ...]

    @classmethod
    def known(cls, rows: Iterable[Usage], now: datetime) -> CallCount:
        """Returns the count at the time ``now`` from the stored ``rows``. For a window that has
        ended, the count is 0."""
        seconds = now.timestamp()
        by_length = {row.seconds: row for row in rows}
        numbers, used = [], []
        for length in WINDOW_SECONDS:
            number, row = int(seconds // length), by_length.get(length)
            past = row is None or row.number < number
            numbers.append(number if row is None or past else row.number)
            used.append(0 if row is None or past else row.used)
        return cls(seconds, tuple(numbers), tuple(used))

    def plus(self, calls: int) -> CallCount:
        return CallCount(self.at, self.numbers, tuple(count + calls for count in self.used))

    def rows(self, partner_id: str, rate_class: RateClass) -> list[Usage]:
        return [
            Usage(partner_id, rate_class.value, *window)
            for window in zip(WINDOW_SECONDS, self.numbers, self.used, strict=True)
        ]

    def left(self, limits: RateWindows) -> list[int]:
        most = zip(_most(limits), self.used, strict=True)
        return [max(0, limit - count) for limit, count in most]

    def standing(self, limits: RateWindows) -> RateDecision:
        binding = self.binding(limits)
        left = self.left(limits)[binding]
        return RateDecision(_most(limits)[binding], left, _ends_in(binding, self.at))

    def binding(self, limits: RateWindows) -> int:
        """Returns the position in WINDOW_SECONDS of the window with the fewest calls left; if there
        are several, of the longest."""
        left = self.left(limits)
        return max(place for place, room in enumerate(left) if room == min(left))

    def require_room(self, rate_class: RateClass, limits: RateWindows) -> None:
        """Raises LimitReached if a window is full. The error states the time until all windows have
        room again."""
        full = [place for place, room in enumerate(self.left(limits)) if not room]
        if full:
            wait = max(_ends_in(place, self.at) for place in full)
            decision = RateDecision(_most(limits)[full[-1]], 0, wait, retry_after=wait)
            raise LimitReached(rate_class, decision)


def _ends_in(place: int, seconds: float) -> int:
    length = WINDOW_SECONDS[place]
    return max(1, math.ceil(length - seconds % length))


def _most(limits: RateWindows) -> tuple[int, int, int]:
    return limits.per_minute, limits.per_hour, limits.per_day


class CountedCall:
    """A call that the store counts by calling ``take``. ``decision`` is None until then; afterwards
    it is the state of the rate limit."""

    def __init__(
        self, counted: str, rate_class: RateClass, limits: RateWindows, clock: Clock
    ) -> None:
        self.counted = counted
        self.rate_class = rate_class
        self.decision: RateDecision | None = None
        self._limits = limits
        self._clock = clock

    def take(self, usage: list[Usage]) -> list[Usage]:
        """Returns the stored counts ``usage`` plus this call. Raises LimitReached if a window is
        full."""
        count = CallCount.known(usage, self._clock.now())
        count.require_room(self.rate_class, self._limits)
        count = count.plus(1)
        self.decision = count.standing(self._limits)
        return count.rows(self.counted, self.rate_class)


SHARE = 16
"""Divisor from the calls left to the size of a process's share of them."""


class CallShare(CountedCall):
    """Calls that a process has counted in the store in advance and may admit without asking again.
    ``left`` is the number of calls that remain."""

    def __init__(
        self, counted: str, rate_class: RateClass, limits: RateWindows, clock: Clock
    ) -> None:
        super().__init__(counted, rate_class, limits, clock)
        self.left = 0
        self._count: CallCount | None = None
        self._binding = 0
        self._room = 0

    def take(self, usage: list[Usage]) -> list[Usage]:
        """Reserves a new share of calls; returns the stored counts ``usage`` plus the calls of the
        share. Raises LimitReached if a window is full."""
        self._count = count = CallCount.known(usage, self._clock.now())
        count.require_room(self.rate_class, self._limits)
        self.left = max(1, min(count.left(self._limits)) // SHARE)
        self._count = count.plus(self.left)
        # A call counts in all windows alike: the one that binds binds to the end of the share.
        self._binding = count.binding(self._limits)
        self._room = self._count.left(self._limits)[self._binding]
        return self._count.rows(self.counted, self.rate_class)

    def let_through(self, limits: RateWindows) -> RateDecision | None:
        """Admits one call of the share and returns the state of the rate limit. Returns None if the
        store must be asked instead. Raises LimitReached."""
        seconds = self._clock.now().timestamp()
        if self._count is None or limits != self._limits:
            return None
        if seconds // WINDOW_SECONDS[0] > self._count.numbers[0]:
            return None
        if not self.left:
            replace(self._count, at=seconds).require_room(self.rate_class, limits)
            return None
        self.left -= 1
        limit = _most(limits)[self._binding]
        return RateDecision(limit, self._room + self.left, _ends_in(self._binding, seconds))

    @property
    def unused(self) -> list[Usage]:
        """The calls of the share that were not admitted, as one count for each window."""
        if not self.left or self._count is None:
            return []
        rows = self._count.rows(self.counted, self.rate_class)
        return [
            Usage(row.partner_id, row.rate_class, row.seconds, row.number, self.left)
            for row in rows
        ]


STRANGER_READS = 60
"""Reads per minute for each address without credentials; an IPv6 /64 network counts as one
address."""


class AddressMinutes:
    """Counts the present minute's calls of each address that sends no credentials."""

    def __init__(self) -> None:
        self._minute = 0
        self._used: Counter[str] = Counter()

    def admit(self, address: str, now: datetime) -> RateDecision:
        """Counts one call of the address and returns the state of its window. Raises LimitReached
        above STRANGER_READS."""
        address = customer_of(address)
        seconds = now.timestamp()
        minute = int(seconds // WINDOW_SECONDS[0])
        if minute > self._minute:
            self._minute = minute
            self._used.clear()
        left = STRANGER_READS - self._used[address]
        ends_in = _ends_in(0, seconds)
        if left <= 0:
            decision = RateDecision(STRANGER_READS, 0, ends_in, retry_after=ends_in)
            raise LimitReached(RateClass.READ, decision)
        self._used[address] += 1
        return RateDecision(STRANGER_READS, left - 1, ends_in)


class RequestCounter:
    """Counts authenticated requests by partner and UTC month. If a process is killed, its counts of
    the last second are lost."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._unwritten: dict[str, Counter[str]] = defaultdict(Counter)
        self._writing = asyncio.Lock()

    def _month(self) -> str:
        return f"{self._clock.now():%Y-%m}"

    def count(self, partner: Partner) -> None:
        self._unwritten[self._month()][partner.partner_id] += 1

    async def in_month(self, partner: Partner) -> int:
        """Returns the partner's requests of this month, including those that are not stored yet."""
        month = self._month()
        async with self._writing:
            written = await self._store.calls.in_month(partner.partner_id, month)
            return written + self._unwritten[month][partner.partner_id]

    async def flush(self) -> None:
        """Stores the requests counted since the last call. If it raises StoreUnavailable, counts
        that were not stored are kept for the next call."""
        async with self._writing:
            for month in list(self._unwritten):
                counts = self._unwritten.pop(month)
                try:
                    if counts:
                        await self._store.calls.add_to_month(month, dict(counts))
                except StoreUnavailable:
                    self._unwritten[month].update(counts)
                    raise


_BY_SHARES = (RateClass.READ, RateClass.ATTEMPT)


class RateLimiter:
    def __init__(self, store: Store, clock: Clock, requests: RequestCounter) -> None:
        self._store = store
        self._clock = clock
        self._requests = requests
        self._shares: dict[tuple[str, RateClass], CallShare] = {}
        self._turns: WeakValueDictionary[tuple[str, RateClass], asyncio.Lock] = (
            WeakValueDictionary()
        )
        self._strangers = AddressMinutes()

    def counting(self, caller: Caller, rate_class: RateClass) -> CountedCall | None:
        """Returns an object with which the store counts the call, in the same commit that carries
        the call out. Returns None if the caller has no limit for ``rate_class``."""
        limits = limits_of(caller, rate_class)
        if limits is None:
            return None
        return CountedCall(_counted(caller), rate_class, limits, self._clock)

    async def admit(self, caller: Caller, rate_class: RateClass) -> RateDecision | None:
        """Counts one call and returns the state of the rate limit; None if there is no limit.
        Raises LimitReached and StoreUnavailable."""
        limits = limits_of(caller, rate_class)
        if limits is None:
            return None
        counted = _counted(caller)
        if rate_class in _BY_SHARES:
            return await self._from_share(counted, rate_class, limits)
        call = CountedCall(counted, rate_class, limits, self._clock)
        await self._store.calls.count(call)
        return call.decision

    async def _from_share(
        self, counted: str, rate_class: RateClass, limits: RateWindows
    ) -> RateDecision:
        key = counted, rate_class
        if (share := self._shares.get(key)) is not None:
            decision = share.let_through(limits)
            if decision is not None:
                return decision
        # One at a time: calls that come together take one share.
        async with self._turns.setdefault(key, asyncio.Lock()):
            while True:
                share = self._shares.get(key)
                decision = None if share is None else share.let_through(limits)
                if decision is not None:
                    return decision
                await self._give_back([] if share is None else [self._shares.pop(key)])
                share = CallShare(counted, rate_class, limits, self._clock)
                try:
                    await self._store.calls.count(share)
                except LimitReached:
                    self._shares[key] = share
                    raise
                self._shares[key] = share

    def admit_stranger(self, address: str) -> RateDecision:
        """Counts a read from an address without credentials and returns the state of its window.
        Raises LimitReached."""
        return self._strangers.admit(address, self._clock.now())

    async def standing(self, caller: Caller, rate_class: RateClass) -> RateDecision | None:
        """Returns the state of the rate limit without counting a call; None if there is no limit.
        Raises StoreUnavailable."""
        limits = limits_of(caller, rate_class)
        if limits is None:
            return None
        rows = await self._store.calls.usage(_counted(caller), rate_class)
        return CallCount.known(rows, self._clock.now()).standing(limits)

    async def flush(self) -> None:
        """Gives the unused calls of every share back to the store. If it raises StoreUnavailable,
        some unused calls may stay counted."""
        shares = list(self._shares.values())
        self._shares.clear()
        await self._give_back(shares)

    async def _give_back(self, shares: Iterable[CallShare]) -> None:
        unused = [row for share in shares for row in share.unused]
        if unused:
            await self._store.calls.free(unused)

    async def limits(self, caller: Caller) -> RateLimits:
        """Returns the answer to ``GET /rateLimits``: this month's requests, and the limits for a
        caller with an API key."""
        partner = caller.partner
        return RateLimits(
            monthly_request_count=await self._requests.in_month(partner),
            quote=partner.quote_limits,
            exchange=partner.exchange_limits,
        )


def _counted(caller: Caller) -> str:
    partner_id = caller.partner.partner_id
    public = caller.key is None and not caller.pays
    return f"partner-id {partner_id}" if public else partner_id


def limits_of(caller: Caller, rate_class: RateClass) -> RateWindows | None:
    """Returns the caller's limits for a class of calls; None if there are none. A caller with only
    ``partner-id`` has half the usual limits."""
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
    minute, hour, day = (max(calls // 2, min(calls, 1)) for calls in _most(limits))
    return RateWindows(per_minute=minute, per_hour=hour, per_day=day)

"""The only module that reads the time. All other code gets a Clock as an argument.

Sandbox time is the machine's time plus an offset that only grows. Quotes, deadlines and the 48
hours for which the service lists orders are measured in it. Durations inside one process use
``monotonic``.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Protocol

from msgspec import Meta

IsoTime = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""A time as text, in the form that :func:`iso` returns."""


def iso(moment: datetime) -> IsoTime:
    """Returns a time as text for data and exports: ISO 8601 in UTC, with a ``Z`` at the end."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


class Clock(Protocol):
    """A source of time. ``now`` is in UTC; ``monotonic`` is in seconds that only grow, within this
    process."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...


_LOOK_SECONDS = 1.0


async def until(clock: Clock, moment: datetime) -> None:
    """Waits until ``clock`` shows ``moment``. The clock may jump meanwhile, after sleep or in a
    sandbox."""
    while (left := (moment - clock.now()).total_seconds()) > 0:
        await clock.sleep(min(left, _LOOK_SECONDS))


def through_suspend() -> Callable[[], float]:
    """Returns a clock function for monotonic seconds. If possible, these include the time for which
    the machine sleeps, unlike ``time.monotonic`` on Linux and macOS."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return partial(time.clock_gettime, time.CLOCK_BOOTTIME)
    if sys.platform == "darwin":
        # There the POSIX clock of this name counts the sleep, and time.monotonic does not.
        return partial(time.clock_gettime, time.CLOCK_MONOTONIC)
    return time.monotonic


class SystemClock:
    """The machine's time plus ``offset`` in seconds, which is 0 on a live profile."""

    def __init__(
        self,
        offset: float = 0.0,
        *,
        monotonic: Callable[[], float] | None = None,
        wall: Callable[[], datetime] | None = None,
    ) -> None:
        self._offset = timedelta(seconds=offset)
        self._monotonic = monotonic or through_suspend()
        self._wall = wall or partial(datetime.now, UTC)

    @property
    def offset(self) -> float:
        return self._offset.total_seconds()

    def advance_to(self, offset: float) -> None:
        """Sets the offset in seconds. A value below the present offset is ignored, so that time
        never runs backward."""
        wanted = timedelta(seconds=offset)
        if wanted > self._offset:
            self._offset = wanted

    def now(self) -> datetime:
        return self._wall() + self._offset

    def monotonic(self) -> float:
        return self._monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that changes only when :meth:`advance` moves it, for tests, replays and
    demonstrations."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
        self._monotonic = 1_000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Moves the clock forward and wakes every ``sleep`` whose time has come. Raises ValueError
        if ``seconds`` is negative."""
        if seconds < 0:
            raise ValueError("time never runs backward")
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds
        due = [f for at, f in self._sleepers if at <= self._monotonic]
        self._sleepers = [(at, f) for at, f in self._sleepers if at > self._monotonic]
        for sleeper in due:
            if not sleeper.done():
                sleeper.set_result(None)

    def advance_to_next(self) -> None:
        """Moves the clock forward to the time at which the next ``sleep`` ends. Does nothing if
        nobody sleeps."""
        waking = [at for at, sleeper in self._sleepers if not sleeper.done()]
        if waking:
            self.advance(max(min(waking) - self._monotonic, 0.0))

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self._monotonic + seconds, sleeper))
        await sleeper

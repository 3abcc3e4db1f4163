"""The desk's own count of its calls, compared with the limits of the service.

The headers ``ratelimit-limit``, ``ratelimit-remaining`` and ``ratelimit-reset`` (seconds) count the
calls of the partner's other programs, too; the desk shows the smaller remainder. A service may omit
these headers (contract 2.11). Windows are minutes, hours and days of the service's UTC time
(contract 2.8, 12.1). Refused calls (429) are neither charged nor counted.

A service states its limits but not how much of them is used, and the process of a command ends
after seconds. Every process of a profile therefore appends its calls to one file
(:class:`OwnCalls`). The counts in this file are only shown. No call waits because of them, since
the service may have lost its own counts.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.paths import write_private
from swapdesk.wire.operation import RateClass

if TYPE_CHECKING:
    from swapdesk.wire.account import RateLimits, RateWindows

KEPT = (RateClass.QUOTE, RateClass.EXCHANGE)
"""The classes of calls whose limits the service reports."""
KEPT_SECONDS = 86_400

_LONGEST = 256 * 1024
"""Size in bytes at which calls too old to count are removed from the file."""

_HEADERS = ("limit", "remaining", "reset")


class OwnCalls:
    """The calls that all processes of a profile made, counted in a file. If the file cannot be
    used, no calls are counted."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, rate_class: RateClass, at: datetime) -> None:
        """Counts one charged call at the time ``at``. Several processes may do so at once."""
        if rate_class not in KEPT:
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        with suppress(OSError):
            handle = os.open(self._path, flags, 0o600)
            try:
                os.write(handle, f"{int(at.timestamp())} {rate_class.value}\n".encode())
                long = os.fstat(handle).st_size > _LONGEST
            finally:
                os.close(handle)
            if long:
                self._shorten(at)

    def used(self, rate_class: RateClass, seconds: int, at: datetime) -> int:
        """Returns the number of calls of a class in the current window of ``seconds``. ``at`` is
        the service's present time."""
        number = int(at.timestamp()) // seconds
        return sum(
            counted is rate_class and moment // seconds == number
            for moment, counted in self._lines()
        )

    def _lines(self) -> Iterator[tuple[int, RateClass]]:
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            moment, _, name = line.decode("ascii", "replace").partition(" ")
            with suppress(ValueError):
                yield int(moment), RateClass(name)

    def _shorten(self, at: datetime) -> None:
        since = int(at.timestamp()) - KEPT_SECONDS
        kept = "".join(f"{moment} {name}\n" for moment, name in self._lines() if moment > since)
        write_private(self._path, kept.encode(), replace=True)


class Window(Enum):
    """A period for which calls are limited. The value is its length in seconds."""

    MINUTE = 60
    HOUR = 3_600
    DAY = 86_400


class Allowance(Struct, frozen=True):
    """The use of one window of the rate limits. ``resets_in`` is in seconds. ``used`` may exceed
    ``limit``, since limits change and other programs call."""

    window: Window
    limit: int
    used: int
    resets_in: float

    @property
    def left(self) -> int:
        return max(0, self.limit - self.used)


class Told(Struct, frozen=True):
    """The rate limit that an answer's headers state, for the partner's tightest window."""

    limit: int
    left: int
    """The number of calls left in the window."""
    ends: float
    """The end of the window, in Unix seconds of the service's time."""


class Budget:
    """The number of calls by rate class and window. ``own`` counts the calls of all processes of
    the profile."""

    def __init__(self, now: Callable[[], datetime], own: OwnCalls | None = None) -> None:
        self.now = now
        """The function that returns the service's present time."""
        self.limits: RateLimits | None = None
        """The answer of ``GET /rateLimits``; None until it is known."""
        self._own = own
        self._told: dict[RateClass, Told] = {}
        self._used: dict[tuple[RateClass, Window], tuple[int, int]] = defaultdict(lambda: (0, 0))

    def count(self, rate_class: RateClass) -> None:
        """Counts one charged call now. The class ``NONE`` is not counted."""
        if rate_class is RateClass.NONE:
            return
        now = self.now()
        if self._own is not None:
            self._own.add(rate_class, now)
        seconds = now.timestamp()
        for window in Window:
            number = int(seconds // window.value)
            counted, used = self._used[rate_class, window]
            self._used[rate_class, window] = (number, used + 1 if counted == number else 1)

    def tell(self, rate_class: RateClass, headers: Mapping[str, str]) -> None:
        """Stores the rate limit headers of an answer. Call :meth:`count` for the same call first.
        Unreadable headers change nothing. Answers may arrive out of order."""
        limit, left, reset = (_whole(headers.get(f"ratelimit-{name}")) for name in _HEADERS)
        if rate_class is RateClass.NONE or limit is None or left is None or reset is None:
            return
        stated = Told(limit, min(left, limit), self.now().timestamp() + reset)
        before = self._told.get(rate_class)
        if before is not None and before.limit == limit and abs(before.ends - stated.ends) <= 2.0:
            stated = Told(limit, min(stated.left, before.left), stated.ends)
        self._told[rate_class] = stated

    def _told_now(self, rate_class: RateClass) -> Allowance | None:
        stated = self._told.get(rate_class)
        seconds = self.now().timestamp()
        if stated is None or stated.ends <= seconds:
            return None
        resets_in = stated.ends - seconds
        window = next((length for length in Window if resets_in <= length.value + 1), Window.DAY)
        return Allowance(window, stated.limit, stated.limit - stated.left, resets_in)

    def used(self, rate_class: RateClass, window: Window) -> int:
        number = int(self.now().timestamp() // window.value)
        counted, used = self._used[rate_class, window]
        return used if counted == number else 0

    def used_this_hour(self, rate_class: RateClass | str) -> int:
        """Returns the number of calls of this class that this process made in the current hour."""
        return self.used(RateClass(rate_class), Window.HOUR)

    def allowances(self, rate_class: RateClass | str) -> tuple[Allowance, ...]:
        """Returns this process's use of the limits per minute, hour and day. The result is empty
        until the limits are known; for reads it is always empty."""
        rate_class = RateClass(rate_class)
        windows = self._windows(rate_class)
        if windows is None:
            return ()
        seconds = self.now().timestamp()
        limits = (windows.per_minute, windows.per_hour, windows.per_day)
        return tuple(
            Allowance(
                window, limit, self.used(rate_class, window), window.value - seconds % window.value
            )
            for window, limit in zip(Window, limits, strict=True)
        )

    def of_profile(self, rate_class: RateClass) -> tuple[Allowance, ...]:
        """Returns :meth:`allowances` including the calls of the profile's other processes and, if
        known, of other programs. For display only."""
        stated = self._told_now(rate_class)
        shown = []
        for allowance in self.allowances(rate_class):
            used = allowance.used
            if self._own is not None:
                used = max(used, self._own.used(rate_class, allowance.window.value, self.now()))
            if stated is not None and (stated.window, stated.limit) == (
                allowance.window,
                allowance.limit,
            ):
                used = max(used, stated.used)
            shown.append(replace(allowance, used=used))
        return tuple(shown)

    def left(self, rate_class: RateClass | str) -> Allowance | None:
        """Returns the window with the fewest calls left, as counted here or stated by the service;
        None if no limits are known."""
        allowances = self._all(RateClass(rate_class))
        return min(allowances, key=lambda a: (a.left, -a.window.value)) if allowances else None

    def _all(self, rate_class: RateClass) -> tuple[Allowance, ...]:
        stated = self._told_now(rate_class)
        return (*self.allowances(rate_class), *([stated] if stated is not None else []))

    def wait_for(self, rate_class: RateClass | str, calls: int = 1) -> float | None:
        """Returns the seconds until ``calls`` calls may be made. None means never, because they
        exceed a whole limit."""
        wait = 0.0
        for allowance in self._all(RateClass(rate_class)):
            if calls > allowance.limit:
                return None
            if calls > allowance.left:
                wait = max(wait, allowance.resets_in)
        return wait

    def _windows(self, rate_class: RateClass) -> RateWindows | None:
        if self.limits is None or rate_class not in KEPT:
            return None
        return self.limits.quote if rate_class is RateClass.QUOTE else self.limits.exchange


def _whole(text: str | None) -> int | None:
    if text is None or len(text) > 12 or not (text.isascii() and text.isdigit()):
        return None
    return int(text)

"""The desk's own count of its calls, held against the limits of the service.

The headers ``ratelimit-limit``, ``ratelimit-remaining`` and ``ratelimit-reset`` (seconds) count the
calls of the partner's other programs, too; the smaller of both remainders is shown. A service may
leave them out (contract 2.11).

Windows are minutes, hours and days of the service's UTC time (contract 2.8, 12.1). Refused calls
(429) are not charged and not counted.

A service states its limits and not their use, and a command lives for seconds, so every process of
a profile adds lines to one file (:class:`OwnCalls`). Nothing waits because of that file: a service
that forgot its counts would be waited for in vain.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from enum import Enum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.paths import write_private
from swapdesk.wire.account import RateLimits, RateWindows
from swapdesk.wire.operation import RateClass

KEPT = (RateClass.QUOTE, RateClass.EXCHANGE)
"""The classes that a service limits and reports."""
KEPT_SECONDS = 86_400

_LONGEST = 256 * 1024
"""Bytes from which on earlier days are left out; PRO writes 90 kB a day."""

_HEADERS = ("limit", "remaining", "reset")


class OwnCalls:
    """A file of lines ``seconds class``. If it cannot be written or read, nothing is counted."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, rate_class: RateClass, at: datetime) -> None:
        """Counts one charged call. Lines are short, so that appends of processes do not mix."""
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
        """Calls in the current window of ``seconds``, by the service's time ``at``."""
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
    """A window and its length in seconds."""

    MINUTE = 60
    HOUR = 3_600
    DAY = 86_400


class Allowance(Struct, frozen=True):
    """What one window still allows; ``resets_in`` is in seconds. ``used`` may exceed ``limit`` if
    limits were lowered or other processes called."""

    window: Window
    limit: int
    used: int
    resets_in: float

    @property
    def left(self) -> int:
        return max(0, self.limit - self.used)


class Told(Struct, frozen=True):
    """What an answer said of the window that binds; ``ends`` is in seconds of the service's
    time."""

    limit: int
    left: int
    ends: float


class Budget:
    """Counts by class and window. ``now`` is the service's time; ``own`` counts all processes of
    the profile."""

    def __init__(self, now: Callable[[], datetime], own: OwnCalls | None = None) -> None:
        self.now = now
        """The service's time."""
        self.limits: RateLimits | None = None
        """The answer of ``GET /rateLimits``, once it is known."""
        self._own = own
        self._told: dict[RateClass, Told] = {}
        self._used: dict[tuple[RateClass, Window], tuple[int, int]] = defaultdict(lambda: (0, 0))

    def count(self, rate_class: RateClass) -> None:
        """Counts one call that was charged now."""
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
        """Takes the headers of an answer to a call of this class, after it was counted.

        Missing or unreadable headers count for nothing. Answers may arrive out of order: within one
        window the smaller remainder stands.
        """
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
        """Calls of this desk in the current hour."""
        return self.used(RateClass(rate_class), Window.HOUR)

    def allowances(self, rate_class: RateClass | str) -> tuple[Allowance, ...]:
        """Minute, hour and day as counted here; empty before the limits are known and for classes
        that the service does not report (reads)."""
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
        """As :meth:`allowances`, with the calls of all processes of the profile, and of the
        partner's other programs where an answer told them. Only to be shown."""
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
        """The window with the fewest calls left, the longer of equals; None if nothing is known."""
        allowances = self._all(RateClass(rate_class))
        return min(allowances, key=lambda a: (a.left, -a.window.value)) if allowances else None

    def _all(self, rate_class: RateClass) -> tuple[Allowance, ...]:
        stated = self._told_now(rate_class)
        return (*self.allowances(rate_class), *([stated] if stated is not None else []))

    def wait_for(self, rate_class: RateClass | str, calls: int = 1) -> float | None:
        """Seconds until ``calls`` more are allowed; 0 if they are now, None if they never fit into
        one window."""
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

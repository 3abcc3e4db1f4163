"""The desk's own count of its calls, held against the limits the service reports.

What an answer says in ``ratelimit-limit``, ``ratelimit-remaining`` and ``ratelimit-reset``
(seconds) counts the calls of the partner's other programs too; of that and the own count the
smaller remainder is shown. A service without these headers is fine (contract 2.11).

Windows are the minutes, hours and days of the service's UTC time
(contract 2.8, 12.1). Refused calls (429) are not counted, because they are not charged.

A service tells its limits and not how much of them is used, and a command lives for seconds, so
every process of a profile adds a line to one file (:class:`OwnCalls`). Nothing waits for what
stands there: a service that forgot its counts would be waited for in vain.
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
"""The longest window there is."""

_LONGEST = 256 * 1024
"""Bytes, from which on the lines of earlier days are left out; PRO has 90 kB a day."""

_HEADERS = ("limit", "remaining", "reset")


class OwnCalls:
    """A file of lines ``seconds class``; one that cannot be written or read counts nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, rate_class: RateClass, at: datetime) -> None:
        """One call was charged. Lines are short, so that the appends of processes do not mix."""
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
        """Calls of the window of so many seconds that is open at a moment of the service's time."""
        number = int(at.timestamp()) // seconds
        return sum(
            known is rate_class and moment // seconds == number for moment, known in self._lines()
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
    """What one window still allows; ``resets_in`` is in seconds. ``left`` may be below zero
    when other processes of the partner are not counted by it or limits were lowered."""

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
    """Counts by class and window. ``now`` is the service's time; ``own`` keeps what every process
    of the profile called."""

    def __init__(self, now: Callable[[], datetime], own: OwnCalls | None = None) -> None:
        self.now = now
        """The service's time."""
        self.limits: RateLimits | None = None
        """The answer of ``GET /rateLimits``, once it is known."""
        self._own = own
        self._told: dict[RateClass, Told] = {}
        self._used: dict[tuple[RateClass, Window], tuple[int, int]] = defaultdict(lambda: (0, 0))

    def count(self, rate_class: RateClass) -> None:
        """One call of this class was charged now."""
        if rate_class is RateClass.NONE:
            return
        now = self.now()
        if self._own is not None:
            self._own.add(rate_class, now)
        seconds = now.timestamp()
        for window in Window:
            number = int(seconds // window.value)
            known, used = self._used[rate_class, window]
            self._used[rate_class, window] = (number, used + 1 if known == number else 1)

    def tell(self, rate_class: RateClass, headers: Mapping[str, str]) -> None:
        """Take the headers of an answer to a call of this class, after it was counted.

        Headers that are missing or unreadable say nothing. Answers may arrive out of order:
        within one window the smaller remainder stands.
        """
        limit, left, reset = (_whole(headers.get(f"ratelimit-{name}")) for name in _HEADERS)
        if rate_class is RateClass.NONE or limit is None or left is None or reset is None:
            return
        told = Told(limit, min(left, limit), self.now().timestamp() + reset)
        known = self._told.get(rate_class)
        if known is not None and known.limit == limit and abs(known.ends - told.ends) <= 2.0:
            told = Told(limit, min(told.left, known.left), told.ends)
        self._told[rate_class] = told

    def _told_now(self, rate_class: RateClass) -> Allowance | None:
        told = self._told.get(rate_class)
        seconds = self.now().timestamp()
        if told is None or told.ends <= seconds:
            return None
        resets_in = told.ends - seconds
        window = next((one for one in Window if resets_in <= one.value + 1), Window.DAY)
        return Allowance(window, told.limit, told.limit - told.left, resets_in)

    def used(self, rate_class: RateClass, window: Window) -> int:
        number = int(self.now().timestamp() // window.value)
        known, used = self._used[rate_class, window]
        return used if known == number else 0

    def used_this_hour(self, rate_class: RateClass | str) -> int:
        """Calls of this desk since the hour began."""
        return self.used(RateClass(rate_class), Window.HOUR)

    def allowances(self, rate_class: RateClass | str) -> tuple[Allowance, ...]:
        """Minute, hour and day as counted here; empty before the limits are known and for
        classes the service does not report (reads)."""
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
        """As :meth:`allowances`, with the calls of every process of the profile, and of the
        partner's other programs where an answer told of them. Only to be shown."""
        told = self._told_now(rate_class)
        found = []
        for one in self.allowances(rate_class):
            used = one.used
            if self._own is not None:
                used = max(used, self._own.used(rate_class, one.window.value, self.now()))
            if told is not None and (told.window, told.limit) == (one.window, one.limit):
                used = max(used, told.used)
            found.append(replace(one, used=used))
        return tuple(found)

    def left(self, rate_class: RateClass | str) -> Allowance | None:
        """The window that binds: the one with the fewest calls left, the longer of equals.
        None when neither limits nor headers are known."""
        found = self._all(RateClass(rate_class))
        return min(found, key=lambda a: (a.left, -a.window.value)) if found else None

    def _all(self, rate_class: RateClass) -> tuple[Allowance, ...]:
        told = self._told_now(rate_class)
        return (*self.allowances(rate_class), *([told] if told is not None else []))

    def wait_for(self, rate_class: RateClass | str, calls: int = 1) -> float | None:
        """Seconds until ``calls`` more are allowed; 0 when they are now, None when they never
        fit into one window."""
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
    """A whole number of at most twelve digits."""
    if text is None or len(text) > 12 or not (text.isascii() and text.isdigit()):
        return None
    return int(text)

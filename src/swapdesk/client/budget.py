"""The desk's own count of its calls, held against the limits the service reports.

Windows are the minutes, hours and days of the service's UTC time (spec: GET /rateLimits;
wire decisions 2.14). Refused calls (429) are not counted, because they are not charged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from swapdesk.wire.account import RateLimits, RateWindows
from swapdesk.wire.operations import RateClass


class Window(Enum):
    """A window and its length in seconds."""

    MINUTE = 60
    HOUR = 3_600
    DAY = 86_400


@dataclass(frozen=True)
class Allowance:
    """What one window still allows; ``resets_in`` is in seconds. ``left`` may be below zero
    when other processes of the partner are not counted by it or limits were lowered."""

    window: Window
    limit: int
    used: int
    resets_in: float

    @property
    def left(self) -> int:
        return max(0, self.limit - self.used)


class Budget:
    """Counts by class and window. ``now`` is the service's time."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._limits: RateLimits | None = None
        self._used: dict[tuple[RateClass, Window], tuple[int, int]] = defaultdict(lambda: (0, 0))

    @property
    def limits(self) -> RateLimits | None:
        return self._limits

    def learn(self, limits: RateLimits) -> None:
        """Take the answer of ``GET /rateLimits``."""
        self._limits = limits

    def count(self, rate_class: RateClass) -> None:
        """One call of this class was charged now."""
        if rate_class is RateClass.NONE:
            return
        seconds = self._now().timestamp()
        for window in Window:
            number = int(seconds // window.value)
            known, used = self._used[rate_class, window]
            self._used[rate_class, window] = (number, used + 1 if known == number else 1)

    def used(self, rate_class: RateClass, window: Window) -> int:
        number = int(self._now().timestamp() // window.value)
        known, used = self._used[rate_class, window]
        return used if known == number else 0

    def allowances(self, rate_class: RateClass | str) -> tuple[Allowance, ...]:
        """Minute, hour and day; empty before the limits are known and for classes the
        service does not report (reads)."""
        rate_class = RateClass(rate_class)
        windows = self._windows(rate_class)
        if windows is None:
            return ()
        seconds = self._now().timestamp()
        limits = (windows.per_minute, windows.per_hour, windows.per_day)
        return tuple(
            Allowance(
                window, limit, self.used(rate_class, window), window.value - seconds % window.value
            )
            for window, limit in zip(Window, limits, strict=True)
        )

    def left(self, rate_class: RateClass | str) -> Allowance | None:
        """The window that binds: the one with the fewest calls left, the longer of equals."""
        allowances = self.allowances(rate_class)
        return min(allowances, key=lambda a: (a.left, -a.window.value)) if allowances else None

    def wait_for(self, rate_class: RateClass | str, calls: int = 1) -> float | None:
        """Seconds until ``calls`` more are allowed; 0 when they are now, None when they never
        fit into one window."""
        wait = 0.0
        for allowance in self.allowances(rate_class):
            if calls > allowance.limit:
                return None
            if calls > allowance.left:
                wait = max(wait, allowance.resets_in)
        return wait

    def _windows(self, rate_class: RateClass) -> RateWindows | None:
        if self._limits is None:
            return None
        if rate_class is RateClass.QUOTE:
            return self._limits.quote
        return self._limits.exchange if rate_class is RateClass.EXCHANGE else None

"""Windows of calls per partner and class, enforced exactly (spec: Limits, Rate limiting).

A window is a minute, hour or day of the service's UTC time. A call passes when all three have
room and then counts in all three; a refused call counts in none. Nothing here waits, so one
process admits exactly as many calls as a limit states, however many arrive at once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from swapdesk.service.store.protocol import Usage
from swapdesk.wire.account import RateWindows
from swapdesk.wire.operations import RateClass

WINDOW_SECONDS = (60, 3_600, 86_400)


@dataclass(frozen=True)
class Admission:
    """What the answer's ``ratelimit-*`` headers say of the window that binds.

    ``resets_in``: seconds until that window ends. ``retry_after`` is set on a refused call:
    whole seconds until every full window has ended.
    """

    limit: int
    remaining: int
    resets_in: int
    retry_after: int | None = None

    @property
    def headers(self) -> dict[str, str]:
        named = {
            "ratelimit-limit": str(self.limit),
            "ratelimit-remaining": str(self.remaining),
            "ratelimit-reset": str(self.resets_in),
        }
        if self.retry_after is not None:
            named["retry-after"] = str(self.retry_after)
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
    ) -> Admission:
        """Count one call, or refuse it: then ``retry_after`` is set and nothing is counted."""
        seconds = now.timestamp()
        most = (limits.per_minute, limits.per_hour, limits.per_day)
        used = self._open(partner_id, rate_class, seconds)
        ends = [window - seconds % window for window in WINDOW_SECONDS]
        full = [
            end for end, (_, count), limit in zip(ends, used, most, strict=True) if count >= limit
        ]
        if full:
            binding = max(index for index, (_, count) in enumerate(used) if count >= most[index])
            wait = max(1, math.ceil(max(full)))
            return Admission(most[binding], 0, wait, retry_after=wait)
        used = [(number, count + 1) for number, count in used]
        self._used[partner_id, rate_class] = used
        self._changed.add((partner_id, rate_class))
        left = [limit - count for (_, count), limit in zip(used, most, strict=True)]
        # The fewest calls left bind; of equals the window that lasts longer.
        binding = min(range(len(left)), key=lambda index: (left[index], -index))
        return Admission(most[binding], left[binding], max(1, math.ceil(ends[binding])))

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

    def _open(
        self, partner_id: str, rate_class: RateClass, seconds: float
    ) -> list[tuple[int, int]]:
        """Number and count of the windows at this time; the time never goes back (see Clock)."""
        opened = []
        known = self._used[partner_id, rate_class]
        for window, (number, count) in zip(WINDOW_SECONDS, known, strict=True):
            current = max(number, int(seconds // window))
            opened.append((current, count if current == number else 0))
        return opened

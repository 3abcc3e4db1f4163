"""Windows of calls per partner and class, enforced exactly (contract 2.8).

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

from swapdesk.service.store.records import Usage
from swapdesk.wire.account import RateWindows
from swapdesk.wire.operation import RateClass

WINDOW_SECONDS = (60, 3_600, 86_400)


@dataclass(slots=True)
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
    ) -> Admission:
        """Count one call, or refuse it: then ``retry_after`` is set and nothing is counted."""
        key, seconds = (partner_id, rate_class), now.timestamp()
        most = (limits.per_minute, limits.per_hour, limits.per_day)
        used = self._open(key, seconds)
        left = [limit - count for (_, count), limit in zip(used, most, strict=True)]
        fewest = min(left)
        if fewest <= 0:
            full = [place for place, room in enumerate(left) if room <= 0]
            wait = max(_whole(_until_end(place, seconds)) for place in full)
            return Admission(most[full[-1]], 0, wait, retry_after=wait)
        self._used[key] = [(number, count + 1) for number, count in used]
        self._changed.add(key)
        # The fewest calls left bind; of equals the window that lasts longer.
        binding = max(place for place, room in enumerate(left) if room == fewest)
        return Admission(most[binding], fewest - 1, _whole(_until_end(binding, seconds)))

    def standing(
        self, partner_id: str, rate_class: RateClass, limits: RateWindows, now: datetime
    ) -> Admission:
        """What is left in the window that binds; nothing is counted."""
        seconds = now.timestamp()
        most = (limits.per_minute, limits.per_hour, limits.per_day)
        used = self._open((partner_id, rate_class), seconds)
        left = [max(0, limit - count) for (_, count), limit in zip(used, most, strict=True)]
        binding = max(place for place, room in enumerate(left) if room == min(left))
        return Admission(most[binding], left[binding], _whole(_until_end(binding, seconds)))

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

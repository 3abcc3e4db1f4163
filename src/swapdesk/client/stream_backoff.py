"""When the order stream is opened again after a loss: soon at first, then ever later."""

from __future__ import annotations

import random

from swapdesk.client.stream_events import StreamTimes


class Backoff:
    """Seconds to wait, with jitter; a connection that held steadily begins anew."""

    def __init__(self, times: StreamTimes, rng: random.Random) -> None:
        self._times = times
        self._rng = rng
        self._failures = 0

    def held(self, seconds: float) -> None:
        """A connection was live that long before it was lost."""
        if seconds >= self._times.steady_after:
            self._failures = 0

    def next(self, told: float | None) -> float:
        """The wait before the next try, at least what the service ``told`` (bounded)."""
        times = self._times
        if self._failures == 0:
            delay = self._rng.uniform(0.0, times.first_jitter)
        else:
            most = min(times.backoff_cap, times.first_jitter * 2.0 ** min(self._failures, 10))
            delay = self._rng.uniform(most / 2, most)
        self._failures += 1
        return max(delay, min(told or 0.0, times.longest_retry_after))

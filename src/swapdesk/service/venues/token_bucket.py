"""How many questions a second a venue is asked."""

from __future__ import annotations

from swapdesk.clock import Clock


class TokenBucket:
    """``per_second`` questions, one second's worth at once; 0 for no bound."""

    def __init__(self, per_second: int, clock: Clock) -> None:
        self._per_second = per_second
        self._clock = clock
        self._left = float(per_second)
        self._seen = clock.monotonic()

    def take(self) -> bool:
        """Whether one more question may go out now."""
        if not self._per_second:
            return True
        now = self._clock.monotonic()
        grown = self._left + (now - self._seen) * self._per_second
        self._left = min(grown, float(self._per_second))
        self._seen = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

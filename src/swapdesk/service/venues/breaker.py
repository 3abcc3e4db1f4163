"""A circuit breaker: a venue that keeps failing is left alone for a while."""

from __future__ import annotations

from collections import deque

from swapdesk.clock import Clock

_CONSECUTIVE = 5
_JUDGED = 30
_FEWEST_GOOD = 6
_REMEMBERED = 1800.0
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 600.0


class Breaker:
    """Opens after 5 failures in a row, or under 20 % success over 30 calls of half an hour.

    Open for 5 s, doubling with every failed probe up to 10 minutes; then one probe at a time
    decides. Times are seconds of ``clock.monotonic``.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._in_a_row = 0
        self._outcomes: deque[tuple[float, bool]] = deque(maxlen=_JUDGED)
        self._open_until: float | None = None
        self._pause = _FIRST_PAUSE
        self._probing = False

    def admits(self) -> bool:
        """Whether a call may go out now; when open, taking the one probe counts as asking."""
        if self._open_until is None:
            return True
        if self._probing or self._clock.monotonic() < self._open_until:
            return False
        self._probing = True
        return True

    def unasked(self) -> None:
        """The call that was admitted did not go out after all."""
        self._probing = False

    def succeeded(self) -> None:
        self._in_a_row = 0
        if self._open_until is not None:
            self._open_until = None
            self._pause = _FIRST_PAUSE
            self._outcomes.clear()
        self._probing = False
        self._outcomes.append((self._clock.monotonic(), True))

    def failed(self) -> None:
        self._in_a_row += 1
        self._outcomes.append((self._clock.monotonic(), False))
        if self._probing:
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            self._open()
        elif self._open_until is None and (self._in_a_row >= _CONSECUTIVE or self._hardly_ever()):
            self._open()
        self._probing = False

    def _hardly_ever(self) -> bool:
        """Whether nearly all of the last 30 calls failed, none of them long ago."""
        if len(self._outcomes) < _JUDGED:
            return False
        recent = self._clock.monotonic() - self._outcomes[0][0] <= _REMEMBERED
        return recent and sum(good for _, good in self._outcomes) < _FEWEST_GOOD

    def _open(self) -> None:
        self._open_until = self._clock.monotonic() + self._pause

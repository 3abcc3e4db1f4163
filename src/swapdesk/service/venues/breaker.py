"""A circuit breaker: a venue that keeps failing is left alone for a while."""

from __future__ import annotations

from swapdesk.clock import Clock

_CONSECUTIVE = 5
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 600.0


class Breaker:
    """Opens after 5 failures in a row; 30 calls with under 20 % success always hold 5 of them.

    Open for 5 s, doubling with every failed probe up to 10 minutes; then one probe at a time
    decides. Times are seconds of ``clock.monotonic``.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._in_a_row = 0
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
        self._probing = False

    def failed(self) -> None:
        self._in_a_row += 1
        if self._probing:
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            self._open()
        elif self._open_until is None and self._in_a_row >= _CONSECUTIVE:
            self._open()
        self._probing = False

    def _open(self) -> None:
        self._open_until = self._clock.monotonic() + self._pause

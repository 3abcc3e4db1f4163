"""The service's time, taken from the ``Date`` header of its newest answer. With a sandbox, the desk
uses this time as its own. With a live service, the desk keeps to the machine's clock and only shows
the difference."""

from __future__ import annotations

from datetime import datetime, timedelta

from swapdesk.clock import Clock
from swapdesk.wire.encoding.time_range import EARLIEST, LATEST, http_date

# A Date header is cut to whole seconds.
_RESOLUTION = timedelta(seconds=1)


class ServerClock:
    """A :class:`~swapdesk.clock.Clock` that shows the service's time, corrected by each ``Date``
    header. Until the first header, it shows the time of ``base``."""

    def __init__(self, base: Clock) -> None:
        self._base = base
        self._epoch: datetime | None = None
        """The service's time at the zero of the monotonic clock; None before the first answer."""

    @classmethod
    def over(cls, clock: Clock) -> ServerClock:
        """Returns ``clock`` itself if it is a ServerClock, else a new ServerClock based on it."""
        return clock if isinstance(clock, cls) else cls(clock)

    def observe(self, date: str | None, *, sent: float, received: float) -> None:
        """Sets the clock by an answer's ``Date`` header. ``sent`` and ``received`` are the times of
        the request and the answer in monotonic seconds. An unusable header is ignored."""
        stamp = _parse(date)
        if stamp is None:
            return
        # The server read its clock between the two moments, and cut a fraction of a second.
        low = stamp - timedelta(seconds=received)
        high = stamp + _RESOLUTION - timedelta(seconds=sent)
        if self._epoch is None:
            self._epoch = low + (high - low) / 2
        else:
            self._epoch = min(max(self._epoch, low), high)

    def now(self) -> datetime:
        if self._epoch is None:
            return self._base.now()
        return self._epoch + timedelta(seconds=self._base.monotonic())

    def monotonic(self) -> float:
        return self._base.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._base.sleep(seconds)

    def skew(self) -> float | None:
        """Returns the seconds by which the service is ahead of the base clock; None before the
        first answer."""
        if self._epoch is None:
            return None
        return (self.now() - self._base.now()).total_seconds()


def _parse(date: str | None) -> datetime | None:
    if not date or len(date) > 64:
        return None
    try:
        stamp = http_date(date)
    except ValueError:
        return None
    return stamp if EARLIEST <= stamp < LATEST else None

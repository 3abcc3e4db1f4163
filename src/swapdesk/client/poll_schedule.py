"""When the orders are asked for next, beside what the stream tells."""

from __future__ import annotations

import asyncio

from swapdesk.client.concurrency import within
from swapdesk.client.stream_events import StreamTimes
from swapdesk.clock import Clock


class PollSchedule:
    """Every 30 s with a socket, every 10 s without, and sooner when something asks for it."""

    def __init__(self, clock: Clock, times: StreamTimes) -> None:
        self.connected = False
        self._clock = clock
        self._times = times
        self._wake = asyncio.Event()
        self._due = clock.monotonic() + times.poll_down

    def ask_within(self, seconds: float) -> None:
        """Ask at the latest then."""
        due = self._clock.monotonic() + seconds
        if due < self._due:
            self._due = due
            self._wake.set()

    def asked(self) -> None:
        """An asking began or ended: the next one is a whole interval away."""
        times = self._times
        interval = times.poll_live if self.connected else times.poll_down
        self._due = self._clock.monotonic() + interval

    async def due(self) -> None:
        """Return when it is time to ask."""
        while (wait := self._due - self._clock.monotonic()) > 0:
            await within(self._clock, wait, self._wake.wait())
            self._wake.clear()

"""Garbage collection out of the way of keys.

A full collection walks everything that is alive; with thousands of orders and tokens it holds
the event loop for a tenth of a second. What lives on is therefore set aside every few seconds,
so that collections see new objects only, and all of it is walked in a long pause.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass

from swapdesk.clock import Clock

ASIDE_SECONDS = 10.0
WHOLE_SECONDS = 600.0
PAUSE_SECONDS = 30.0
MIDDLE = 3
"""Young collections between two middle ones: ten together held the loop for tens of milliseconds
while thousands of orders moved."""
_NEVER = 1_000_000
"""Middle collections between two full ones: only :class:`GarbageRounds` asks for those."""


@dataclass
class GarbageRounds:
    """Call :meth:`begin`, :meth:`key` at every key, :meth:`tick` once a second, :meth:`end`."""

    clock: Clock
    _aside: float = 0.0
    _whole: float = 0.0
    _key: float = 0.0
    _usual: tuple[int, int, int] | None = None

    def begin(self) -> None:
        self._aside = self._whole = self._key = self.clock.monotonic()
        self._usual = gc.get_threshold()
        young, _, _ = self._usual
        gc.set_threshold(young, MIDDLE, _NEVER)

    def end(self) -> None:
        """Leave the process as it was."""
        if self._usual is not None:
            gc.set_threshold(*self._usual)
            gc.unfreeze()
            self._usual = None

    def key(self) -> None:
        self._key = self.clock.monotonic()

    def tick(self) -> None:
        now = self.clock.monotonic()
        if now - self._whole >= WHOLE_SECONDS and now - self._key >= PAUSE_SECONDS:
            self._whole = self._aside = now
            gc.unfreeze()
            gc.collect()
            gc.freeze()
        elif now - self._aside >= ASIDE_SECONDS:
            self._aside = now
            gc.collect(1)
            gc.freeze()
        else:
            # Where new orders take the place of old ones the interpreter counts nothing new and
            # lets the young ones become tens of thousands; walked every second they are few.
            gc.collect(1)

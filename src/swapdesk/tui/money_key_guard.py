"""A key that moves money counts only on a screen that has been still.

A key pressed while the screen changes was meant for what stood there before.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from swapdesk.clock import Clock

STILL_SECONDS = 0.3


class Refusal(Enum):
    """Why a money key did not count, as the notice says it."""

    MOVING = "The screen just changed. Read it, then press the key again."
    OTHER_STEP = "The step changed under the key. Nothing was done."


@dataclass(slots=True)
class StillnessGuard:
    """Fed with every change of what the user decides on; asked before every money key."""

    clock: Clock
    step: str = ""
    _changed: float | None = None

    def changed(self, step: str) -> None:
        """The screen shows something else now; ``step`` names what its money key would do."""
        self.step = step
        self._changed = self.clock.monotonic()

    def refusal(self, step: str) -> Refusal | None:
        """None when a money key for ``step`` counts now."""
        if step != self.step:
            return Refusal.OTHER_STEP
        if self._changed is None or self.clock.monotonic() - self._changed < STILL_SECONDS:
            return Refusal.MOVING
        return None

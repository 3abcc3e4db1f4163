"""The node's time as another process of the sandbox follows it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from swapdesk.clock import SystemClock


class WorldPace:
    """Keeps a clock and a speed at what the node said last."""

    def __init__(self, clock: SystemClock, told: Mapping[str, Any]) -> None:
        self._clock = clock
        self.speed = Decimal(1)
        self.follow(told)

    def follow(self, told: Mapping[str, Any]) -> None:
        """Take over an answer of ``clock_get`` or ``clock_set``."""
        self._clock.advance_to(float(str(told["offset"])))
        self.speed = Decimal(str(told["speed"]))

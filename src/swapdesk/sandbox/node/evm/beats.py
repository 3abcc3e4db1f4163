"""When blocks are due: slots of world time, seconds of sandbox time."""

from __future__ import annotations

from swapdesk.sandbox.node.evm.chain import Beat
from swapdesk.sandbox.node.world_clock import Due, WorldClock

LONGEST_SLEEP = 0.1
"""Seconds; the clock may be moved meanwhile."""


class Beats:
    """The beat of one chain over the node's clock."""

    def __init__(self, clock: WorldClock, block_ms: int) -> None:
        self._clock = clock
        self._block_ms = block_ms

    def now(self) -> Beat:
        moment = self._clock.moment()
        return Beat(moment.now // 1000, moment.world // self._block_ms)

    def at(self, slot: int) -> Beat:
        """The beat of a slot that has begun."""
        moment = self._clock.at(Due(world=slot * self._block_ms))
        return Beat(moment.now // 1000, slot)

    def seconds_to(self, slot: int) -> float:
        """Until a slot begins, but never longer than the clock may be left unasked."""
        return min(self.left(slot), LONGEST_SLEEP)

    def left(self, slot: int) -> float:
        """Seconds until a slot begins as the clock goes now."""
        missing = slot * self._block_ms - self._clock.moment().world
        return max(0.0, missing / 1000 / float(self._clock.speed))

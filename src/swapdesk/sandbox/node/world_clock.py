"""The two times of the node, in milliseconds: sandbox time, for deadlines, and world time,
``speed`` times faster, for blocks and the work of exchanges. Neither runs backward."""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct

from swapdesk.clock import SystemClock
from swapdesk.sandbox.tables import ChainRow

SLOWEST, FASTEST = Decimal("0.01"), Decimal(10_000)


class Moment(Struct, frozen=True):
    """A moment, stated both as sandbox time (``now``) and as world time (``world``), in
    milliseconds."""

    now: int
    world: int


class ClockRecord(Struct, frozen=True):
    """The stored time of the node. ``offset`` is how many milliseconds sandbox time is ahead of the
    machine's clock. Since the moment ``anchor``, world time has run at ``speed``."""

    offset: int
    speed: Decimal
    anchor: Moment
    latest: int
    """The newest sandbox time that was read, in milliseconds; it never falls below this."""


class WorldClock:
    """The time of the node, computed from the machine's clock and the stored record."""

    def __init__(self, clock: SystemClock, pace: ClockRecord | None, speed: Decimal) -> None:
        self._clock = clock
        if pace is None:
            now = self._wall_ms()
            pace = ClockRecord(0, speed, Moment(now, 0), now)
        else:
            # The wall may have been set back while nothing ran.
            offset = max(pace.offset, pace.latest - self._wall_ms())
            pace = ClockRecord(offset, pace.speed, pace.anchor, pace.latest)
        self._pace = pace
        self._clock.advance_to(pace.offset / 1000)

    def _wall_ms(self) -> int:
        return int(self._clock.now().timestamp() * 1000) - int(self._clock.offset * 1000)

    @property
    def pace(self) -> ClockRecord:
        """The clock's time and speed as a record, for the caller to store."""
        pace = self._pace
        return ClockRecord(pace.offset, pace.speed, pace.anchor, self.moment().now)

    @property
    def speed(self) -> Decimal:
        return self._pace.speed

    def moment(self) -> Moment:
        now = max(self._wall_ms() + self._pace.offset, self._pace.latest)
        anchor = self._pace.anchor
        return Moment(now, anchor.world + int(max(0, now - anchor.now) * self._pace.speed))

    def now_ms(self) -> int:
        """Returns the present sandbox time in milliseconds."""
        return self.moment().now

    def advance(self, milliseconds: int) -> None:
        """Moves sandbox time forward. What falls due in the skipped time is still done."""
        pace = self._pace
        offset = pace.offset + milliseconds
        self._pace = ClockRecord(offset, pace.speed, pace.anchor, self.moment().now)
        self._clock.advance_to(offset / 1000)

    def set_speed(self, speed: Decimal) -> None:
        """Changes the speed of world time from now on. Raises ValueError if it is out of range."""
        if not SLOWEST <= speed <= FASTEST:
            raise ValueError(f"speed is {SLOWEST} to {FASTEST}")
        here = self.moment()
        pace = self._pace
        self._pace = ClockRecord(pace.offset, speed, here, here.now)

    def at(self, world: int | None, now: int | None = None) -> Moment:
        """Returns a past moment in both times. It is given in milliseconds by the world time
        ``world`` or, if that is None, by the sandbox time ``now``; if both are None, it is the
        present moment."""
        here, anchor = self.moment(), self._pace.anchor
        if world is not None:
            since = int((world - anchor.world) / self._pace.speed)
            return Moment(min(here.now, max(anchor.now, anchor.now + since)), world)
        now = here.now if now is None else now
        world = anchor.world + int(max(0, now - anchor.now) * self._pace.speed)
        return Moment(now, min(here.world, world))

    def height(self, chain: ChainRow, at: Moment) -> int:
        return chain.first_height + at.world // chain.block_ms

    def confirmed(self, chain: ChainRow, included: int, confirmations: int) -> int:
        """Returns the world time in milliseconds at which a transfer in the block ``included`` has
        that many confirmations."""
        return (included + confirmations - 1 - chain.first_height) * chain.block_ms

"""Exchanges that do not answer or answer late, as the sandbox is told."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from swapdesk.clock import Clock
from swapdesk.service.venues.adapter import (
    FLOATING,
    CentralizedVenue,
    DepositInstruction,
    LegOrder,
    LegReport,
    Terms,
    Transient,
    Unavailable,
    VenueLimits,
    VenueQuote,
    VenueTraits,
)
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.tokens import Token


class VenueFault(StrEnum):
    """What happens to every call to an exchange."""

    VENUE_DOWN = "venue_down"
    """The exchange cannot be reached; nothing happens there."""
    VENUE_SLOW = "venue_slow"
    """Each call to the exchange takes ``seconds`` longer."""


@dataclass
class ActiveVenueFault:
    """``times`` is how many calls it still spoils; None until faults are cleared."""

    fault: VenueFault
    venue: str
    times: int | None
    seconds: float

    def as_json(self) -> dict[str, object]:
        return {"fault": self.fault.value, "venue": self.venue, "times": self.times}


class VenueFaults:
    """The active faults of exchanges, as one service process meets them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._active: list[ActiveVenueFault] = []

    @property
    def active(self) -> list[ActiveVenueFault]:
        return list(self._active)

    def add(self, fault: ActiveVenueFault) -> None:
        self._active.append(fault)

    def clear(self) -> None:
        self._active.clear()

    async def meet(self, code: str) -> None:
        """Let a call to an exchange meet what is wrong with it. Raises Transient."""
        for fault in self.active:
            if fault.venue != code:
                continue
            self._spend(fault)
            if fault.fault is VenueFault.VENUE_DOWN:
                raise Transient("the exchange cannot be reached")
            await self._clock.sleep(fault.seconds)

    def _spend(self, fault: ActiveVenueFault) -> None:
        if fault.times is None:
            return
        fault.times -= 1
        if fault.times <= 0:
            self._active.remove(fault)


class FaultyVenue:
    """A venue behind its faults; speaks the same protocol."""

    def __init__(self, venue: CentralizedVenue, faults: VenueFaults) -> None:
        self._venue = venue
        self._faults = faults

    @property
    def provider(self) -> SwapProvider:
        return self._venue.provider

    @property
    def traits(self) -> VenueTraits:
        return self._venue.traits

    @property
    def poll_seconds(self) -> float:
        return self._venue.poll_seconds

    def supports(self, token_in: Token, token_out: Token) -> bool:
        return self._venue.supports(token_in, token_out)

    def limits(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        return self._venue.limits(token_in, token_out)

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> VenueQuote | Unavailable:
        await self._met()
        return await self._venue.quote(token_in, token_out, amount, terms)

    async def open(self, leg: LegOrder) -> DepositInstruction:
        await self._met()
        return await self._venue.open(leg)

    async def find(self, key: str) -> DepositInstruction | None:
        await self._met()
        return await self._venue.find(key)

    async def report(self, key: str) -> LegReport | None:
        await self._met()
        return await self._venue.report(key)

    async def send_on(self, key: str, address: str, tag: str | None) -> None:
        await self._met()
        await self._venue.send_on(key, address, tag)

    async def _met(self) -> None:
        await self._faults.meet(self._venue.provider.short_name)

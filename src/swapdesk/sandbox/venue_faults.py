"""Faults of what the service calls: exchanges that do not answer or answer late, and bundles of
groups that come to another end once they are submitted, before they are sent.
"""

from __future__ import annotations

from decimal import Decimal

from swapdesk.clock import Clock
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.service.multi.bundles import Intervention
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

DOWN, SLOW = "venue_down", "venue_slow"


class FaultyVenue:
    """A venue behind its faults, whose ``times`` count calls; speaks the same protocol."""

    def __init__(self, venue: CentralizedVenue, faults: ActiveFaults, clock: Clock) -> None:
        self._venue = venue
        self._faults = faults
        self._clock = clock

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
        about = {("venue", self._venue.provider.short_name)}
        for fault in self._faults.waiting((DOWN, SLOW), about):
            self._faults.spend(fault)
            if fault.name == DOWN:
                raise Transient("the exchange cannot be reached")
            await self._clock.sleep(fault.seconds)


_ENDS: dict[str, Intervention] = {
    "bundle_fail": "fail",
    "bundle_withdraw": "withdraw",
    "bundle_stuck": "hold",
}


def bundle_end(faults: ActiveFaults, multi_id: str) -> Intervention | None:
    """What is done with the bundle of a group now; the fault has happened by that."""
    fault = faults.take(_ENDS, {("multiId", multi_id)})
    return None if fault is None else _ENDS[fault.name]

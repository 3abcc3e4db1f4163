"""Faults of what the service calls: exchanges that do not answer or answer late, and bundles of
groups that come to another end once they are submitted, before they are sent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, dataclass
from decimal import Decimal
from typing import ClassVar

from swapdesk.clock import Clock
from swapdesk.sandbox.faults import ActiveFaults, FaultKind
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


@dataclass(frozen=True, eq=False)
class VenueFault(FaultKind):
    """``meet`` is what happens to a call: it raises Transient, or takes its seconds."""

    SHOWN: ClassVar[tuple[str, ...]] = ("venue",)

    meet: Callable[[Clock, float], Awaitable[None]]
    _: KW_ONLY
    selectors: tuple[str, ...] = ("venue",)


async def _unreachable(clock: Clock, seconds: float) -> None:
    raise Transient("the exchange cannot be reached")


async def _late(clock: Clock, seconds: float) -> None:
    await clock.sleep(seconds)


VENUE_FAULTS = {
    kind.name: kind
    for kind in (
        VenueFault(
            "venue_down",
            "The exchange cannot be reached; nothing happens there.",
            _unreachable,
        ),
        VenueFault(
            "venue_slow",
            "Each call to the exchange takes ``seconds`` longer.",
            _late,
            takes=frozenset({"times", "seconds"}),
        ),
    )
}


class VenueFaults(ActiveFaults[VenueFault]):
    """The active faults of exchanges; ``times`` is how many calls one still spoils."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    async def meet(self, code: str) -> None:
        """Let a call to an exchange meet what is wrong with it. Raises Transient."""
        for fault in self.active:
            if fault.venue == code:
                self.spend(fault)
                await fault.kind.meet(self._clock, fault.seconds)


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


@dataclass(frozen=True, eq=False)
class BundleFault(FaultKind):
    SHOWN: ClassVar[tuple[str, ...]] = ("multi_id",)

    end: Intervention
    _: KW_ONLY
    selectors: tuple[str, ...] = ("multi_id",)
    stays: bool = False
    """Whether a bundle that meets it meets it again."""


BUNDLE_FAULTS = {
    kind.name: kind
    for kind in (
        BundleFault(
            "bundle_fail",
            "The bundle is given up. What the smart account holds stays there.",
            "fail",
        ),
        BundleFault(
            "bundle_withdraw",
            "The bundle is called off; the money is its owner's as before.",
            "withdraw",
        ),
        BundleFault(
            "bundle_stuck",
            "The bundle stays submitted until faults are cleared.",
            "hold",
            stays=True,
        ),
    )
}


class BundleFaults(ActiveFaults[BundleFault]):
    """The active faults of bundles; ``times`` is how many bundles one still meets."""

    def intervene(self, multi_id: str) -> Intervention | None:
        """What is done with the bundle of this group now; spends the fault."""
        for fault in self.active:
            if fault.multi_id == multi_id:
                if not fault.kind.stays:
                    self.spend(fault)
                return fault.kind.end
        return None

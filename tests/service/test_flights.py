"""Second calls to a venue that is late, and how often a venue may be asked."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from msgspec import field

from service.price_venue import PriceVenue
from service.world import BTC, ETH
from swapdesk.clock import ManualClock
from swapdesk.service.venues.adapter import FLOATING, Terms, VenueQuote, VenueTraits
from swapdesk.service.venues.registry import (
    GuardedVenue,
    Latency,
    TimedOut,
    TokenBucket,
    TooManyQuestions,
)
from swapdesk.wire.tokens import Token

USUAL = 0.2
NEVER = 1e9


class PatientVenue(PriceVenue):
    """Answers after the delays a test states, each counted; the last one stays."""

    clock: ManualClock = field(default_factory=ManualClock)
    delays: list[float] = field(default_factory=list)
    cancelled: int = 0

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> Any:
        delay = self.delays.pop(0) if len(self.delays) > 1 else self.delays[0]
        try:
            await self.clock.sleep(delay)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return await super().quote(token_in, token_out, amount, terms)


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def passes(clock: ManualClock, seconds: float) -> None:
    """Time in small steps, so that every timer fires at its own moment."""
    for _ in range(round(seconds / 0.05)):
        await settle()
        clock.advance(0.05)
    await settle()


async def warmed_up(clock: ManualClock) -> tuple[PatientVenue, GuardedVenue]:
    """A venue that is known to answer after 0.2 s."""
    inner = PatientVenue("aa", clock=clock, delays=[USUAL])
    venue = GuardedVenue(inner, clock)
    asking = [asyncio.create_task(venue.quote(BTC, ETH, Decimal(n))) for n in range(1, 21)]
    await passes(clock, USUAL + 0.1)
    await asyncio.gather(*asking)
    inner.asked = 0
    return inner, venue


async def test_a_late_answer_is_asked_for_once_more(clock: ManualClock) -> None:
    inner, venue = await warmed_up(clock)
    inner.delays = [NEVER, USUAL]
    begin = clock.monotonic()
    asking = asyncio.create_task(venue.quote(BTC, ETH, Decimal(30)))
    while not asking.done():
        await passes(clock, 0.05)
    assert isinstance(await asking, VenueQuote)
    assert clock.monotonic() - begin == pytest.approx(2 * USUAL, abs=0.11)
    await settle()
    assert inner.cancelled == 1, "the slower call is given up"


async def test_the_first_answer_counts(clock: ManualClock) -> None:
    inner, venue = await warmed_up(clock)
    inner.delays = [USUAL + 0.1, NEVER]
    asking = asyncio.create_task(venue.quote(BTC, ETH, Decimal(30)))
    await passes(clock, USUAL + 0.2)
    assert isinstance(await asking, VenueQuote)
    await settle()
    assert inner.cancelled == 1


async def test_two_silent_calls_end_at_the_deadline_of_the_first(clock: ManualClock) -> None:
    inner, venue = await warmed_up(clock)
    inner.delays = [NEVER]
    begin = clock.monotonic()
    asking = asyncio.create_task(venue.quote(BTC, ETH, Decimal(30)))
    while not asking.done():
        await passes(clock, 0.05)
    with pytest.raises(TimedOut):
        await asking
    assert clock.monotonic() - begin == pytest.approx(2.0, abs=0.11)
    await settle()
    assert inner.cancelled == 2


async def test_a_failure_waits_for_the_other_call(clock: ManualClock) -> None:
    inner, venue = await warmed_up(clock)
    inner.delays = [USUAL + 0.1, USUAL + 0.3]
    inner.failing = True
    asking = asyncio.create_task(venue.quote(BTC, ETH, Decimal(30)))
    await passes(clock, USUAL + 0.2)
    assert not asking.done()
    inner.failing = False
    await passes(clock, USUAL + 0.3)
    assert isinstance(await asking, VenueQuote)


async def test_an_unknown_venue_is_asked_once(clock: ManualClock) -> None:
    inner = PatientVenue("aa", clock=clock, delays=[1.5])
    asking = asyncio.create_task(GuardedVenue(inner, clock).quote(BTC, ETH, Decimal(1)))
    await passes(clock, 1.6)
    assert isinstance(await asking, VenueQuote)
    assert inner.asked == 1


def test_the_usual_latency_is_the_95th_percentile() -> None:
    latency = Latency()
    for n in range(19):
        latency.add(n / 100)
        assert latency.usual is None
    latency.add(5.0)
    assert latency.usual == 5.0
    for _ in range(108):
        latency.add(0.1)
    assert latency.usual == 0.1


# Questions a second


async def test_a_venue_is_asked_only_so_often(clock: ManualClock) -> None:
    inner = PriceVenue("aa", traits=VenueTraits(quotes_per_second=3))
    venue = GuardedVenue(inner, clock)
    for n in range(1, 4):
        await venue.quote(BTC, ETH, Decimal(n))
    with pytest.raises(TooManyQuestions):
        await venue.quote(BTC, ETH, Decimal(4))
    assert inner.asked == 3
    clock.advance(1)
    for n in range(1, 4):
        await venue.quote(BTC, ETH, Decimal(n))
    assert inner.asked == 6


async def test_a_question_under_way_costs_nothing_more(clock: ManualClock) -> None:
    inner = PriceVenue("aa", traits=VenueTraits(quotes_per_second=1), gate=asyncio.Event())
    venue = GuardedVenue(inner, clock)
    asking = [asyncio.create_task(venue.quote(BTC, ETH, Decimal(1))) for _ in range(3)]
    await settle()
    assert inner.gate is not None
    inner.gate.set()
    await asyncio.gather(*asking)
    assert inner.asked == 1


def test_a_bucket_fills_up_to_one_second() -> None:
    clock = ManualClock()
    bucket = TokenBucket(2, clock)
    assert [bucket.take() for _ in range(3)] == [True, True, False]
    clock.advance(0.5)
    assert [bucket.take() for _ in range(2)] == [True, False]
    clock.advance(3600)
    assert [bucket.take() for _ in range(3)] == [True, True, False]
    assert all(TokenBucket(0, clock).take() for _ in range(1000)), "0 is no bound"

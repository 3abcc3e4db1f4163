"""What stands around a venue: breaker, timeouts, one flight per quote."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from manual_time import rest
from rows import each_row
from service.price_venue import PriceVenue
from service.world import BTC, ETH, UNVERIFIED
from swapdesk.clock import ManualClock
from swapdesk.service.quoting.asking import gather
from swapdesk.service.venues.adapter import (
    FLOATING,
    Ambiguous,
    DepositInstruction,
    LegOrder,
    LegReport,
    Rejected,
    Terms,
    Transient,
    Unavailable,
    VenueQuote,
    VenueTraits,
)
from swapdesk.service.venues.registry import (
    Breaker,
    GuardedVenue,
    TimedOut,
    Venues,
    within,
)
from swapdesk.wire.chains import ProviderQuery

HALF = Decimal("0.5")


async def quoted(
    venue: GuardedVenue, amount: Decimal = HALF, terms: Terms = FLOATING
) -> VenueQuote | Unavailable:
    return await venue.quote(BTC, ETH, amount, terms)


async def test_equal_questions_share_one_call(clock: ManualClock) -> None:
    inner = PriceVenue("aa", gate=asyncio.Event(), traits=VenueTraits(fixed=True))
    venue = GuardedVenue(inner, clock)
    asking = [asyncio.create_task(quoted(venue)) for _ in range(5)]
    others = [
        asyncio.create_task(quoted(venue, Decimal(1))),
        asyncio.create_task(quoted(venue, terms=Terms(fixed=True))),
    ]
    await rest()
    assert inner.asked == 3
    asking[0].cancel()
    await rest()
    inner.gate.set()
    answers = await asyncio.gather(*asking[1:], *others)
    assert len({id(answer) for answer in answers[:4]}) == 1
    assert isinstance(answers[0], VenueQuote)
    await quoted(venue)
    assert inner.asked == 4


async def test_a_failing_venue_is_left_alone_and_asked_again(clock: ManualClock) -> None:
    inner = PriceVenue("aa", failing=True)
    venue = GuardedVenue(inner, clock)
    for _ in range(5):
        with pytest.raises(Transient, match="out of order"):
            await quoted(venue)
    with pytest.raises(Transient, match="not asked"):
        await quoted(venue)
    assert inner.asked == 5
    clock.advance(5.1)
    with pytest.raises(Transient, match="out of order"):
        await quoted(venue)
    clock.advance(5.1)
    with pytest.raises(Transient, match="not asked"):
        await quoted(venue)
    clock.advance(5.1)
    inner.failing = False
    assert isinstance(await quoted(venue), VenueQuote)
    assert isinstance(await quoted(venue), VenueQuote)
    assert inner.asked == 8


def test_the_breaker_lets_one_probe_out() -> None:
    clock = ManualClock()
    breaker = Breaker(clock)
    for _ in range(4):
        breaker.failed()
    breaker.succeeded()
    for _ in range(5):
        assert breaker.admits(), "four failures and a success before do not count"
        breaker.failed()
    assert not breaker.admits()
    clock.advance(5)
    assert breaker.admits()
    assert not breaker.admits()
    for pause in (10, 20, 40, 80, 160, 320, 600, 600):
        breaker.failed()
        clock.advance(pause - 1)
        assert not breaker.admits()
        clock.advance(1)
        assert breaker.admits()
    breaker.succeeded()
    assert breaker.admits()
    assert breaker.admits()


async def test_capability_comes_first(clock: ManualClock) -> None:
    inner = PriceVenue("aa", trades=frozenset({"XRP"}))
    venue = GuardedVenue(inner, clock)
    assert isinstance(await quoted(venue), Unavailable)
    assert venue.limits(BTC, ETH) is None
    assert inner.asked == 0
    closed = GuardedVenue(PriceVenue("bb", enabled=False), clock)
    assert not closed.supports(BTC, ETH)


class OpeningVenue(PriceVenue):
    """Opens in the way ``how`` says."""

    how: str = "well"

    async def open(self, leg: LegOrder) -> DepositInstruction:
        self.opened.append(leg)
        if self.how == "silent":
            await asyncio.get_running_loop().create_future()
        if self.how == "broken":
            raise ZeroDivisionError
        if self.how == "rejects":
            raise Rejected("no")
        return DepositInstruction("address", None, leg.amount_in, leg.amount_out)

    async def report(self, key: str) -> LegReport | None:
        if self.how == "silent":
            await asyncio.get_running_loop().create_future()
        if self.how == "broken":
            raise ZeroDivisionError
        return None


LEG = LegOrder(
    key="order:in",
    token_in=BTC,
    token_out=UNVERIFIED,
    amount_in=HALF,
    amount_out=HALF,
    payout_address="address",
    payout_tag=None,
    refund_address=None,
    refund_tag=None,
    expires=datetime(2026, 11, 20, tzinfo=UTC),
)


QUOTE, OPEN, REPORT = ("quote", BTC, ETH, HALF), ("open", LEG), ("report", "order:in")


@pytest.mark.parametrize(
    ("call", "seconds", "failure"),
    [(QUOTE, 2, TimedOut), (OPEN, 10, Ambiguous), (REPORT, 5, Transient)],
    ids=["quote", "open", "report"],
)
async def test_a_silent_venue_is_given_up(
    clock: ManualClock, call: tuple[Any, ...], seconds: float, failure: Any
) -> None:
    inner = OpeningVenue("aa", how="silent", silent=True)
    name, *asked = call
    asking = asyncio.create_task(getattr(GuardedVenue(inner, clock), name)(*asked))
    await rest()
    clock.advance(seconds - 0.01)
    await rest()
    assert not asking.done()
    clock.advance(0.02)
    await rest()
    assert asking.done()
    with pytest.raises(failure):
        await asking
    assert len(inner.opened) == (call is OPEN), "it is opened once at most"


@pytest.mark.parametrize(
    ("call", "how", "failure"),
    [
        (QUOTE, "broken", Transient),
        (OPEN, "broken", Ambiguous),
        (OPEN, "rejects", Rejected),
        (REPORT, "broken", Transient),
    ],
    ids=["quote", "open", "rejected", "report"],
)
async def test_a_failure_says_what_is_known(
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
    call: tuple[Any, ...],
    how: str,
    failure: Any,
) -> None:
    name, *asked = call
    venue = OpeningVenue("aa", how=how, broken=how == "broken")
    with pytest.raises(failure):
        await getattr(GuardedVenue(venue, clock), name)(*asked)
    assert ("ZeroDivisionError" in caplog.text) is (how == "broken")


async def test_open_is_not_stopped_by_the_breaker(clock: ManualClock) -> None:
    inner = OpeningVenue("aa", failing=True)
    venue = GuardedVenue(inner, clock)
    for _ in range(6):
        with pytest.raises(Transient):
            await quoted(venue)
    assert (await venue.open(LEG)).address == "address"


async def test_registry(clock: ManualClock) -> None:
    venues = Venues([PriceVenue("bb"), PriceVenue("aa", trades=frozenset({"XRP"}))], clock)
    assert [venue.provider.short_name for venue in venues] == ["aa", "bb"]
    assert [provider.short_name for provider in venues.providers(ProviderQuery())] == ["aa", "bb"]
    assert [venue.provider.short_name for venue in venues.trading(BTC, ETH)] == ["bb"]
    assert venues.by_code("zz") is None
    with pytest.raises(ValueError, match="share one code"):
        Venues([PriceVenue("aa"), PriceVenue("aa")], clock)


async def failing_while_its_caller_is_cancelled(clock: ManualClock) -> None:
    release = asyncio.Event()

    async def failing() -> None:
        await release.wait()
        caller.cancel()
        raise Rejected("not that one")

    caller = asyncio.create_task(within(clock, 5, failing()))
    await rest()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_a_failure_in_the_moment_of_a_cancellation_is_not_reported_as_lost(
    clock: ManualClock,
) -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    await failing_while_its_caller_is_cancelled(clock)
    await rest()
    gc.collect(1)
    assert reported == []


# The deadline over many questions


async def after(clock: ManualClock, seconds: float) -> float:
    if seconds:
        await clock.sleep(seconds)
    return seconds


async def run(clock: ManualClock, delays: list[float]) -> tuple[list[float | None], float, float]:
    """The answers, the seconds that it says it took, and those that it took in steps of a tenth."""
    questions: list[Coroutine[Any, Any, float]] = [after(clock, delay) for delay in delays]
    task = asyncio.ensure_future(gather(clock, questions))
    begin = clock.monotonic()
    while not task.done():
        await rest()
        if not task.done():
            clock.advance(0.1)
    return *task.result(), round(clock.monotonic() - begin, 3)


NEVER = 60.0


@each_row(
    ("delays", "taken", "answered"),
    [
        ([], 0.0, 0),
        ([0.0] * 10, 0.0, 10),
        ([0.3] * 10, 0.3, 10),
        ([0.0] * 9 + [0.5], 0.5, 10),
        ([0.0] * 9 + [NEVER], 0.6, 9),
        ([0.0] * 9 + [0.8], 0.6, 9),
        ([0.0] * 8 + [0.8, NEVER], 0.8, 9),
        ([0.0] * 8 + [NEVER] * 2, 0.9, 8),
        ([0.0] * 7 + [NEVER] * 3, 1.2, 7),
        ([0.0] * 6 + [NEVER] * 4, 1.5, 6),
        ([0.0] * 5 + [NEVER] * 5, 1.8, 5),
        ([0.0] * 4 + [NEVER] * 6, 2.0, 4),
        ([1.9] * 4 + [NEVER] * 6, 2.0, 4),
        ([NEVER] * 10, 2.0, 0),
        ([NEVER], 2.0, 0),
    ],
)
async def test_deadlines(delays: list[float], taken: float, answered: int) -> None:
    clock = ManualClock()
    answers, waited, seconds = await run(clock, delays)
    assert seconds == pytest.approx(taken)
    assert waited == pytest.approx(taken)
    assert len(answers) == len(delays)
    assert sum(answer is not None for answer in answers) == answered
    for delay, answer in zip(delays, answers, strict=True):
        assert answer in (None, delay)


async def test_late_questions_are_cancelled() -> None:
    clock = ManualClock()
    ended: list[str] = []

    async def late() -> int:
        try:
            await clock.sleep(NEVER)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return 1

    task = asyncio.ensure_future(gather(clock, [late()]))
    while not task.done():
        await rest()
        clock.advance(0.1)
    await rest()
    assert ended == ["cancelled"]


async def test_a_question_that_raises_is_unanswered(caplog: pytest.LogCaptureFixture) -> None:
    async def raises() -> int:
        raise ZeroDivisionError

    async def answers() -> int:
        return 7

    found, _ = await gather(ManualClock(), [raises(), answers()])
    assert found == [None, 7]
    assert "ZeroDivisionError" in caplog.text

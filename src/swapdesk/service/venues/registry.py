"""The venues of a service, found by code, and the guards around every call of one.

Capability, circuit breaker, token bucket, bulkhead, timeout, single-flight, hedge. Equal questions
share a call. After the time in which 95 % of the venue's answers came a question is asked once
more, and the first answer counts. One task watches all questions of a venue, because a timer for
each costs more than the question. ``open`` creates something, so it gets the bulkhead and its
timeout alone: what it leaves after ten seconds is Ambiguous.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from decimal import Decimal
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from swapdesk.clock import Clock
from swapdesk.service.venues.adapter import (
    FLOATING,
    Ambiguous,
    CentralizedVenue,
    DepositInstruction,
    LegOrder,
    LegReport,
    Terms,
    Transient,
    Unavailable,
    VenueFailure,
    VenueLimits,
    VenueQuote,
    VenueTraits,
)
from swapdesk.service.venues.onchain.adapter import DexVenue
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.tokens import Token

K = TypeVar("K")
T = TypeVar("T")

Ask = Callable[[], Coroutine[Any, Any, T]]

_SAMPLES = 64
_FEWEST_SAMPLES = 20
_SHORTEST_HEDGE = 0.05
_RECOUNT = 16


class Latency:
    """How long the answers of a venue took lately, in seconds."""

    def __init__(self) -> None:
        self._samples: deque[float] = deque(maxlen=_SAMPLES)
        self._added = 0
        self._usual: float | None = None

    def add(self, seconds: float) -> None:
        self._samples.append(seconds)
        self._added += 1
        if len(self._samples) >= _FEWEST_SAMPLES and (
            self._usual is None or self._added % _RECOUNT == 0
        ):
            self._usual = sorted(self._samples)[len(self._samples) * 95 // 100]

    @property
    def usual(self) -> float | None:
        """The 95th percentile; None while too few are known."""
        return self._usual


class _Flight(Struct, Generic[T], eq=False):
    begun: float
    ask: Ask[T]
    answer: asyncio.Future[T]
    hedge_at: float
    tries: list[asyncio.Future[T]] = field(default_factory=list)


class Flights(Generic[K, T]):
    """``seconds`` is the deadline of a question; ``may_repeat`` allows a second call.

    ``settled`` is told whether each question was answered.
    """

    def __init__(
        self,
        clock: Clock,
        seconds: float,
        *,
        late: Callable[[], Exception],
        may_repeat: Callable[[], bool],
        settled: Callable[[bool], None],
    ) -> None:
        self._clock = clock
        self._seconds = seconds
        self._late = late
        self._may_repeat = may_repeat
        self._settled = settled
        self._flying: dict[K, _Flight[T]] = {}
        self._to_hedge: deque[_Flight[T]] = deque()
        self._to_end: deque[_Flight[T]] = deque()
        self._watch: asyncio.Task[None] | None = None
        self._wakes_at = 0.0
        self.latency = Latency()

    def under_way(self, key: K) -> asyncio.Future[T] | None:
        flight = self._flying.get(key)
        return None if flight is None else flight.answer

    def start(self, key: K, ask: Ask[T]) -> asyncio.Future[T]:
        """Ask; the answer is a future that no waiter may cancel."""
        now = self._clock.monotonic()
        usual = self.latency.usual
        hedge = self._seconds if usual is None else max(usual, _SHORTEST_HEDGE)
        flight = _Flight(now, ask, asyncio.get_running_loop().create_future(), now + hedge)
        self._flying[key] = flight
        flight.answer.add_done_callback(lambda answer: self._landed(key, answer))
        if usual is not None and hedge < self._seconds:
            self._to_hedge.append(flight)
        self._to_end.append(flight)
        self._try(flight)
        if self._watch is not None and flight.hedge_at < self._wakes_at:
            self._watch.cancel()
        if self._watch is None or self._watch.done() or flight.hedge_at < self._wakes_at:
            self._wakes_at = flight.hedge_at
            self._watch = asyncio.create_task(self._watch_over())
        return flight.answer

    def _landed(self, key: K, answer: asyncio.Future[T]) -> None:
        self._flying.pop(key, None)
        if not answer.cancelled():
            # Nobody may be left to hear of a failure.
            answer.exception()

    def _try(self, flight: _Flight[T]) -> None:
        task = asyncio.ensure_future(flight.ask())
        flight.tries.append(task)
        task.add_done_callback(lambda done: self._returned(flight, done))

    def _returned(self, flight: _Flight[T], task: asyncio.Future[T]) -> None:
        if flight.answer.done():
            if not task.cancelled():
                task.exception()
            return
        if task.cancelled():
            # Only the end of the loop cancels a call whose question is still open.
            flight.answer.cancel()
            return
        failure = task.exception()
        if failure is None:
            self.latency.add(self._clock.monotonic() - flight.begun)
            flight.answer.set_result(task.result())
            self._settled(True)
            self._cancel(flight)
        elif all(one.done() for one in flight.tries):
            self._end(flight, failure)

    def _end(self, flight: _Flight[T], failure: BaseException) -> None:
        if not flight.answer.done():
            flight.answer.set_exception(failure)
            self._settled(False)
            self._cancel(flight)

    @staticmethod
    def _cancel(flight: _Flight[T]) -> None:
        for one in flight.tries:
            one.cancel()

    async def _watch_over(self) -> None:
        """Until nothing is under way: second calls and deadlines, when their time comes."""
        while True:
            for waiting in (self._to_hedge, self._to_end):
                while waiting and waiting[0].answer.done():
                    waiting.popleft()
            if not self._to_end:
                return
            due = self._to_end[0].begun + self._seconds
            if self._to_hedge:
                due = min(due, self._to_hedge[0].hedge_at)
            now = self._clock.monotonic()
            if now < due:
                self._wakes_at = due
                await self._clock.sleep(due - now)
                continue
            if self._to_hedge and self._to_hedge[0].hedge_at <= now:
                flight = self._to_hedge.popleft()
                if self._may_repeat():
                    self._try(flight)
            else:
                self._end(self._to_end.popleft(), self._late())


_CONSECUTIVE = 5
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 600.0


class Breaker:
    """Opens after 5 failures in a row; 30 calls with under 20 % success always hold 5 of them.

    Open for 5 s, doubling with every failed probe up to 10 minutes; then one probe at a time
    decides. Times are seconds of ``clock.monotonic``.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._in_a_row = 0
        self._open_until: float | None = None
        self._pause = _FIRST_PAUSE
        self._probing = False

    def admits(self) -> bool:
        """Whether a call may go out now; when open, taking the one probe counts as asking."""
        if self._open_until is None:
            return True
        if self._probing or self._clock.monotonic() < self._open_until:
            return False
        self._probing = True
        return True

    def unasked(self) -> None:
        """The call that was admitted did not go out after all."""
        self._probing = False

    def succeeded(self) -> None:
        self._in_a_row = 0
        if self._open_until is not None:
            self._open_until = None
            self._pause = _FIRST_PAUSE
        self._probing = False

    def failed(self) -> None:
        self._in_a_row += 1
        if self._probing:
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            self._open()
        elif self._open_until is None and self._in_a_row >= _CONSECUTIVE:
            self._open()
        self._probing = False

    def _open(self) -> None:
        self._open_until = self._clock.monotonic() + self._pause


class TokenBucket:
    """``per_second`` questions, one second's worth at once; 0 for no bound."""

    def __init__(self, per_second: int, clock: Clock) -> None:
        self._per_second = per_second
        self._clock = clock
        self._left = float(per_second)
        self._seen = clock.monotonic()

    def take(self) -> bool:
        """Whether one more question may go out now."""
        if not self._per_second:
            return True
        now = self._clock.monotonic()
        grown = self._left + (now - self._seen) * self._per_second
        self._left = min(grown, float(self._per_second))
        self._seen = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


QUOTE_SECONDS = 2.0
OPEN_SECONDS = 10.0
ASK_SECONDS = 5.0
_QUEUE_SECONDS = 2.0
_QUOTES_AT_ONCE = 64
_ORDERS_AT_ONCE = 16

logger = logging.getLogger(__name__)

_Question = tuple[str, str, Decimal, Terms]
"""What makes two questions one flight: both tokens, the amount and the terms."""


class TimedOut(Transient):
    """The venue did not answer in time; for a quote that means nothing happened."""


class CircuitOpen(Transient):
    """The venue failed often lately and is not asked for the moment."""


class TooManyQuestions(Transient):
    """The venue was asked as often as it allows; nothing went out."""


async def within(clock: Clock, seconds: float, call: Coroutine[Any, Any, T]) -> T:
    """The result of ``call``; after ``seconds`` of the clock it is cancelled: TimeoutError."""
    work = asyncio.ensure_future(call)
    # Also when it fails in the moment in which its caller is cancelled.
    work.add_done_callback(_seen)
    timer = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait({work, timer}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise TimeoutError
        return work.result()
    finally:
        timer.cancel()
        if not work.done():
            # Not awaited: a venue that ignores its cancellation must not hold the caller.
            work.cancel()


def _seen(work: asyncio.Future[Any]) -> None:
    """Take note of an abandoned outcome, so that the loop does not report it as lost."""
    if not work.cancelled():
        work.exception()


class GuardedVenue:
    """A venue with everything around it; speaks the same protocol as the venue."""

    def __init__(self, venue: CentralizedVenue, clock: Clock) -> None:
        self._venue = venue
        self._clock = clock
        self._breaker = Breaker(clock)
        self._bucket = TokenBucket(venue.traits.quotes_per_second, clock)
        self._quote_places = asyncio.Semaphore(_QUOTES_AT_ONCE)
        self._order_places = asyncio.Semaphore(_ORDERS_AT_ONCE)
        self._flights: Flights[_Question, VenueQuote | Unavailable] = Flights(
            clock,
            QUOTE_SECONDS,
            late=lambda: TimedOut(f"no answer within {QUOTE_SECONDS:g} s"),
            may_repeat=lambda: not self._quote_places.locked() and self._bucket.take(),
            settled=self._settled,
        )

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
        """As the venue says; a disabled provider supports nothing."""
        return self._venue.provider.enabled and self._venue.supports(token_in, token_out)

    def limits(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        if not self.supports(token_in, token_out):
            return None
        return self._venue.limits(token_in, token_out)

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> VenueQuote | Unavailable:
        """Price one leg; equal questions in flight share one call. Raises Transient, Rejected.

        Order of what stands in the way: capability, breaker, questions a second, places.
        """
        if not self.supports(token_in, token_out):
            return Unavailable("this pair is not traded here")
        if terms.fixed and not self.traits.fixed:
            return Unavailable("this exchange has no fixed rates")
        if terms.markup and not self.provider.markup_supported:
            return Unavailable("this exchange takes no partner markup")
        key = (token_in.id, token_out.id, amount, terms)
        answer = self._flights.under_way(key)
        if answer is None:
            if not self._breaker.admits():
                raise CircuitOpen("not asked: failed repeatedly a moment ago")
            if not self._bucket.take():
                self._breaker.unasked()
                raise TooManyQuestions("not asked: too many questions a moment ago")
            answer = self._flights.start(
                key, lambda: self._ask_quote(token_in, token_out, amount, terms)
            )
        # One waiter that gives up must not end the flight of the others.
        return await asyncio.shield(answer)

    async def _ask_quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms
    ) -> VenueQuote | Unavailable:
        try:
            async with self._quote_places:
                return await self._venue.quote(token_in, token_out, amount, terms)
        except VenueFailure:
            raise
        except Exception as defect:
            raise self._defect("quote", defect) from defect

    def _settled(self, answered: bool) -> None:
        if answered:
            self._breaker.succeeded()
        else:
            self._breaker.failed()

    async def open(self, leg: LegOrder) -> DepositInstruction:
        """Create the leg. Transient: it never went out. Ambiguous: the outcome is unknown."""

        async def call() -> DepositInstruction:
            return await self._venue.open(leg)

        async with _Place(self._order_places, self._clock):
            try:
                return await within(self._clock, OPEN_SECONDS, call())
            except TimeoutError:
                raise Ambiguous(f"no answer within {OPEN_SECONDS:g} s") from None
            except VenueFailure:
                raise
            except Exception as defect:
                self._defect("open", defect)
                raise Ambiguous(f"defect: {type(defect).__name__}") from defect

    async def find(self, key: str) -> DepositInstruction | None:
        return await self._ask("find", lambda: self._venue.find(key))

    async def report(self, key: str) -> LegReport | None:
        return await self._ask("report", lambda: self._venue.report(key))

    async def send_on(self, key: str, address: str, tag: str | None) -> None:
        await self._ask("send_on", lambda: self._venue.send_on(key, address, tag))

    async def _ask(self, what: str, question: Callable[[], Awaitable[T]]) -> T:
        async def call() -> T:
            return await question()

        async with _Place(self._order_places, self._clock):
            try:
                return await within(self._clock, ASK_SECONDS, call())
            except TimeoutError:
                raise TimedOut(f"no answer within {ASK_SECONDS:g} s") from None
            except VenueFailure:
                raise
            except Exception as defect:
                raise self._defect(what, defect) from defect

    def _defect(self, what: str, defect: Exception) -> Transient:
        """An adapter raised what the protocol does not know: logged, then treated as transient."""
        code = self.provider.short_name
        logger.error("venue %s: %s raised %r", code, what, defect, exc_info=defect)
        return Transient(f"defect: {type(defect).__name__}")


class _Place:
    """A place in a bulkhead; Transient when none becomes free, because nothing went out."""

    def __init__(self, places: asyncio.Semaphore, clock: Clock) -> None:
        self._places = places
        self._clock = clock

    async def __aenter__(self) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            await within(self._clock, _QUEUE_SECONDS, self._places.acquire())
        except TimeoutError:
            raise TimedOut("too many calls to this venue at once") from None

    async def __aexit__(self, *exc_info: object) -> None:
        self._places.release()


class Venues:
    """Every venue of the service, in the order of their codes."""

    def __init__(
        self,
        adapters: Iterable[CentralizedVenue],
        clock: Clock,
        onchain: Iterable[DexVenue] = (),
    ) -> None:
        guarded = [GuardedVenue(adapter, clock) for adapter in adapters]
        self._by_code = {
            venue.provider.short_name: venue
            for venue in sorted(guarded, key=lambda venue: venue.provider.short_name)
        }
        self.onchain = sorted(onchain, key=lambda venue: venue.provider.short_name)
        """Those that trade on chains; everything else here is about centralized ones."""
        self._dex = {venue.provider.short_name: venue for venue in self.onchain}
        codes = {**self._by_code, **self._dex}
        if len(codes) != len(guarded) + len(self.onchain):
            raise ValueError("two venues share one code")

    def __iter__(self) -> Iterator[GuardedVenue]:
        return iter(self._by_code.values())

    def by_code(self, code: str) -> GuardedVenue | None:
        """The venue of a provider code (``shortName``), enabled or not."""
        return self._by_code.get(code)

    def dex(self, code: str) -> DexVenue | None:
        """The on-chain venue of a provider code."""
        return self._dex.get(code)

    def provider(self, code: str) -> SwapProvider | None:
        """The public record of any venue."""
        venue = self._by_code.get(code) or self._dex.get(code)
        return None if venue is None else venue.provider

    def providers(self) -> list[SwapProvider]:
        """The public records of all venues, disabled ones included."""
        found = [*(venue.provider for venue in self), *(venue.provider for venue in self.onchain)]
        return sorted(found, key=lambda provider: provider.short_name)

    def trading(self, token_in: Token, token_out: Token) -> list[GuardedVenue]:
        """The enabled venues that trade the pair."""
        return [venue for venue in self if venue.supports(token_in, token_out)]

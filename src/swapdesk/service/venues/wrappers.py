"""What stands around every venue: capability, breaker, rate, bulkhead, timeout, shared flights.

Quotes may be shared, dropped, asked again and asked twice. ``open`` creates something, so it
gets the bulkhead and its timeout alone: what it leaves behind after ten seconds is Ambiguous.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from decimal import Decimal
from typing import Any, TypeVar

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
from swapdesk.service.venues.breaker import Breaker
from swapdesk.service.venues.flights import Flights
from swapdesk.service.venues.token_bucket import TokenBucket
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.tokens import Token

T = TypeVar("T")

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

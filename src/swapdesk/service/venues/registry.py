"""The venues of a service by code. Every call is guarded by a capability check, a circuit breaker,
sharing of equal calls and a timeout; ``open`` only by the timeout, which raises Ambiguous."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any, Literal, TypeVar

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
from swapdesk.wire.chains import ProviderQuery, SwapProvider
from swapdesk.wire.tokens import Token

logger = logging.getLogger(__name__)

T = TypeVar("T")

_CONSECUTIVE = 5
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 600.0


BreakerState = Literal["closed", "open", "half_open"]


class Breaker:
    """A circuit breaker. After 5 failures in a row it blocks a venue's calls for 5 s, then lets one
    call through as a probe. Each failed probe doubles the pause, up to 10 minutes. Times are
    seconds of ``clock.monotonic``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._in_a_row = 0
        self._open_until: float | None = None
        self._pause = _FIRST_PAUSE
        self._probing = False

    @property
    def state(self) -> BreakerState:
        if self._open_until is None:
            return "closed"
        if self._probing or self._clock.monotonic() >= self._open_until:
            return "half_open"
        return "open"

    def admits(self) -> bool:
        """Returns whether a call may be made now. After a pause, only the first call is let
        through, as a probe."""
        if self._open_until is None:
            return True
        if self._probing or self._clock.monotonic() < self._open_until:
            return False
        self._probing = True
        return True

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


QUOTE_SECONDS = 2.0
OPEN_SECONDS = 10.0
ASK_SECONDS = 5.0

_Question = tuple[str, str, Decimal, Terms]
_Answer = asyncio.Future[VenueQuote | Unavailable]


class TimedOut(Transient):
    """Raised if the venue did not answer a call in time. If the call asked for a quote, it had no
    effect."""


async def within(clock: Clock, seconds: float, call: Coroutine[Any, Any, T]) -> T:
    """Returns the result of ``call``. After ``seconds`` by ``clock``, cancels the call and raises
    TimeoutError."""
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
    if not work.cancelled():
        work.exception()


class Deadlines:
    """Runs calls with a time limit of ``seconds`` by ``clock``."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._due: dict[asyncio.Future[Any], float] = {}
        self._watch: asyncio.Task[None] | None = None

    def start(self, call: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        """Starts a call and returns its future, which raises TimeoutError beyond the time limit.
        Cancelling the future ends the call."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        work = asyncio.ensure_future(call)
        work.add_done_callback(partial(_hand_on, answer))
        answer.add_done_callback(partial(self._end, work))
        self._due[answer] = self._clock.monotonic() + self._seconds
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._watch_over())
        return answer

    def _end(self, work: asyncio.Future[Any], answer: asyncio.Future[Any]) -> None:
        # Not awaited: a venue that ignores its cancellation must not hold the caller.
        work.cancel()
        self._due.pop(answer, None)
        if not self._due and self._watch is not None:
            self._watch.cancel()
            self._watch = None

    async def _watch_over(self) -> None:
        while self._due:
            answer, due = next(iter(self._due.items()))
            left = due - self._clock.monotonic()
            if left > 0:
                await self._clock.sleep(left)
                continue
            del self._due[answer]
            if not answer.done():
                answer.set_exception(TimeoutError())


def _hand_on(answer: asyncio.Future[T], work: asyncio.Future[T]) -> None:
    if answer.done():
        _seen(work)
    elif work.cancelled():
        # Only the end of the loop cancels a call whose answer is still open.
        answer.cancel()
    elif failure := work.exception():
        answer.set_exception(failure)
    else:
        answer.set_result(work.result())


class GuardedVenue:
    def __init__(self, venue: CentralizedVenue, clock: Clock) -> None:
        self._venue = venue
        self._breaker = Breaker(clock)
        self._pricing = Deadlines(clock, QUOTE_SECONDS)
        self._flying: dict[_Question, _Answer] = {}
        """The price questions that wait for the venue; equal ones share a call."""
        self._openings = Deadlines(clock, OPEN_SECONDS)
        self._questions = Deadlines(clock, ASK_SECONDS)

    @property
    def provider(self) -> SwapProvider:
        return self._venue.provider

    @property
    def breaker(self) -> BreakerState:
        return self._breaker.state

    @property
    def traits(self) -> VenueTraits:
        return self._venue.traits

    @property
    def poll_seconds(self) -> float:
        return self._venue.poll_seconds

    def supports(self, token_in: Token, token_out: Token) -> bool:
        """Returns True if the venue is enabled and trades the pair."""
        return self._venue.provider.enabled and self._venue.supports(token_in, token_out)

    def limits(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        if not self.supports(token_in, token_out):
            return None
        return self._venue.limits(token_in, token_out)

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> VenueQuote | Unavailable:
        """Prices one leg; equal questions at the same time share a call. Returns Unavailable for a
        pair or terms that the venue does not support. Raises Transient or Rejected."""
        if not self.supports(token_in, token_out):
            return Unavailable("this pair is not traded here")
        if terms.fixed and not self.traits.fixed:
            return Unavailable("this exchange has no fixed rates")
        if terms.markup and not self.provider.markup_supported:
            return Unavailable("this exchange takes no partner markup")
        key = (token_in.id, token_out.id, amount, terms)
        answer = self._flying.get(key)
        if answer is None:
            if not self._breaker.admits():
                raise Transient("not asked: failed repeatedly a moment ago")
            question = self._priced(token_in, token_out, amount, terms)
            answer = self._flying[key] = self._pricing.start(question)
            answer.add_done_callback(lambda _: self._flying.pop(key))
            answer.add_done_callback(self._settled)
        try:
            # One waiter that gives up must not end the flight of the others.
            return await asyncio.shield(answer)
        except TimeoutError:
            raise TimedOut(f"no answer within {QUOTE_SECONDS:g} s") from None

    async def _priced(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms
    ) -> VenueQuote | Unavailable:
        try:
            return await self._venue.quote(token_in, token_out, amount, terms)
        except VenueFailure:
            raise
        except Exception as defect:
            raise self._defect("quote", defect) from defect

    def _settled(self, answer: _Answer) -> None:
        if answer.cancelled():
            return
        if answer.exception() is None:
            self._breaker.succeeded()
        else:
            self._breaker.failed()

    async def open(self, leg: LegOrder) -> DepositInstruction:
        """Opens the leg at the venue. Raises VenueFailure as the venue does, and Ambiguous after a
        timeout or an unexpected failure; the leg may exist then."""
        try:
            return await self._openings.start(self._venue.open(leg))
        except TimeoutError:
            raise Ambiguous(f"no answer within {OPEN_SECONDS:g} s") from None
        except VenueFailure:
            raise
        except Exception as defect:
            self._defect("open", defect)
            raise Ambiguous(f"defect: {type(defect).__name__}") from defect

    async def find(self, key: str) -> DepositInstruction | None:
        return await self._ask("find", self._venue.find(key))

    async def report(self, key: str) -> LegReport | None:
        return await self._ask("report", self._venue.report(key))

    async def send_on(self, key: str, address: str, tag: str | None) -> None:
        await self._ask("send_on", self._venue.send_on(key, address, tag))

    async def _ask(self, what: str, question: Coroutine[Any, Any, T]) -> T:
        try:
            return await self._questions.start(question)
        except TimeoutError:
            raise TimedOut(f"no answer within {ASK_SECONDS:g} s") from None
        except VenueFailure:
            raise
        except Exception as defect:
            raise self._defect(what, defect) from defect

    def _defect(self, what: str, defect: Exception) -> Transient:
        code = self.provider.short_name
        logger.error("venue %s: %s raised %r", code, what, defect, exc_info=defect)
        return Transient(f"defect: {type(defect).__name__}")


class Venues:
    """All venues of the service, in the order of their codes."""

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
        """The on-chain venues by code. Iterating over ``Venues`` yields the centralized ones
        only."""
        self._dex = {venue.provider.short_name: venue for venue in self.onchain}
        codes = {**self._by_code, **self._dex}
        if len(codes) != len(guarded) + len(self.onchain):
            raise ValueError("two venues share one code")

    def __iter__(self) -> Iterator[GuardedVenue]:
        return iter(self._by_code.values())

    def by_code(self, code: str) -> GuardedVenue | None:
        return self._by_code.get(code)

    def asked(self, code: str) -> GuardedVenue:
        """Returns the venue with this code, for a leg of an order. Raises Transient if the venue is
        not configured now."""
        venue = self.by_code(code)
        if venue is None:
            raise Transient(f"venue {code} is not configured")
        return venue

    def pace(self, code: str) -> float:
        venue = self.by_code(code)
        return 1.0 if venue is None else venue.poll_seconds

    def dex(self, code: str) -> DexVenue | None:
        return self._dex.get(code)

    def provider(self, code: str) -> SwapProvider | None:
        venue = self._by_code.get(code) or self._dex.get(code)
        return None if venue is None else venue.provider

    def providers(self, query: ProviderQuery) -> list[SwapProvider]:
        """Returns the public records of the venues, enabled or not, that match every filter of
        ``query``, in the order of their codes."""
        providers = [
            *(venue.provider for venue in self),
            *(venue.provider for venue in self.onchain),
        ]
        wanted = query.model_dump(by_alias=False, exclude_none=True).items()
        return sorted(
            (
                provider
                for provider in providers
                if all(getattr(provider, name) == flag for name, flag in wanted)
            ),
            key=lambda provider: provider.short_name,
        )

    def trading(self, token_in: Token, token_out: Token) -> list[GuardedVenue]:
        return [venue for venue in self if venue.supports(token_in, token_out)]

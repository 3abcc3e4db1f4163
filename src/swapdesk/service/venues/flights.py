"""Questions under way at one venue: equal ones share a call, slow ones get a second one.

A question ends with its answer, its failure, or its deadline. After the time in which 95 % of
the venue's answers came it is asked once more, and the first answer counts. One task watches
all questions of a venue, because a timer for each costs more than the question.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from swapdesk.clock import Clock

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


@dataclass(eq=False)
class _Flight(Generic[T]):
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

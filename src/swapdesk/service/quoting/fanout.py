"""One deadline over many questions: wait for nearly all of them, never for the slowest.

Contract 17.3: 0.6 s for everything, then 90 % of the rows expected is enough,
falling every 0.3 s; after 2.0 s whatever is there is the answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from swapdesk.clock import Clock

T = TypeVar("T")

logger = logging.getLogger(__name__)

Steps = tuple[tuple[float, int], ...]
"""Until so many seconds have passed, at least so many percent of the answers are waited for."""

STEPS: Steps = ((0.6, 100), (0.9, 90), (1.2, 80), (1.5, 70), (1.8, 60), (2.0, 50))

HALF_STEPS: Steps = tuple((seconds / 2, percent) for seconds, percent in STEPS)
"""For questions that others wait for: the same patience in half the time."""

DEADLINE = STEPS[-1][0]
"""Nothing is waited for longer, in seconds."""


@dataclass(frozen=True)
class Gathered(Generic[T]):
    """One entry per question, None for no answer; ``waited`` in seconds since the begin."""

    answers: list[T | None]
    waited: float


async def gather(
    clock: Clock,
    questions: Sequence[Coroutine[Any, Any, T]],
    *,
    steps: Steps = STEPS,
    begin: float | None = None,
) -> Gathered[T]:
    """Ask everything at once and keep what came in time; the rest is cancelled.

    ``begin``, of ``clock.monotonic``, is when the time of the whole request began. A question
    must not raise: a failure is an answer of its own kind. One that raises all the same is
    logged and counts as unanswered.
    """
    if begin is None:
        begin = clock.monotonic()
    if not questions:
        return Gathered([], 0.0)
    tasks = [asyncio.ensure_future(question) for question in questions]
    left = len(tasks)
    enough = 0
    some = asyncio.Event()

    def one_more(_: asyncio.Future[T]) -> None:
        nonlocal left
        left -= 1
        if left <= enough:
            some.set()

    for task in tasks:
        task.add_done_callback(one_more)
    try:
        for until, percent in steps:
            enough = len(tasks) - -(-percent * len(tasks) // 100)
            remaining = begin + until - clock.monotonic()
            if remaining <= 0 and until != steps[-1][0]:
                continue
            timer = asyncio.ensure_future(clock.sleep(remaining))
            timer.add_done_callback(lambda _: some.set())
            try:
                while left > enough and not timer.done():
                    some.clear()
                    await some.wait()
            finally:
                timer.cancel()
            if left <= enough:
                break
        return Gathered([_answer(task) for task in tasks], clock.monotonic() - begin)
    finally:
        for task in tasks:
            task.cancel()


def _answer(task: asyncio.Future[T]) -> T | None:
    if not task.done() or task.cancelled():
        return None
    defect = task.exception()
    if defect is not None:
        logger.error("a question of the fan-out raised %r", defect, exc_info=defect)
        return None
    return task.result()

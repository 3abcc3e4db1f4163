"""The deadline over many questions."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from swapdesk.clock import ManualClock
from swapdesk.service.quoting.asking import gather


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
        for _ in range(20):
            await asyncio.sleep(0)
        if not task.done():
            clock.advance(0.1)
    return *task.result(), round(clock.monotonic() - begin, 3)


NEVER = 60.0


@pytest.mark.parametrize(
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
        for _ in range(20):
            await asyncio.sleep(0)
        clock.advance(0.1)
    for _ in range(20):
        await asyncio.sleep(0)
    assert ended == ["cancelled"]


async def test_a_question_that_raises_is_unanswered(caplog: pytest.LogCaptureFixture) -> None:
    async def raises() -> int:
        raise ZeroDivisionError

    async def answers() -> int:
        return 7

    found, _ = await gather(ManualClock(), [raises(), answers()])
    assert found == [None, 7]
    assert "ZeroDivisionError" in caplog.text

"""Rate limit headers: what they say is shown, what they do not say is counted here."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from swapdesk.client.budget import Budget, Window
from swapdesk.clock import ManualClock
from swapdesk.wire.account import RateLimits, RateWindows
from swapdesk.wire.operation import RateClass

START = datetime(2026, 11, 20, 14, 22, 30, tzinfo=UTC)


def headers(limit: object, remaining: object, reset: object) -> dict[str, str]:
    named = {"limit": limit, "remaining": remaining, "reset": reset}
    return {f"ratelimit-{name}": str(value) for name, value in named.items() if value is not None}


def test_reads_come_from_the_headers_alone() -> None:
    clock = ManualClock(START)
    budget = Budget(clock.now)
    budget.count(RateClass.READ)
    assert budget.left("read") is None
    assert budget.used_this_hour("read") == 1
    budget.tell(RateClass.READ, headers(500, 480, 2250))
    left = budget.left("read")
    assert (left.left, left.limit, left.resets_in, left.window) == (480, 500, 2250.0, Window.HOUR)
    clock.advance(2250)
    assert budget.left("read") is None


def test_the_smaller_of_own_count_and_header_is_shown() -> None:
    clock = ManualClock(START)
    budget = Budget(clock.now)
    windows = RateWindows(per_minute=20, per_hour=500, per_day=5000)
    budget.learn(RateLimits(monthly_request_count=0, quote=windows, exchange=windows))
    budget.count(RateClass.QUOTE)
    # Another program of the partner used 9 of this minute.
    budget.tell(RateClass.QUOTE, headers(20, 10, 30))
    left = budget.left("quote")
    assert (left.left, left.window) == (10, Window.MINUTE)
    assert budget.wait_for("quote", 11) == 30.0
    assert budget.wait_for("quote", 10) == 0.0


def test_answers_that_overtake_each_other_never_give_calls_back() -> None:
    clock = ManualClock(START)
    budget = Budget(clock.now)
    budget.tell(RateClass.READ, headers(500, 478, 2250))
    budget.tell(RateClass.READ, headers(500, 479, 2250))
    assert budget.left("read").left == 478  # type: ignore[union-attr]
    clock.advance(2250)
    budget.tell(RateClass.READ, headers(500, 499, 3600))
    assert budget.left("read").left == 499  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "said",
    [
        {},
        headers(500, None, 10),
        headers("many", 1, 10),
        headers(-1, 1, 10),
        headers("9" * 13, 1, 10),
        headers("٣", 1, 10),
        headers("1.5", 1, 10),
    ],
)
def test_headers_that_cannot_be_read_say_nothing(said: dict[str, str]) -> None:
    budget = Budget(ManualClock(START).now)
    budget.tell(RateClass.READ, said)
    assert budget.left("read") is None


def test_more_left_than_the_limit_is_the_limit() -> None:
    budget = Budget(ManualClock(START).now)
    budget.tell(RateClass.READ, headers(5, 900, 10))
    assert budget.left("read").left == 5  # type: ignore[union-attr]


def test_a_refused_call_tells_that_nothing_is_left() -> None:
    budget = Budget(ManualClock(START).now)
    budget.tell(RateClass.EXCHANGE, headers(5, 0, 41))
    assert budget.wait_for("exchange") == 41.0
    budget.tell(RateClass.NONE, headers(5, 0, 41))
    assert budget.left("none") is None

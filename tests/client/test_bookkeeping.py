"""Budget, exchange log, server time, retries: each by itself. Of rate limits, what the headers of
an answer say is shown, and what they do not say is counted here."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from corpus import load
from swapdesk.client.budget import Budget, Window
from swapdesk.client.exchange_log import MASK, ExchangeLog
from swapdesk.client.server_clock import ServerClock
from swapdesk.client.transport import RetryBudget
from swapdesk.clock import ManualClock
from swapdesk.wire.account import RateLimits, RateWindows
from swapdesk.wire.operation import RateClass

START = datetime(2026, 11, 20, 14, 59, 50, tzinfo=UTC)


def limits(minute: int, hour: int, day: int) -> RateLimits:
    windows = RateWindows(per_minute=minute, per_hour=hour, per_day=day)
    return RateLimits(monthly_request_count=0, quote=windows, exchange=windows)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def budget(clock: ManualClock) -> Budget:
    return Budget(clock.now)


def test_the_window_that_binds_is_the_one_with_the_fewest_left(
    clock: ManualClock, budget: Budget
) -> None:
    budget.limits = limits(5, 7, 50)
    for _ in range(4):
        budget.count(RateClass.QUOTE)
    left = budget.left("quote")
    assert (left.window, left.left, left.resets_in) == (Window.MINUTE, 1, 10.0)
    clock.advance(9.999)
    assert budget.used(RateClass.QUOTE, Window.MINUTE) == 4
    clock.advance(0.001)
    # 15:00:00 begins a new minute and a new hour, not a new day.
    assert budget.used(RateClass.QUOTE, Window.MINUTE) == 0
    assert budget.used(RateClass.QUOTE, Window.HOUR) == 0
    assert budget.used(RateClass.QUOTE, Window.DAY) == 4
    assert budget.left("exchange").left == 5


def test_how_long_until_a_number_of_calls_is_allowed(clock: ManualClock, budget: Budget) -> None:
    assert budget.wait_for("quote", 1_000_000) == 0.0
    budget.limits = limits(5, 6, 50)
    assert budget.wait_for("quote", 5) == 0.0
    assert budget.wait_for("quote", 6) is None
    for _ in range(5):
        budget.count(RateClass.QUOTE)
    assert budget.wait_for("quote") == 10.0
    clock.advance(20)
    assert budget.wait_for("quote", 5) == 0.0
    assert budget.left("read") is None
    budget.count(RateClass.NONE)
    assert budget.used(RateClass.NONE, Window.DAY) == 0


def headers(limit: object, remaining: object, reset: object) -> dict[str, str]:
    named = {"limit": limit, "remaining": remaining, "reset": reset}
    return {f"ratelimit-{name}": str(value) for name, value in named.items() if value is not None}


def test_reads_come_from_the_headers_alone(clock: ManualClock, budget: Budget) -> None:
    budget.count(RateClass.READ)
    assert budget.left("read") is None
    assert budget.used_this_hour("read") == 1
    budget.tell(RateClass.READ, headers(500, 480, 2250))
    left = budget.left("read")
    assert (left.left, left.limit, left.resets_in, left.window) == (480, 500, 2250.0, Window.HOUR)
    clock.advance(2250)
    assert budget.left("read") is None


def test_the_smaller_of_own_count_and_header_is_shown(budget: Budget) -> None:
    budget.limits = limits(20, 500, 5000)
    budget.count(RateClass.QUOTE)
    # Another program of the partner used 9 of this minute.
    budget.tell(RateClass.QUOTE, headers(20, 10, 10))
    left = budget.left("quote")
    assert (left.left, left.window) == (10, Window.MINUTE)
    assert budget.wait_for("quote", 11) == 10.0
    assert budget.wait_for("quote", 10) == 0.0


def test_answers_that_overtake_each_other_never_give_calls_back(
    clock: ManualClock, budget: Budget
) -> None:
    budget.tell(RateClass.READ, headers(500, 478, 2250))
    budget.tell(RateClass.READ, headers(500, 479, 2250))
    assert budget.left("read").left == 478  # type: ignore[union-attr]
    clock.advance(2250)
    budget.tell(RateClass.READ, headers(500, 499, 3600))
    assert budget.left("read").left == 499  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ({}, None),
        (headers(500, None, 10), None),
        (headers("many", 1, 10), None),
        (headers(-1, 1, 10), None),
        (headers("9" * 13, 1, 10), None),
        (headers("٣", 1, 10), None),
        (headers("1.5", 1, 10), None),
        # More left than the limit is the limit.
        (headers(5, 900, 10), 5),
    ],
)
def test_headers_that_cannot_be_read_say_nothing(
    said: dict[str, str], left: int | None, budget: Budget
) -> None:
    budget.tell(RateClass.READ, said)
    found = budget.left("read")
    assert (None if found is None else found.left) == left


def test_a_refused_call_tells_that_nothing_is_left(budget: Budget) -> None:
    budget.tell(RateClass.EXCHANGE, headers(5, 0, 41))
    assert budget.wait_for("exchange") == 41.0
    budget.tell(RateClass.NONE, headers(5, 0, 41))
    assert budget.left("none") is None


def record(log: ExchangeLog, number: int, body: bytes = b"", secret: str = "") -> None:
    log.record(
        at=START,
        operation="get_order",
        method="GET",
        target=f"/v2/orders/{number}?s={secret}",
        attempt=1,
        request_headers={"Authorization": "k:s", "Accept": "x"},
        request_body=body,
        status=200,
        request_id="r",
        answer_headers={"Set-Cookie": "c", "X-Said": secret},
        answer_body=body,
        ms=1.5,
        outcome="",
    )


def test_the_log_is_a_ring_bounded_in_number_and_bytes() -> None:
    log = ExchangeLog(entries=3, body_bytes=10, total_bytes=1 << 20)
    for number in range(5):
        record(log, number, b"x" * 50)
    assert [entry.number for entry in log] == [3, 4, 5]
    assert {len(entry.answer_body) for entry in log} == {10}
    assert {entry.answer_size for entry in log} == {50}
    small = ExchangeLog(entries=1000, body_bytes=1000, total_bytes=10_000)
    for number in range(100):
        record(small, number, b"x" * 1000)
    assert 1 <= len(small) <= 4


def test_the_log_masks_when_it_writes() -> None:
    log = ExchangeLog(body_bytes=12)
    log.hide("planted-secret", "ab")
    record(log, 1, b"123456 planted-secret", "planted-secret")
    (entry,) = log
    assert "planted" not in repr(entry)
    assert dict(entry.request_headers) == {"Authorization": MASK, "Accept": "x"}
    assert dict(entry.answer_headers) == {"Set-Cookie": MASK, "X-Said": MASK}
    # Masked before cut: no half of the secret at the edge.
    assert entry.answer_body == f"123456 {MASK}".encode()[:12]


def test_server_time_does_not_jitter_with_the_cut_seconds_of_date() -> None:
    base = ManualClock(START)
    clock = ServerClock(base)
    true = START + timedelta(hours=2, seconds=0.4)
    rng = random.Random(3)
    last = None
    for _ in range(200):
        sent = base.monotonic()
        base.advance(rng.uniform(0.01, 0.3))
        true += timedelta(seconds=base.monotonic() - sent)
        stamp = true.strftime("%a, %d %b %Y %H:%M:%S GMT")
        clock.observe(stamp, sent=sent, received=base.monotonic())
        now = clock.now()
        assert abs((now - true).total_seconds()) <= 1.3
        if last is not None:
            assert now >= last
        last = now
    assert clock.skew() == pytest.approx(7200.4, abs=1.0)


def test_server_time_follows_a_jump_and_ignores_nonsense() -> None:
    base = ManualClock(START)
    clock = ServerClock(base)
    assert clock.now() == START
    assert clock.skew() is None
    for bad in (None, "", "x", "Fri, 99 Nov 2026 14:00:00 GMT", "9" * 100):
        clock.observe(bad, sent=0, received=0)
    for case in load("date", name="times"):
        clock.observe(case.text, sent=0, received=0)
    assert clock.skew() is None
    at = base.monotonic()
    clock.observe("Sat, 21 Nov 2026 14:59:50 GMT", sent=at, received=at)
    clock.observe("Mon, 23 Nov 2026 00:00:00 GMT", sent=at, received=at)
    assert clock.now().isoformat() == "2026-11-23T00:00:00+00:00"
    base.advance(60)
    assert clock.now().isoformat() == "2026-11-23T00:01:00+00:00"


def test_no_more_retries_are_saved_than_the_reserve() -> None:
    budget = RetryBudget(share=0.1, reserve=2.0)
    for _ in range(1000):
        budget.earn()
    assert [budget.spend() for _ in range(3)] == [True, True, False]

"""The time of the machine: what a suspended machine missed is counted."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from swapdesk.client.server_clock import ServerClock
from swapdesk.clock import SystemClock, through_suspend


def test_the_clock_of_this_system_goes_on_while_it_sleeps() -> None:
    read = through_suspend()
    assert read() <= read()
    if hasattr(time, "CLOCK_BOOTTIME"):
        assert abs(read() - time.clock_gettime(time.CLOCK_BOOTTIME)) < 5
    assert SystemClock().monotonic() >= read() - 5


def test_a_sandbox_that_was_suspended_finds_its_quotes_old() -> None:
    """The service's time is carried on by the monotonic clock between two answers."""
    at = [100.0]
    clock = ServerClock(SystemClock(monotonic=lambda: at[0]))
    clock.observe("Fri, 20 Nov 2026 14:02:11 GMT", sent=100.0, received=100.0)
    before = clock.now()
    at[0] += 8 * 3600  # the lid was closed for a night
    assert (clock.now() - before).total_seconds() == 8 * 3600
    assert before.replace(microsecond=0) == datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)

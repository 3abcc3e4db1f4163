"""Orders are reckoned by the service's clock: an event is told at the time it happened, the time it
was seen beside it, and what an order takes counts from its deposit."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.following import sighted, tracker_of
from flows.orders import NOW, order
from flows.support.searching import FIRST, URL, support_desk
from swapdesk.clock import ManualClock
from swapdesk.flows.connection import Connection
from swapdesk.flows.desk import Desk
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.order_history import happened, legs_of, updates_of
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.support.support_case import facts_of, support_case
from swapdesk.flows.tracking.recent_activity import recent_events
from swapdesk.flows.webhooks import document
from swapdesk.paths import private_directory, write_private
from swapdesk.settings import load_settings
from tui.desk_run import Market

MINUTE = timedelta(minutes=1)
SLOW = timedelta(seconds=100)
"""Less than what stops a live desk from creating."""


async def test_a_live_desk_whose_clock_is_slow_reckons_orders_by_the_service(
    market: Market,
) -> None:
    async with support_desk(market) as support:
        made = await support.make()
    (market.home / "secret").touch(0o600)
    (market.home / "secret").write_text("first-secret")
    (market.home / "config.toml").write_text(
        f'[profiles.main]\nurl = "{URL}"\nkey = "first-key"\nsecret_file = "secret"\n'
    )
    settings = load_settings({"SWAPDESK_PROFILE": "main"}, market.settings.home)
    private_directory(settings.places.root)
    write_private(settings.places.catalog, market.known)
    mine = ManualClock(market.clock.now() - SLOW)
    desk = Desk.open(settings, clock=mine, transport=market.network)
    await desk.connect(Connection(URL, FIRST, "first"), follow=False)
    try:
        tracked = await desk.link.tracker.read(made.service_id)
        # Half a minute after the deadline, which the machine has still to come to.
        mine.advance((made.expires - market.clock.now()).total_seconds() + 30)
        assert desk.clock.now() < made.expires < desk.service_clock.now()
        status = order_status(tracked, desk.service_clock.now())
        assert (status.word, status.payable) == ("Deadline over", False)
        assert desk.deposit_ways.refusal(tracked) is not None
        facts = facts_of(desk, made.service_id)
        assert support_case(facts).status.word == "Deadline over"
        # No event before its order.
        [event] = desk.journal.orders.history.beyond(0, 10)
        told = json.loads(document(event, withheld=None))
        assert told["timestamp"] >= told["data"]["order"]["created"]
        assert told["data"]["seenAt"] >= told["timestamp"]
    finally:
        await desk.close()


@pytest.mark.parametrize(
    ("facts", "at"),
    [
        ({"modified": NOW + 3 * MINUTE}, 3),
        # A service that keeps no time of changes, one that says none, and one that is ahead.
        ({"modified": NOW}, 9),
        ({"modified": None}, 9),
        ({"modified": NOW + 60 * MINUTE}, 9),
        ({"modified": NOW + 5 * MINUTE, "order_finished_received": NOW + 4 * MINUTE}, 4),
        ({"display_status": "WAITING_FOR_DEPOSIT", "modified": NOW}, 0),
        ({"display_status": "WAITING_FOR_DEPOSIT", "modified": NOW - MINUTE}, 0),
        ({"created": None, "modified": NOW + 3 * MINUTE}, 3),
    ],
)
def test_an_event_is_told_at_the_time_it_happened(facts: dict[str, Any], at: int) -> None:
    one = order(**{"display_status": "EXCHANGE_IN_PROGRESS", "in_status": 3, **facts})
    seen = NOW + 9 * MINUTE
    assert happened(one, seen) == NOW + at * MINUTE
    [update] = updates_of([(seen, "list", one)])
    assert (update.happened, update.at) == (NOW + at * MINUTE, seen)


PASSED = (
    (1, "WAITING_FOR_DEPOSIT", 1, 0),
    (21, "DEPOSIT_DETECTED", 2, 20),
    (24, "EXCHANGE_IN_PROGRESS", 3, 23),
)
"""Minute in which it was seen, state, leg, minute in which it was written."""


def followed(tmp_path: Path, *passed: tuple[int, str, int, int]) -> tuple[Journal, ManualClock]:
    clock = ManualClock(NOW)
    journal = Journal.open(tmp_path / "journal.db", clock)
    known = tracker_of(journal, clock)
    for seen, display, leg, written in passed:
        clock.advance((NOW + seen * MINUTE - clock.now()).total_seconds())
        # The time that the deposit took to come is added (contract 8.17).
        eta = 14 if leg == 1 else 34
        state = order(
            display_status=display, in_status=leg, modified=NOW + written * MINUTE, eta=eta
        )
        journal.orders.record([(sighted(known, state).order, "stream", False)])
    return journal, clock


def test_what_an_order_takes_counts_from_its_deposit(tmp_path: Path) -> None:
    journal, clock = followed(tmp_path, *PASSED)
    clock.advance(120)
    # By the tracker that saw it, and by a new start from the journal.
    known = tracker_of(journal, clock)
    [tracked] = known.orders()
    assert tracked.paid_at == NOW + 20 * MINUTE
    status = order_status(tracked, clock.now())
    assert (status.elapsed, status.expected, status.late_by) == (6 * MINUTE, 14 * MINUTE, None)
    assert status.time.text == "6m of ~14m"
    done = tracked.order.model_copy(
        update={
            "display_status": "SWAP_COMPLETED",
            "in_status": 5,
            "order_finished_received": NOW + 31 * MINUTE,
            "out_amount": None,
        }
    )
    over = sighted(tracker_of(journal, clock), done, "read")
    assert order_status(over, NOW + 40 * MINUTE).time.text == "took 11m"
    # One that says no other expected time than before means it from the deposit on.
    late = tracked.order.model_copy(update={"eta": 14})
    assert order_status(sighted(known, late, "read"), clock.now()).late_by is None
    legs = legs_of(tracked.order, journal.orders.events(tracked.service_id), clock.now())
    assert [step.at for step in legs[0].steps[1:3]] == [NOW + 20 * MINUTE, NOW + 23 * MINUTE]
    assert [one.at for one in recent_events(journal, 3)] == [
        NOW + minute * MINUTE for minute in (23, 20, 0)
    ]
    journal.close()


def test_a_deposit_that_nobody_saw_come_has_no_time(tmp_path: Path) -> None:
    journal, clock = followed(tmp_path, PASSED[2])
    known = tracker_of(journal, clock)
    [tracked] = known.orders()
    assert (tracked.paid_at, tracked.begun) == (None, NOW)
    journal.close()

"""States of an order: the table, what is displayed, and that nothing ever goes back."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rows import each_row
from sampling import examples
from service.orders_fixtures import START
from service.test_store import order
from swapdesk.service.orders.states import (
    TRANSITIONS,
    Route,
    allowed,
    display,
    next_rows,
    rank,
    way,
)
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.venues.adapter import LegReport
from swapdesk.wire.orders import DisplayStatus, LegStatus, OrderStatusCode

ROUTES: tuple[Route, ...] = ("standard", "private")


def test_the_table_is_the_one_decided() -> None:
    written = {
        -2: {-1, 0, 6, 8},
        -1: {0, 6, 8},
        0: {1, 5, 6, 8},
        1: {2, 6, 7},
        2: {3, 4, 6, 7},
        3: {4, 6, 7},
        4: set(),
        5: {7, 8},
        6: {7, 8},
        7: set(),
        8: set(),
    }
    assert {int(k): set(map(int, v)) for k, v in TRANSITIONS.items()} == written
    assert not allowed(2, 3, "standard")
    assert allowed(2, 3, "private")


@each_row(
    ("status", "in_status", "out_status", "route", "shown"),
    [
        (-2, 0, None, "standard", "WAITING_FOR_DEPOSIT"),
        (-1, 0, None, "standard", "WAITING_FOR_DEPOSIT"),
        (0, 1, None, "standard", "WAITING_FOR_DEPOSIT"),
        (1, 2, None, "standard", "DEPOSIT_DETECTED"),
        (2, 3, None, "standard", "EXCHANGE_IN_PROGRESS"),
        (2, 8, None, "standard", "EXCHANGE_IN_PROGRESS"),
        (2, 4, None, "standard", "SENDING_TO_RECEIVER"),
        (2, 3, 1, "private", "EXCHANGE_IN_PROGRESS"),
        (2, 4, 1, "private", "SENDING_TO_INTERMEDIARY"),
        (3, 5, 0, "private", "REACHED_INTERMEDIARY"),
        (3, 5, 1, "private", "REACHED_INTERMEDIARY"),
        (3, 5, 2, "private", "INITIATING_SECOND_EXCHANGE"),
        (3, 5, 3, "private", "SECOND_EXCHANGE_IN_PROGRESS"),
        (3, 5, 8, "private", "SECOND_EXCHANGE_IN_PROGRESS"),
        (3, 5, 4, "private", "SENDING_TO_RECEIVER"),
        (4, 5, 5, "private", "SWAP_COMPLETED"),
        (5, 9, None, "standard", "EXPIRED"),
        (6, 6, None, "standard", "FAILED"),
        (7, 7, None, "standard", "REFUNDED"),
        (8, 0, None, "standard", "DELETED"),
    ],
)
def test_what_is_displayed(
    status: int, in_status: int, out_status: int | None, route: Route, shown: str
) -> None:
    assert display(status, in_status, out_status, route) == shown


def test_ranks_follow_the_way_of_the_money() -> None:
    assert [display.value for display in sorted(DisplayStatus, key=rank)] == [
        "WAITING_FOR_DEPOSIT",
        "DEPOSIT_DETECTED",
        "EXCHANGE_IN_PROGRESS",
        "SENDING_TO_INTERMEDIARY",
        "REACHED_INTERMEDIARY",
        "INITIATING_SECOND_EXCHANGE",
        "SECOND_EXCHANGE_IN_PROGRESS",
        "SENDING_TO_RECEIVER",
        "SWAP_COMPLETED",
        "EXPIRED",
        "FAILED",
        "REFUNDED",
        "DELETED",
    ]


@each_row("route", ROUTES)
def test_every_way_keeps_to_the_table(route: Route) -> None:
    for before, after, deposited in product(OrderStatusCode, OrderStatusCode, (False, True)):
        passed = before
        for step in way(before, after, route, deposited=deposited):
            assert allowed(passed, step, route), (before, after, passed, step)
            passed = step
        assert passed in (before, after)


def test_a_seldom_asked_venue_still_gives_every_step() -> None:
    assert way(0, 4, "standard", deposited=True) == [1, 2, 4]
    assert way(0, 4, "private", deposited=True) == [1, 2, 3, 4]
    assert way(0, 7, "standard", deposited=True) == [1, 7]
    assert way(0, 6, "standard", deposited=False) == [6]
    assert way(5, 4, "standard", deposited=True) == []


HASHES = (None, "0xaa", "0xbb")
AMOUNTS = (None, Decimal("0.01"), Decimal("0.02"))
# Every report there is, so that one draw takes one.
reports = st.sampled_from(
    [
        LegReport(
            status=status,
            amount_out=amount,
            deposit_hash=deposit,
            payout_hash=payout,
            refund_hash=refund,
            deposit_arrived=arrived,
        )
        for status, amount, deposit, payout, refund, arrived in product(
            LegStatus, AMOUNTS, HASHES, HASHES, HASHES, (False, True)
        )
    ]
)
trace = st.lists(st.tuples(reports, reports, st.integers(0, 1200)), min_size=1, max_size=25)


@settings(max_examples=examples(1500), deadline=None)
@given(st.sampled_from(ROUTES), trace, st.sampled_from([None, "refund here"]))
def test_no_order_of_reports_ever_leads_back(
    route: Route, told: list[tuple[LegReport, LegReport, int]], refund: str | None
) -> None:
    now = START
    row = replace(
        order(1),
        route=route,
        status=0,
        in_status=1,
        out_status=1 if route == "private" else None,
        refund_address=refund,
    )
    history: list[StoredOrder] = [row]
    for first, second, seconds in told:
        now += timedelta(seconds=seconds)
        if row.due_at is None or row.status in (4, 7, 8):
            break
        for changed in next_rows(row, first, second if route == "private" else None, now):
            assert changed.rank >= row.rank
            assert changed.status == row.status or allowed(row.status, changed.status, route)
            assert changed.rank == rank(DisplayStatus(changed.display_status))
            assert (
                display(changed.status, changed.in_status, changed.out_status, route)
                == changed.display_status
            )
            row = changed
            history.append(row)
    for past in history:
        assert ("finished" in past.detail) == (past.status == OrderStatusCode.FINISHED)
        if past.status not in (OrderStatusCode.EXPIRED, OrderStatusCode.FAILED):
            assert past.detail.get("actionRequired") is not True
    assert {past.amount_in for past in history} == {history[0].amount_in}


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from(ROUTES), reports, reports)
def test_the_same_report_twice_changes_nothing_more(
    route: Route, first: LegReport, second: LegReport
) -> None:
    row = replace(order(1), route=route, status=0, in_status=1)
    out = second if route == "private" else None
    for changed in next_rows(row, first, out, START):
        row = changed
    again = next_rows(row, first, out, START + timedelta(seconds=5))
    assert again == [] or row.status in (4, 7)

"""Where the funds are when no single order is spoken of."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from flows.orders import NOW, intent, order
from swapdesk.clock import ManualClock
from swapdesk.flows.deposits.funds_location import AT_HOME, NOT_READ, funds_now, funds_of
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import DisplayStatus, LegStatus


def tracked(**changes: object) -> TrackedOrder:
    return TrackedOrder(order(**changes), intent(), None, False, NOW, "stream")


EXCHANGING = {
    "display_status": DisplayStatus.EXCHANGE_IN_PROGRESS.value,
    "in_status": LegStatus.EXCHANGING.value,
}


def test_orders_that_wait_for_their_deposit_hold_nothing() -> None:
    assert funds_of([]) == AT_HOME
    assert funds_of([tracked(), tracked()]) == AT_HOME


@pytest.mark.parametrize(
    ("count", "said", "short"), [(1, "1 open order", "1 order"), (2, "2 open orders", "2 orders")]
)
def test_open_orders_with_a_deposit_are_counted(count: int, said: str, short: str) -> None:
    found = funds_of([tracked(), *[tracked(**EXCHANGING)] * count])
    assert found.where == f"in your wallet, and in {said}; o shows where."
    assert found.short == f"also in {short}."


@pytest.mark.parametrize(
    ("open_", "stranded", "said", "short"),
    [
        (0, 1, "and in 1 order that needs you", "in 1 order that needs you"),
        (0, 2, "and in 2 orders that need you", "in 2 orders that need you"),
        (1, 1, "in 1 open order and in 1 order that needs you", "in 2 orders; 1 needs you"),
        (2, 3, "in 2 open orders and in 3 orders that need you", "in 5 orders; 3 need you"),
    ],
)
def test_an_ended_order_with_its_money_stuck_holds_it(
    open_: int, stranded: int, said: str, short: str
) -> None:
    found = funds_now([tracked(**EXCHANGING)] * open_, None, stranded)
    assert found.where == f"in your wallet, {said}; o shows where."
    assert found.short == f"also {short}."


def test_a_create_without_an_answer_is_told_with_the_funds() -> None:
    found = funds_now([], None, 0, 1)
    assert found.where == "in your wallet. An order may exist: the desk looks."
    two = funds_now([tracked(**EXCHANGING)], None, 0, 2)
    assert two.where.endswith("o shows where. 2 orders may exist: the desk looks.")


def test_orders_that_cannot_be_read_are_told_with_the_funds() -> None:
    found = funds_now([], None, skipped=1)
    assert found.where == "in your wallet. 1 order of the service cannot be read."
    both = funds_now([tracked(**EXCHANGING)], None, 0, 1, 2)
    assert both.short == (
        "also in 1 order. An order may exist: the desk looks."
        " 2 orders of the service cannot be read."
    )


def test_before_the_service_was_asked_an_open_order_may_hold_them(journal: Journal) -> None:
    assert funds_now(None, None) == NOT_READ
    assert funds_now(None, journal.orders) == AT_HOME
    journal.orders.record([(order(), "list", False)])
    found = funds_now(None, journal.orders)
    assert found.where == "in your wallet or in 1 open order, not asked yet."
    assert funds_now([], journal.orders) == AT_HOME, "the service was asked"
    again = [(order(service_id=f"m{number:021}"), "list", False) for number in range(1_199)]
    journal.orders.record(again)
    assert funds_now(None, journal.orders).short == "in your wallet or in 1,200 open orders."


def test_a_journal_that_cannot_be_read_tells_of_no_funds(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    journal = Journal.open(path, ManualClock(NOW))
    with sqlite3.connect(path) as other:
        other.execute("ALTER TABLE known_order RENAME TO lost")
    other.close()
    assert funds_now(None, journal.orders) == NOT_READ
    journal.close()

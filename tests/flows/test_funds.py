"""Where the funds are when no single order is spoken of."""

from __future__ import annotations

import pytest

from flows.orders import NOW, intent, order
from swapdesk.flows.deposits.funds import AT_HOME, funds_before_asking, funds_of
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


def test_before_the_service_was_asked_an_open_order_may_hold_them() -> None:
    assert funds_before_asking(0) == AT_HOME
    assert funds_before_asking(1).where == "in your wallet or in 1 open order, not asked yet."
    assert funds_before_asking(1_200).short == "in your wallet or in 1,200 open orders."

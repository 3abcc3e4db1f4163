"""Who acts next is counted over all orders without a sentence for each; the count agrees."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest

from flows.orders import NOW, order
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.journal.order_merge import display_of, ended
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.tracking.open_business import waits_for_you
from swapdesk.wire.orders import DisplayStatus, LegStatus

STATES = [one.value for one in DisplayStatus if not ended(one.value)] + [None, "SOMETHING_NEW"]


@pytest.mark.parametrize("standing", list(DepositRelease))
def test_you_are_counted_where_the_summary_names_you(standing: DepositRelease) -> None:
    counted = 0
    for display, leg, address, expires, hidden in product(
        STATES,
        [None, *LegStatus],
        [None, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"],
        [None, NOW - timedelta(minutes=1), NOW + timedelta(minutes=9)],
        [None, "The address is hidden."],
    ):
        one = order(
            display_status=display, in_status=leg, deposit_address=address, expires=expires,
            status=None, anonymous=True,
        )  # fmt: skip
        tracked = TrackedOrder(one, None, hidden, False, NOW, "list", standing=standing)
        assert not ended(display_of(one))
        named = order_status(tracked, NOW).actor == "you"
        assert waits_for_you(tracked, NOW) is named, (display, leg, address, expires, hidden)
        counted += named
    assert counted

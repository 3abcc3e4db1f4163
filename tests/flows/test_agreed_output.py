"""An estimate that falls before the deposit is asked about; one that moves a little is not."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from flows.following import sighted, tracker_of
from flows.orders import created_here, intent, order
from swapdesk.clock import ManualClock
from swapdesk.flows.creation.minimum_received import agreed_output, lower_output, moved_output
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_records import Source
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.tracking.tracking import Tracker
from swapdesk.wire.orders import DisplayStatus, LegStatus

CONFIRMED = Decimal("14.524108")
HALF = Decimal("7.262054")


class Known(Struct):
    """One released order of this desk, and what the service says of it next."""

    path: Path
    journal: Journal
    orders: Tracker

    @property
    def now(self) -> TrackedOrder:
        return self.orders.get(order().service_id)

    def seen(self, source: Source = "stream", **changes: Any) -> TrackedOrder:
        after = sighted(self.orders, order(**changes), source)
        self.journal.orders.record([(after.order, source, after.ended)])
        return after

    def accept(self, amount: Decimal) -> TrackedOrder:
        self.journal.orders.accept_output(order().service_id, amount)
        self.orders.adopt(order().service_id)
        return self.now

    def restarted(self) -> TrackedOrder:
        return tracker_of(self.journal).get(order().service_id)


@pytest.fixture
def known(path: Path, journal: Journal, clock: ManualClock) -> Known:
    created_here(journal, order())
    return Known(path, journal, tracker_of(journal, clock))


def test_a_fall_hides_the_address_until_it_is_accepted(known: Known) -> None:
    assert known.now.withheld is None
    fallen = known.seen(out_amount=CONFIRMED * Decimal("0.97"))
    assert fallen.standing is DepositRelease.LOWER
    assert fallen.withheld == (
        "This order gives 3.00% less than you confirmed."
        " The address stays hidden until you accept that."
    )
    assert known.restarted().withheld == fallen.withheld
    asked = lower_output(fallen)
    assert asked.said[0] == (
        "This order gives 14.088384 ETH: 3.00% less than the 14.524108 ETH you confirmed."
    )
    accepted = known.accept(asked.given)
    assert (accepted.standing, accepted.withheld) == (DepositRelease.RELEASED, None)
    assert known.restarted().accepted == asked.given
    assert known.seen(out_amount=asked.given).withheld is None


def test_a_further_fall_is_asked_about_against_what_was_accepted(known: Known) -> None:
    known.seen(out_amount=HALF)
    known.accept(HALF)
    again = known.seen(out_amount=HALF * Decimal("0.9"))
    assert "10.00% less than you accepted" in (again.withheld or "")


def test_many_small_falls_are_one_large_fall(known: Known) -> None:
    amount = CONFIRMED
    for _ in range(3):
        amount *= Decimal("0.996")
        known.seen(out_amount=amount)
    assert known.now.standing is DepositRelease.LOWER


def test_what_is_accepted_is_what_was_shown(known: Known) -> None:
    shown = known.seen(out_amount=CONFIRMED * Decimal("0.97")).order.out_amount
    known.seen(out_amount=HALF)
    assert known.accept(shown).standing is DepositRelease.LOWER


@pytest.mark.parametrize("out", ["0.995", "1", "1.2"])
def test_within_the_tolerance_nothing_is_asked(known: Known, out: str) -> None:
    after = known.seen(out_amount=CONFIRMED * Decimal(out))
    assert after.withheld is None
    assert moved_output(after) == (None if out == "1" else CONFIRMED)


def test_an_estimate_that_comes_back_shows_the_address_again(known: Known) -> None:
    known.seen(out_amount=HALF)
    assert known.seen(out_amount=CONFIRMED).standing is DepositRelease.RELEASED
    assert known.restarted().withheld is None


def test_after_the_deposit_nothing_is_asked(known: Known) -> None:
    paid = {"display_status": DisplayStatus.DEPOSIT_DETECTED.value, "status": 1}
    after = known.seen(out_amount=HALF, in_status=LegStatus.CONFIRMING, **paid)
    assert after.withheld is None
    assert lower_output(after) is None


def test_a_deposit_that_was_on_its_way_ends_the_question(known: Known) -> None:
    known.seen(out_amount=HALF)
    paid = {"display_status": DisplayStatus.DEPOSIT_DETECTED.value, "status": 1}
    assert (
        known.seen("read", out_amount=HALF, in_status=2, **paid).standing is DepositRelease.RELEASED
    )


def test_a_contradiction_is_never_accepted(known: Known) -> None:
    known.seen(out_amount=HALF)
    known.seen(deposit_address="bc1qother")
    assert known.accept(HALF).standing is DepositRelease.CONTRADICTS
    assert known.restarted().accepted is None
    assert known.seen(out_amount=CONFIRMED).standing is DepositRelease.CONTRADICTS


def test_two_desks_of_one_home_agree_on_what_was_accepted(known: Known) -> None:
    fallen = order(out_amount=HALF)
    other_journal = Journal.open(known.path, ManualClock())
    other = tracker_of(other_journal)
    known.seen(out_amount=HALF)
    known.accept(HALF)
    seen = sighted(other, fallen)
    assert (seen.withheld, seen.accepted) == (None, HALF)
    other_journal.close()


def test_a_journal_that_takes_nothing_still_hides_and_shows_nothing(known: Known) -> None:
    known.journal.close()
    assert sighted(known.orders, order(out_amount=HALF)).standing is DepositRelease.LOWER
    assert sighted(known.orders, order()).standing is DepositRelease.LOWER


def test_what_was_agreed_to_is_the_better_word_of_the_quote() -> None:
    confirmed = intent(amount_out=Decimal(2), net_amount_out=Decimal(1))
    assert agreed_output(confirmed) == 2
    assert agreed_output(confirmed, Decimal("1.5")) == Decimal("1.5")

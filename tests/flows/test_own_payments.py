"""The tracker knows what this desk sent for an order before the service says that it saw it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.following import announced, sighted, tracker_of
from flows.orders import NOW, created_here, order
from flows.test_deposit_hash import HASH, OTHER
from swapdesk.cli.order_reports import deposit_of, order_facts
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.outgoing_writes import PAYMENT, WALLET_PAYMENT
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.tracking.tracking import Tracker

ID = order().service_id


@pytest.fixture
def journal(journal: Journal) -> Journal:
    created_here(journal, order())
    return journal


def said(known: Tracker) -> OrderStatus:
    tracked = known.get(ID)
    return order_status(tracked, NOW)


@pytest.mark.parametrize("place", [PAYMENT, WALLET_PAYMENT])
def test_what_another_program_of_this_home_pays_is_not_asked_for(
    journal: Journal, path: Path, place: str
) -> None:
    known = tracker_of(journal)
    assert said(known).payable
    other = Journal.open(path, ManualClock(NOW)).calls
    call = other.add_payment(ID, b"{}", path=place)
    assert announced(known) == []
    other.mark_signed(call, HASH)
    assert announced(known) == [ID]
    assert announced(known) == []
    assert (said(known).word, said(known).actor, said(known).payable) == (
        "Paid by you", "the service", False,
    )  # fmt: skip
    assert said(known).money == f"on its way to the deposit address, by transaction {HASH}."
    assert said(tracker_of(journal)).word == "Paid by you"
    tracked = known.get(ID)
    # Whoever tells it without having read its transactions asks for no second payment.
    assert deposit_of(tracked, NOW) is None
    assert "Pay" not in dict(order_facts(tracked, NOW))


def test_a_payment_that_failed_leaves_the_order_to_be_paid(journal: Journal) -> None:
    known = tracker_of(journal)
    call = journal.calls.add_payment(ID, b"{}", path=WALLET_PAYMENT)
    journal.calls.mark_signed(call, HASH)
    assert announced(known) == [ID]
    journal.calls.mark_refused(call, code="FAILED", hash_=HASH)
    assert announced(known) == [ID]
    assert said(known).payable
    again = journal.calls.add_payment(ID, b"{}", path=WALLET_PAYMENT)
    journal.calls.mark_signed(again, OTHER)
    journal.calls.mark_done(again, status=200, request_id=None, hash_=OTHER)
    assert announced(known) == [ID]
    assert said(known).money == f"at the deposit address, by transaction {OTHER}."


def test_a_sighting_keeps_what_was_paid_until_the_service_saw_it(journal: Journal) -> None:
    known = tracker_of(journal)
    journal.calls.mark_signed(journal.calls.add_payment(ID, b"{}", path=WALLET_PAYMENT), HASH)
    known.look_at_payments()
    sighted(known, order(eta=7))
    assert said(known).word == "Paid by you"
    sighted(known, order(display_status="DEPOSIT_DETECTED", in_status=2))
    assert said(known).word != "Paid by you"
    asked: list[str] = []
    journal._file._connection.set_trace_callback(asked.append)
    assert announced(known) == []
    assert asked == []

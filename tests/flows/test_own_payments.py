"""The tracker knows what this desk sent for an order before the service says that it saw it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.orders import NOW, created_here, order
from flows.test_deposit_hash import HASH, OTHER
from swapdesk.cli.order_document import deposit_of, order_facts
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.outgoing_writes import PAYMENT, WALLET_PAYMENT
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.tracking.known_orders import KnownOrders

ID = order().service_id


@pytest.fixture
def journal(journal: Journal) -> Journal:
    created_here(journal, order())
    return journal


def followed(journal: Journal) -> KnownOrders:
    known = KnownOrders(journal, ManualClock(NOW))
    known.load_newest()
    return known


def said(known: KnownOrders) -> OrderStatus:
    tracked = known.get(ID)
    assert tracked is not None
    return order_status(tracked, NOW)


@pytest.mark.parametrize("place", [PAYMENT, WALLET_PAYMENT])
def test_what_another_program_of_this_home_pays_is_not_asked_for(
    journal: Journal, path: Path, place: str
) -> None:
    known = followed(journal)
    assert said(known).payable
    other = Journal.open(path, ManualClock(NOW)).calls
    call = other.add_payment(ID, b"{}", path=place)
    assert known.look_at_payments() == []
    other.mark_signed(call, HASH)
    assert known.look_at_payments() == [ID]
    assert known.look_at_payments() == []
    assert (said(known).word, said(known).actor, said(known).payable) == (
        "Paid by you", "the service", False,
    )  # fmt: skip
    assert said(known).money == f"on its way to the deposit address, by transaction {HASH}."
    assert said(followed(journal)).word == "Paid by you"
    tracked = known.get(ID)
    assert tracked is not None
    # Whoever tells it without having read its transactions asks for no second payment.
    assert deposit_of(tracked, NOW) is None
    assert "Pay" not in dict(order_facts(tracked, NOW))


def test_a_payment_that_failed_leaves_the_order_to_be_paid(journal: Journal) -> None:
    known = followed(journal)
    call = journal.calls.add_payment(ID, b"{}", path=WALLET_PAYMENT)
    journal.calls.mark_signed(call, HASH)
    assert known.look_at_payments() == [ID]
    journal.calls.mark_refused(call, code="FAILED", hash_=HASH)
    assert known.look_at_payments() == [ID]
    assert said(known).payable
    again = journal.calls.add_payment(ID, b"{}", path=WALLET_PAYMENT)
    journal.calls.mark_signed(again, OTHER)
    journal.calls.mark_done(again, status=200, request_id=None, hash_=OTHER)
    assert known.look_at_payments() == [ID]
    assert said(known).money == f"at the deposit address, by transaction {OTHER}."


def test_a_sighting_keeps_what_was_paid_until_the_service_saw_it(journal: Journal) -> None:
    known = followed(journal)
    journal.calls.mark_signed(journal.calls.add_payment(ID, b"{}", path=WALLET_PAYMENT), HASH)
    known.look_at_payments()
    waiting = known.see(order(eta=7), "stream", known.get(ID)).order
    assert waiting is not None
    known.put(waiting)
    assert said(known).word == "Paid by you"
    arrived = order(display_status="DEPOSIT_DETECTED", in_status=2)
    seen = known.see(arrived, "stream", known.get(ID)).order
    assert seen is not None
    known.put(seen)
    assert said(known).word != "Paid by you"
    asked: list[str] = []
    journal._file._connection.set_trace_callback(asked.append)
    assert known.look_at_payments() == []
    assert asked == []

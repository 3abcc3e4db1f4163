"""Questions about all orders: what an index answers is what reading every order would."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flows import old_journals
from flows.orders import NOW, RECIPIENT, created_here, order
from swapdesk.clock import ManualClock
from swapdesk.flows.intents.intent import UNREPEATED, DepositRelease, ReleaseVerdict
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.order_index import OrderIndex, PaidRecipient
from swapdesk.wire.orders import Order

DONE = {"display_status": "SWAP_COMPLETED", "status": 4, "action_required": False}
LATER = NOW + timedelta(minutes=9)


def seen(journal: Journal, name: str, *, ended: bool = True, **values: Any) -> Order:
    one = order(service_id=f"{name:a<22}", deposit_address=None, **values)
    journal.orders.record([(one, "list", ended)])
    return one


def test_only_what_was_completed_and_confirmed_is_past(journal: Journal) -> None:
    past = [
        seen(journal, "past", **DONE),
        seen(journal, "silent", **{**DONE, "action_required": None}),
    ]
    present = [
        seen(journal, "open", ended=False),
        seen(journal, "told", ended=False, **DONE),
        seen(journal, "flagged", **{**DONE, "action_required": True}),
        seen(journal, "expired", display_status="EXPIRED", status=5),
        seen(journal, "failed", display_status="FAILED", status=6, action_required=False),
        seen(journal, "refunded", display_status="REFUNDED", status=7),
        seen(journal, "unknown", display_status="SOMETHING_NEW", status=None),
    ]
    names = {one.service_id for one in present}
    assert set(journal.orders.index.present()) == names
    assert {one.order.service_id for one in journal.orders.present()} == names
    assert journal.orders.index.ids() == names | {one.service_id for one in past}
    assert journal.orders.index.count_open() == 2


def test_a_state_told_by_its_number_alone_counts_as_shown(journal: Journal) -> None:
    """As an order is shown by ``status`` where the service names no ``displayStatus``."""
    done = order(service_id="n" * 22, display_status=None, status=4, modified=LATER)
    created_here(journal, done)
    journal.orders.record([(done, "list", True)])
    assert journal.orders.index.count_open() == 0
    assert journal.orders.index.present() == []
    assert journal.orders.index.paid_recipients() == [PaidRecipient(RECIPIENT, 1, LATER)]


def test_what_cannot_be_read_is_kept_in_view(journal: Journal, path: Path) -> None:
    one = seen(journal, "damaged", **DONE)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE known_order SET last = 'no order', standing = 'released'")
        db.execute("UPDATE known_order SET intent_id = 'i'")
    index = journal.orders.index
    assert index.present() == [one.service_id]
    assert index.paid_recipients() == []
    assert index.released_deposits() == frozenset()
    assert index.created_before(LATER) == set()


def test_past_orders_are_told_by_many_pages(journal: Journal) -> None:
    names = {seen(journal, f"open{number:03d}", ended=False).service_id for number in range(250)}
    assert [one.order.service_id for one in journal.orders.present()] == sorted(names)


def test_who_was_paid_how_often_and_when_last(journal: Journal) -> None:
    first = {**DONE, "modified": LATER}
    finished = {**DONE, "order_finished_received": LATER + timedelta(minutes=1), "modified": NOW}
    for at, values in enumerate((first, finished, {**DONE, "modified": None})):
        created_here(journal, order(service_id=f"{at:022d}", **values))
    created_here(journal, order(service_id="b" * 22))
    seen(journal, "foreign", **DONE)
    (paid,) = journal.orders.index.paid_recipients()
    assert paid == PaidRecipient(RECIPIENT, 3, LATER + timedelta(minutes=1))


def test_an_order_is_looked_for_until_the_service_repeats_it(journal: Journal) -> None:
    created_here(journal, order(), verdict=UNREPEATED)
    seen(journal, "foreign")
    assert [one.order for one in journal.orders.unrepeated()] == [order()]
    journal.orders.settle(order().service_id, ReleaseVerdict(DepositRelease.RELEASED, None))
    assert journal.orders.unrepeated() == []


def test_orders_of_before_are_those_the_service_made_before(journal: Journal) -> None:
    early = seen(journal, "early", created=NOW - timedelta(milliseconds=1))
    seen(journal, "same", created=NOW)
    seen(journal, "silent", created=None)
    assert journal.orders.index.created_before(NOW) == {early.service_id}


NAMES = {
    "deposit_address": "0xAb" + "1" * 38,
    "receiver_address": "0xAb" + "2" * 38,
    "refund_address": "0xAb" + "3" * 38,
    "intermediate_refund_address": "0xAb" + "4" * 38,
    "in_transaction_out_hash": "0xAb" + "5" * 62,
    "out_transaction_out_hash": "0xAb" + "6" * 62,
    "refund_hash": "0xAb" + "7" * 62,
    "hash_url": "https://explorer.example/tx/0xAb" + "8" * 62,
}


@pytest.mark.parametrize("name", NAMES)
def test_an_order_made_elsewhere_is_found_by_what_the_service_says(
    journal: Journal, name: str
) -> None:
    seen(journal, "silent")
    journal.orders.record([(order(service_id="foreignOne", **NAMES), "list", False)])
    told = NAMES[name].rpartition("/")[2]
    for part in (told, told.lower(), told[-12:].upper()):
        assert journal.orders.index.named(part) == {"foreignOne"}
    assert journal.orders.index.named("%") == journal.orders.index.named("0xab_") == frozenset()


def test_orders_are_found_by_what_this_desk_did_for_them(path: Path) -> None:
    old_journals.written(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE step SET request_id = 'req-of-step' WHERE name = 'create'")
        db.execute("UPDATE batch_group SET request_id = 'req-of-group' WHERE number = 1")
        db.commit()
    journal = Journal.open(path, ManualClock(NOW))
    named = journal.orders.index.named
    for service_id, made in journal.transactions.all().items():
        for one in made:
            assert service_id in named(one.hash)
    assert named("0x" + "b2" * 32) == {"oldDexSwap12345"}
    assert "oldDexSwap12345" in named("of-step")
    assert named("REQ-OF-GROUP") == {"oldBatchRow0001", "oldBatchRow0002"}
    call = journal.calls.add_payment("paidByHand", b"{}")
    journal.calls.mark_done(call, status=200, request_id="req-of-call", hash_="0xfeed")
    assert named("of-call") == named("feed") == {"paidByHand"}
    journal.close()


def test_an_order_is_found_by_a_deposit_the_service_named_before(journal: Journal) -> None:
    with journal._file.write() as db:
        db.execute("INSERT INTO told_deposit VALUES ('toldOne', 'Fa' || '9d')")
    assert journal.orders.index.named("fa9d") == {"toldOne"}


@pytest.mark.parametrize(
    ("ask", "index"),
    [
        (OrderIndex.count_open, "INDEX known_order_present"),
        (OrderIndex.present, "INDEX known_order_present"),
        (OrderIndex.unrepeated, "INDEX known_order_unrepeated"),
        (OrderIndex.paid_recipients, "INDEX known_order_paid"),
        (OrderIndex.released_deposits, "INDEX known_order_released"),
        (lambda one: one.of_others("i"), "INDEX known_order_by_intent"),
        (lambda one: one.named("x"), "INDEX known_order_named"),
    ],
)
def test_no_order_is_read_for_an_answer(
    path: Path, ask: Callable[[OrderIndex], object], index: str
) -> None:
    """A question in other words than its index has would read every order."""
    journal = Journal.open(path, ManualClock(NOW))
    seen(journal, "one")
    asked: list[str] = []
    file = journal._file
    file._connection.set_trace_callback(asked.append)
    ask(journal.orders.index)
    journal.close()
    with closing(sqlite3.connect(path)) as db:
        (query,) = asked
        plan = " ".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}"))
    assert re.search(rf"{index}\b", plan), plan

"""Orders on their way into the journal: in a thread, newest only, bounded, ends after commits.

Figures of orders under way are written later: nothing is lost by that, not even by a kill. Of all
orders an index answers what reading every one of them would.
"""

from __future__ import annotations

import asyncio
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from flows import old_journals
from flows.following import tracker_of
from flows.orders import NOW, RECIPIENT, created_here, order
from patience import PATIENCE, eventually
from rows import each_row
from swapdesk.background import BackgroundTasks, Defect
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.order_log import FIRST_EVENTS, NEWEST_EVENTS, OrderLog, PaidRecipient
from swapdesk.flows.orders.order_merge import FIGURES, PROGRESS, only_volatile_fields
from swapdesk.flows.payments import begin_payment, end_payment
from swapdesk.flows.tracking.order_writes import (
    FIGURES_SECONDS,
    FLUSH_SECONDS,
    SLICE,
    OrderWrites,
    Writing,
)
from swapdesk.flows.tracking.tracking import LOAD_STEP
from swapdesk.wire.orders import DisplayStatus, Order

NAME = order().service_id


def under_way(minutes: float = 0, **changes: Any) -> Order:
    facts = {"status": 2, "display_status": "EXCHANGE_IN_PROGRESS", "in_status": 3}
    return order(modified=NOW + timedelta(minutes=minutes), **{**facts, **changes})


class Kept:
    """The writes of a desk, what it was told, and a log that notes its slices and threads.
    ``before`` comes before each slice is written."""

    def __init__(self, journal: Journal) -> None:
        self.journal, self.clock = journal, ManualClock(NOW)
        self.told: list[str] = []
        self.sizes: list[int] = []
        self.threads: set[int] = set()
        self.defects: list[Defect] = []
        self.before: Callable[[], object] = lambda: None
        self.writes = OrderWrites(
            self,  # type: ignore[arg-type]
            self.clock,
            self.written,
            BackgroundTasks(self.clock, self.defects.append),
        )

    def written(self, ids: Iterable[str]) -> None:
        self.told += ids

    def record(self, orders: Any) -> None:
        given = list(orders)
        self.sizes.append(len(given))
        self.threads.add(threading.get_ident())
        self.before()
        self.journal.order_writer().record(given)

    def put(self, state: Order) -> None:
        self.writes.put(Writing(state, "stream", False))

    def put_figures(self, minutes: float, amount: int, **changes: Any) -> None:
        state = under_way(minutes, out_amount=Decimal(amount), **changes)
        self.writes.put_figures(Writing(state, "stream", False))

    @property
    def order(self) -> Order:
        return self.journal.orders.get(NAME).order

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let commits come due."""

        def look() -> bool:
            self.clock.advance(FLUSH_SECONDS)
            return condition()

        await eventually(look)


@pytest.fixture
def kept(journal: Journal) -> Kept:
    return Kept(journal)


async def test_what_changes_while_others_are_written_is_written_once(kept: Kept) -> None:
    names = [f"{number:022}" for number in range(3 * SLICE)]
    first, last = names[0], names[-1]

    def written(ids: Iterable[str]) -> None:
        if not kept.told:
            # One that is written already, and one that still waits.
            for name in (first, last):
                kept.put(under_way(1, service_id=name, eta=Decimal(99)))
        kept.written(ids)

    kept.writes._written = written
    for name in names:
        kept.put(under_way(service_id=name))
    assert await kept.writes.flush()
    assert kept.told == names
    assert kept.journal.orders.get(last).order.eta == Decimal(99)
    assert len(kept.journal.orders.history.of(last)) == 1
    assert list(kept.writes.pending) == [first]
    assert threading.get_ident() not in kept.threads


async def test_a_defect_loses_no_order(kept: Kept) -> None:
    def broken() -> None:
        if len(kept.sizes) == 1:
            raise RuntimeError("planted")

    kept.before = broken
    for name in ("a" * 22, "b" * 22):
        kept.put(order(service_id=name))
    kept.writes.schedule()
    await kept.until(lambda: len(kept.told) == 2)
    assert sorted(kept.told) == ["a" * 22, "b" * 22]
    assert [defect.task for defect in kept.defects] == ["writing orders down"]
    await kept.writes.finish()


async def test_a_journal_that_takes_nothing_is_asked_again(kept: Kept) -> None:
    def locked() -> None:
        if len(kept.sizes) == 1:
            raise JournalUnavailable("the file is locked")

    kept.before = locked
    kept.put(order())
    assert not await kept.writes.flush()
    assert (list(kept.writes.pending), kept.told) == ([NAME], [NAME])
    assert await kept.writes.flush()
    assert not kept.writes.pending


# What waits when the desk ends


def left_open(kept: Kept) -> list[str]:
    """Orders of three slices and a half that are known, with newer states and figures that wait."""
    names = [f"{number:022}" for number in range(3 * SLICE + SLICE // 2)]
    kept.journal.orders.record([(under_way(service_id=name), "list", False) for name in names])
    for at, name in enumerate(names):
        if at < SLICE:
            kept.put(under_way(1, service_id=name, out_amount=Decimal(77)))
        else:
            kept.put_figures(1, 77, service_id=name)
    return names


def with_newest(kept: Kept, names: list[str]) -> list[bool]:
    return [kept.journal.orders.get(name).order.out_amount == 77 for name in names]


@pytest.mark.parametrize("waited_for", [True, False])
async def test_leaving_writes_in_steps_and_the_loop_goes_on(kept: Kept, waited_for: bool) -> None:
    names = left_open(kept)
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert go_on.wait(PATIENCE)

    kept.before = wait
    finishing = asyncio.create_task(kept.writes.finish())
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    # The first slice is not written yet, and this runs on the loop.
    assert with_newest(kept, names) == [False] * len(names)
    if not waited_for:
        finishing.cancel()
    go_on.set()
    await asyncio.gather(finishing, return_exceptions=True)
    assert finishing.cancelled() is not waited_for
    assert all(with_newest(kept, names))
    if waited_for:
        assert kept.sizes == [SLICE, SLICE, SLICE, SLICE // 2]
        assert threading.get_ident() not in kept.threads
    # What comes after the end is not begun.
    kept.put(under_way(2))
    kept.writes.schedule()
    assert "writing orders down" not in [task.get_name() for task in asyncio.all_tasks()]


async def test_what_ends_in_the_middle_leaves_whole_slices(kept: Kept) -> None:
    def full() -> None:
        if len(kept.sizes) > 2:
            raise JournalUnavailable("the disk is full")

    names = left_open(kept)
    kept.before = full
    await kept.writes.finish()
    assert with_newest(kept, names) == [True] * 2 * SLICE + [False] * (len(names) - 2 * SLICE)
    assert kept.journal.orders.ids() == set(names)


# Figures


@each_row("name", sorted(Order.model_fields.keys() - {"service_id"}))
def test_only_what_the_service_states_again_is_a_figure(name: str) -> None:
    after = under_way().model_copy(update={name: "another"})
    figure = name in FIGURES and name != "display_status"
    assert only_volatile_fields(under_way(), after) == figure


@each_row("display", [*DisplayStatus, "A_NEW_WORD", None])
def test_figures_wait_only_while_an_order_is_under_way(display: str | None) -> None:
    known = under_way(display_status=display, status=None)
    seen = known.model_copy(update={"out_amount": Decimal(9)})
    assert only_volatile_fields(known, seen) == (
        display in PROGRESS and display != DisplayStatus.WAITING_FOR_DEPOSIT
    )


@pytest.fixture
def known(kept: Kept) -> Kept:
    """With an order under way."""
    kept.journal.orders.record([(under_way(), "list", False)])
    return kept


async def test_figures_are_told_at_once_and_written_together_later(known: Kept) -> None:
    for at in range(1, 6):
        known.put_figures(at, at)
        assert await known.writes.flush()
    assert known.told == [NAME] * 5
    assert known.order.out_amount == under_way().out_amount
    known.writes.schedule()
    await asyncio.sleep(0)
    known.clock.advance(FIGURES_SECONDS)
    await asyncio.sleep(0)
    await known.until(lambda: known.order.out_amount == 5)
    assert len(known.journal.orders.history.of(NAME)) == 2
    assert not known.writes.waiting(NAME)


async def test_the_first_of_many_figures_decides_when_they_are_written(known: Kept) -> None:
    known.put_figures(1, 1)
    known.writes.schedule()
    await asyncio.sleep(0)
    known.clock.advance(FIGURES_SECONDS - 1)
    known.put_figures(2, 2)
    await asyncio.sleep(0)
    assert not known.writes.pending
    known.clock.advance(1)
    await eventually(lambda: bool(known.writes.pending))
    await known.writes.finish()


async def test_another_state_takes_its_figures_along_at_once(known: Kept) -> None:
    known.put_figures(1, 1)
    over = under_way(2, out_amount=Decimal(2), status=4, display_status="SWAP_COMPLETED")
    known.writes.put(Writing(over, "read", True))
    # Its end is told once the journal has it, and its figures of before are told no more.
    known.writes.schedule()
    assert known.told == []
    assert await known.writes.flush()
    assert (known.told, known.order) == ([NAME], over)
    known.clock.advance(2 * FIGURES_SECONDS)
    assert await known.writes.flush()
    assert known.order == over
    await known.writes.finish()


async def test_figures_of_a_state_that_waits_go_with_it(known: Kept) -> None:
    moved = {"display_status": "SENDING_TO_RECEIVER"}
    known.put(under_way(1, **moved))
    known.put_figures(2, 7, **moved)
    assert await known.writes.flush()
    assert known.order.out_amount == Decimal(7)
    assert not known.writes.waiting(NAME)


# What the journal makes of them


def test_the_history_keeps_the_first_and_the_newest_states(journal: Journal) -> None:
    many = FIRST_EVENTS + NEWEST_EVENTS + 200
    journal.order_writer().record(
        (under_way(at, out_amount=Decimal(at + 1)), "stream", False) for at in range(many)
    )
    kept = [seen.out_amount for _, _, seen in journal.orders.history.of(NAME)]
    assert len(kept) <= FIRST_EVENTS + NEWEST_EVENTS + 20
    assert kept[:FIRST_EVENTS] == [Decimal(at + 1) for at in range(FIRST_EVENTS)]
    assert kept[-NEWEST_EVENTS:] == [Decimal(at + 1) for at in range(many - NEWEST_EVENTS, many)]


def test_a_contradiction_is_found_although_nothing_is_read_again(journal: Journal) -> None:
    log = journal.order_writer()
    log.record([(order(), "list", False)])
    for seen in (order(receiver_address="0x" + "9" * 40), order(status=1)):
        log.record([(seen, "stream", False)])
        kept = journal.orders.get(NAME)
        assert kept.order.receiver_address == order().receiver_address
        assert "another recipient" in (kept.withheld or "")


def test_a_desk_that_is_behind_adds_no_state_after_a_newer_one(journal: Journal) -> None:
    """Two desks watch one order: a receiver of webhooks was told last that it is on its way."""
    sending = order(display_status="SENDING_TO_RECEIVER", status=4, in_status=4)
    over = order(display_status="SWAP_COMPLETED", status=4, in_status=5)
    for seen in (order(), over, sending):
        journal.order_writer().record([(seen, "stream", seen is over)])
    told = [each.display_status for _, _, each in journal.orders.history.of(NAME)]
    assert told == [order().display_status, "SWAP_COMPLETED"]


async def test_the_past_is_read_in_steps_and_knows_the_same(journal: Journal) -> None:
    count = LOAD_STEP * 2 + 5
    journal.orders.record(
        (order(service_id=f"m{at:021}"), "list", at % 2 == 0) for at in range(count)
    )
    in_steps = tracker_of(journal, loaded=False)
    breaths = 0

    async def breathe() -> None:
        nonlocal breaths
        while in_steps.count < count:
            breaths += 1
            await asyncio.sleep(0)

    await asyncio.gather(in_steps.load_past(), breathe())
    known = {one.service_id: one.order for one in in_steps.known()}
    assert known == {entry.order.service_id: entry.order for entry in journal.orders.each()}
    assert len(known) == count
    assert in_steps.past_known
    assert breaths >= 2


# Questions about all orders

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
    assert {one.order.service_id for one in journal.orders.present()} == names
    assert journal.orders.ids() == names | {one.service_id for one in past}
    assert journal.orders.count_open() == 2


def test_a_state_told_by_its_number_alone_counts_as_shown(journal: Journal) -> None:
    """As an order is shown by ``status`` where the service names no ``displayStatus``."""
    done = order(service_id="n" * 22, display_status=None, status=4, modified=LATER)
    created_here(journal, done)
    journal.orders.record([(done, "list", True)])
    assert journal.orders.count_open() == 0
    assert list(journal.orders.present()) == []
    assert journal.orders.paid_recipients() == [PaidRecipient(RECIPIENT, 1, LATER)]


def test_what_cannot_be_read_is_kept_in_view(journal: Journal, path: Path) -> None:
    one = seen(journal, "damaged", **DONE)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("UPDATE orders SET last = 'no order', standing = 'released'")
        db.execute("UPDATE orders SET operation = 'i'")
    index = journal.orders
    assert [each.service_id for each in journal.orders.present()] == [one.service_id]
    assert index.paid_recipients() == []
    assert index.released_deposits() == frozenset()
    assert index.created_before(LATER) == set()


def test_past_orders_are_told_by_many_pages(journal: Journal) -> None:
    names = {seen(journal, f"open{number:03d}", ended=False).service_id for number in range(250)}
    assert sorted(one.service_id for one in journal.orders.present()) == sorted(names)


def test_who_was_paid_how_often_and_when_last(journal: Journal) -> None:
    first = {**DONE, "modified": LATER}
    finished = {**DONE, "order_finished_received": LATER + timedelta(minutes=1), "modified": NOW}
    for at, values in enumerate((first, finished, {**DONE, "modified": None})):
        created_here(journal, order(service_id=f"{at:022d}", **values))
    created_here(journal, order(service_id="b" * 22))
    seen(journal, "foreign", **DONE)
    (paid,) = journal.orders.paid_recipients()
    assert paid == PaidRecipient(RECIPIENT, 3, LATER + timedelta(minutes=1))


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


@each_row("name", NAMES)
def test_an_order_made_elsewhere_is_found_by_what_the_service_says(
    journal: Journal, name: str
) -> None:
    seen(journal, "silent")
    journal.orders.record([(order(service_id="foreignOne", **NAMES), "list", False)])
    told = NAMES[name].rpartition("/")[2]
    for part in (told, told.lower(), told[-12:].upper()):
        assert journal.orders.named(part) == {"foreignOne"}
    assert journal.orders.named("%") == journal.orders.named("0xab_") == frozenset()


def test_orders_are_found_by_what_this_desk_did_for_them(path: Path) -> None:
    old_journals.written(path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE step SET request_id = 'req-of-step' WHERE name = 'create'")
        db.execute("UPDATE batch_group SET request_id = 'req-of-group' WHERE number = 1")
        db.commit()
    journal = Journal.open(path, ManualClock(NOW))
    named = journal.orders.named
    for service_id, made in journal.orders.transactions().items():
        for one in made:
            assert service_id in named(one.hash)
    assert named("0x" + "b2" * 32) == {"oldDexSwap12345"}
    assert "oldDexSwap12345" in named("of-step")
    assert named("REQ-OF-GROUP") == {"oldBatchRow0001", "oldBatchRow0002"}
    payment = begin_payment(journal.ledger, "paidByHand", "faucet", b"{}")
    end_payment(journal.ledger, payment, "0xfeed", request_id="req-of-call")
    assert named("of-call") == named("feed") == {"paidByHand"}
    journal.close()


def test_an_order_is_found_by_a_deposit_the_service_named_before(journal: Journal) -> None:
    one = seen(journal, "toldOne")
    with journal._file.write() as db:
        db.execute("UPDATE orders SET deposit = 'Fa' || '9d'")
    assert journal.orders.named("fa9d") == {one.service_id}


@each_row(
    ("ask", "index"),
    [
        (lambda orders: orders.count_open(), "INDEX orders_present"),
        (lambda orders: next(orders.present()), "INDEX orders_present"),
        (lambda orders: next(orders.unrepeated(), None), "INDEX orders_unrepeated"),
        (lambda orders: orders.paid_recipients(), "INDEX orders_paid"),
        (lambda orders: orders.released_deposits(), "INDEX orders_released"),
        (lambda orders: orders.of_others("i"), "INDEX orders_by_operation"),
        (lambda orders: orders.named("x"), "INDEX orders_named"),
    ],
)
def test_no_order_is_read_for_an_answer(
    path: Path, ask: Callable[[OrderLog], object], index: str
) -> None:
    """A question in other words than its index has would read every order."""
    journal = Journal.open(path, ManualClock(NOW))
    seen(journal, "one")
    asked: list[str] = []
    file = journal._file
    file._connection.set_trace_callback(asked.append)
    ask(journal.orders)
    journal.close()
    with closing(sqlite3.connect(path)) as db:
        (query,) = asked
        plan = " ".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}"))
    assert re.search(rf"{index}\b", plan), plan

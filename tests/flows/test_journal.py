"""The journal: intents before side effects, outcomes before they show, nothing without it. What an
older desk wrote is brought up whole or left as it is, and what a newer one wrote is not touched.

Orders on their way into the journal: in a thread, newest only, bounded, ends after commits.

Figures of orders under way are written later: nothing is lost by that, not even by a kill. Of all
orders an index answers what reading every one of them would.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from flows import old_journals
from flows.following import tracker_of
from flows.orders import NOW, RECIPIENT, created_here, intent, order
from patience import PATIENCE, eventually
from rows import each_row
from swapdesk.background import BackgroundTasks, Defect
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.clock import ManualClock
from swapdesk.flows.creation.creates import OrderTaken, become_order, begin_create, intent_of
from swapdesk.flows.intents.intent import (
    FOREIGN,
    RELEASED,
    UNREPEATED,
    DepositRelease,
    DexTerms,
    contradiction,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import LEFT, ClaimTaken, State
from swapdesk.flows.journal.order_log import FIRST_EVENTS, NEWEST_EVENTS, OrderLog, PaidRecipient
from swapdesk.flows.orders.order_merge import FIGURES, PROGRESS, only_volatile_fields
from swapdesk.flows.orders.order_transactions import Source
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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "profile" / "journal.db"


def test_an_intent_comes_back_exactly(journal: Journal) -> None:
    terms = DexTerms("0x" + "ab" * 20, Decimal("0.5"), 10**30 + 1, 10**29 + 3)
    amount = Decimal("0.500000000000000001")
    exact = intent(amount_in=amount, memo="7", refund_memo=None, dex=terms)
    begin_create(journal.ledger, exact, "digest")
    create = journal.ledger.get(exact.id)
    assert intent_of(create) == exact
    assert create.state is State.PREPARED


def test_a_payment_of_unknown_outcome_blocks_its_twin_only(journal: Journal) -> None:
    first = intent()
    begin_create(journal.ledger, first, "digest")
    journal.ledger.move(first.id, State.SENT)
    journal.ledger.move(first.id, State.UNKNOWN, code="NO_ANSWER")
    twin = replace(intent(), quote_id="b" * 24)
    with pytest.raises(ClaimTaken) as taken:
        begin_create(journal.ledger, twin, "digest")
    assert taken.value.holder.id == first.id
    assert twin.fingerprint == first.fingerprint
    begin_create(journal.ledger, intent(amount_in=Decimal("0.6")), "digest")
    journal.ledger.move(first.id, State.REFUSED, among=LEFT, code="NOT_CREATED")
    begin_create(journal.ledger, twin, "digest")


@pytest.mark.parametrize("there", ["public", "link", "broken link"])
def test_only_a_private_file_is_a_journal(path: Path, clock: ManualClock, there: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    target = path.with_name("elsewhere.db")
    if there != "broken link":
        Journal.open(target, clock).close()
        assert target.stat().st_mode & 0o777 == 0o600
    if there == "public":
        target.rename(path).chmod(0o644)
    else:
        path.symlink_to(target)
    journal = Journal.open(path, clock)
    assert journal.problem == "journal.db must be a plain file of mode 0600"
    with pytest.raises(JournalUnavailable):
        begin_create(journal.ledger, intent(), "digest")
    assert target.exists() == (there == "link")


def test_a_damaged_file_is_kept_and_nothing_is_written(path: Path, clock: ManualClock) -> None:
    one = Journal.open(path, clock)
    for number in range(200):
        one.orders.record([(order(service_id=f"order{number}"), "list", False)])
    one.close()
    damaged = bytearray(path.read_bytes())
    damaged[100:8000] = os.urandom(7900)
    path.write_bytes(damaged)
    again = Journal.open(path, clock)
    assert again.problem is not None
    with pytest.raises(JournalUnavailable):
        begin_create(again.ledger, intent(), "digest")
    assert again.orders.ids() == set()
    assert path.read_bytes() == bytes(damaged)


def test_a_full_disk_refuses_the_write(path: Path, clock: ManualClock) -> None:
    journal = Journal.open(path, clock)
    with journal._file.write() as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
    journal._file._connection.execute(f"PRAGMA max_page_count={pages}")  # type: ignore[union-attr]

    def fill() -> None:
        for _ in range(200):
            begin_create(journal.ledger, intent(recipient="r" * 4000), "digest")

    with pytest.raises(JournalUnavailable):
        fill()


OWNER = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from flows.orders import NOW, intent
from swapdesk.clock import ManualClock
from swapdesk.flows.creation.creates import begin_create
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
journal = Journal.open(Path({path!r}), ManualClock(NOW))
one = intent()
begin_create(journal.ledger, one, "digest")
journal.ledger.move(one.id, State.SENT)
print(one.id, flush=True)
sys.stdin.read()
"""


def test_only_a_dead_owner_is_taken_over(path: Path, clock: ManualClock) -> None:
    tests = str(Path(__file__).parent.parent)
    other = subprocess.Popen(
        [sys.executable, "-c", OWNER.format(tests=tests, path=str(path))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    intent_id = other.stdout.readline().strip()
    journal = Journal.open(path, clock)
    assert journal.ledger.take_over(intent_id) is False
    other.send_signal(signal.SIGKILL)
    other.communicate()
    assert journal.ledger.take_over(intent_id) is True
    assert journal.ledger.get(intent_id).state is State.SENT


def test_a_create_takes_a_sighting_over_and_alone_releases_it(journal: Journal) -> None:
    service_id = order().service_id
    journal.orders.record([(order(), "stream", False)])
    assert journal.orders.settle(service_id, RELEASED) == FOREIGN
    one = intent()
    begin_create(journal.ledger, one, "digest")
    become_order(journal, one.id, order(one), source="create", verdict=UNREPEATED)
    assert journal.orders.settle(service_id, RELEASED) == RELEASED
    warned = contradiction("the service now names another deposit address")
    assert journal.orders.settle(service_id, warned) == warned
    assert journal.orders.settle(service_id, RELEASED) == warned


def test_a_sighting_with_another_address_hides_the_created_order(journal: Journal) -> None:
    other = derive_address("bitcoin", b"q" * 32)
    journal.orders.record([(order(deposit_address=other), "stream", False)])
    one = intent()
    begin_create(journal.ledger, one, "digest")
    stands = become_order(journal, one.id, order(one), source="create", verdict=UNREPEATED)
    assert stands.standing is DepositRelease.CONTRADICTS


def test_an_order_belongs_to_one_intent(journal: Journal) -> None:
    one, two = intent(), intent(amount_in=Decimal("0.6"))
    for each in (one, two):
        begin_create(journal.ledger, each, "digest")
    become_order(journal, one.id, order(one), source="create", verdict=UNREPEATED)
    with pytest.raises(OrderTaken):
        become_order(journal, two.id, order(one), source="list", verdict=UNREPEATED)


def test_what_is_to_be_paid_is_never_lost_to_a_sighting_that_says_less(
    journal: Journal, path: Path, clock: ManualClock
) -> None:
    """A sighting from before the create's answer may be written after it. The address that was
    released has to stand, or another one later would contradict nothing."""
    one = intent()
    begin_create(journal.ledger, one, "digest")
    become_order(journal, one.id, order(one), source="create", verdict=UNREPEATED)
    journal.orders.settle(order().service_id, RELEASED)
    journal.order_writer().record([(order(deposit_address=None), "stream", False)])
    journal.close()
    again = Journal.open(path, clock)
    known = again.orders.get(order().service_id)
    assert known.order.deposit_address == order().deposit_address
    other = derive_address("bitcoin", b"q" * 32)
    again.orders.record([(order(deposit_address=other), "list", False)])
    stands = again.orders.verdict(order().service_id)
    assert stands.standing is DepositRelease.CONTRADICTS


def test_what_another_desk_wrote_is_read_before_it_is_written_over(
    path: Path, clock: ManualClock
) -> None:
    """A writer believes what it remembers only while nobody else wrote, over its own connection
    or another one."""
    journal, other = Journal.open(path, clock), Journal.open(path, clock)
    writer, second = journal.order_writer(), journal.order_writer()
    early = order(display_status="DEPOSIT_DETECTED", status=1)
    late = order(display_status="SENDING_TO_RECEIVER", status=3)
    for ahead in (second, other.orders, journal.orders):
        one = order(service_id=f"{len(journal.orders.ids()):022d}")
        writer.record([(one.model_copy(update={"display_status": None}), "list", False)])
        ahead.record([(late.model_copy(update={"service_id": one.service_id}), "list", False)])
        writer.record([(early.model_copy(update={"service_id": one.service_id}), "list", False)])
        known = journal.orders.get(one.service_id)
        assert known.order.display_status == "SENDING_TO_RECEIVER"


def test_what_a_failed_transaction_took_is_not_believed(journal: Journal) -> None:
    """The states of a transaction that was taken back do not stand in the file."""
    writer = journal.order_writer()
    first = order(display_status="DEPOSIT_DETECTED", status=1)
    writer.record([(first, "list", False)])
    moved = order(display_status="EXCHANGE_IN_PROGRESS", status=2, status_label="EXCHANGING")
    with pytest.raises(RuntimeError):
        writer.record(_breaking_off(moved))
    for _ in range(2):
        writer.record([(moved, "list", False)])
    assert journal.orders.get(first.service_id).order == moved
    assert [seen.display_status for _, _, seen in journal.orders.history.of(first.service_id)] == [
        "DEPOSIT_DETECTED",
        "EXCHANGE_IN_PROGRESS",
    ]


def _breaking_off(one: Order) -> Iterator[tuple[Order, Source, bool]]:
    yield one, "list", False
    raise RuntimeError


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

"""The journal: intents before side effects, outcomes before they show, nothing without it. What an
older desk wrote is brought up whole or left as it is, and what a newer one wrote is not touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from flows.orders import intent, order
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.clock import ManualClock
from swapdesk.flows.creation.creates import (
    OrderTaken,
    become_order,
    begin_create,
    intent_of,
)
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
from swapdesk.flows.orders.order_transactions import Source
from swapdesk.wire.orders import Order


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

"""The journal: intents before side effects, outcomes before they show, nothing without it. What an
older desk wrote is brought up whole or left as it is, and what a newer one wrote is not touched."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

import sampling
from flows import old_journals
from flows.orders import NOW, intent, order
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.batches import newest_batches
from swapdesk.flows.batch.progress import result_rows, sheet_of
from swapdesk.flows.batch.rows import SheetColumn
from swapdesk.flows.intents.intent import (
    FOREIGN,
    RELEASED,
    UNREPEATED,
    DepositRelease,
    DexTerms,
    contradiction,
)
from swapdesk.flows.journal.creates import (
    OrderTaken,
    acts_of,
    become_order,
    begin_create,
    intent_of,
    open_creates,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalFile, JournalUnavailable
from swapdesk.flows.journal.journal_migration import (
    SCHEMA_VERSION,
    STEPS,
    JournalRefused,
    copy_name,
)
from swapdesk.flows.journal.journal_records import Source
from swapdesk.flows.journal.ledger import LEFT, ClaimTaken, State
from swapdesk.flows.journal.payments import newest_bundle, payment_of
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
    assert again.orders.index.ids() == set()
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
from swapdesk.flows.journal.creates import begin_create
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


def test_an_order_seen_before_it_was_confirmed_here_stays_hidden(journal: Journal) -> None:
    journal.orders.record([(order(), "stream", False)])
    known = journal.orders.get(order().service_id)
    assert known.verdict == FOREIGN
    assert journal.orders.settle(order().service_id, RELEASED) == FOREIGN


def test_a_create_takes_a_sighting_over_and_alone_releases_it(journal: Journal) -> None:
    journal.orders.record([(order(), "stream", False)])
    one = intent()
    begin_create(journal.ledger, one, "digest")
    become_order(journal, one.id, order(one), source="create", verdict=UNREPEATED)
    service_id = order().service_id
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


def test_the_orders_of_intents_are_found_without_reading_those_of_others(
    journal: Journal, clock: ManualClock
) -> None:
    mine, foreign = order(), order(service_id="z" * 22, deposit_address=None)
    one, two = intent(), intent(amount_in=Decimal("0.6"))
    for each in (one, two):
        begin_create(journal.ledger, each, "digest")
    become_order(journal, one.id, mine, source="create", verdict=UNREPEATED)
    clock.advance(5)
    journal.orders.record([(foreign, "list", False)])
    orders = journal.orders
    assert [known.order for known in orders.unrepeated()] == [mine]
    assert orders.index.ids() == {mine.service_id, foreign.service_id}
    assert orders.index.of_others(two.id) == {mine.service_id}
    assert orders.index.of_others(one.id) == set()
    assert orders.index.seen_before(clock.now()) == {mine.service_id}
    assert orders.index.seen_before(NOW) == set()
    assert orders.index.released_deposits() == frozenset()
    orders.settle(mine.service_id, RELEASED)
    assert orders.index.released_deposits() == {("bitcoin", mine.deposit_address)}


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
        one = order(service_id=f"{len(journal.orders.index.ids()):022d}")
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
    assert [seen.display_status for _, _, seen in journal.orders.events(first.service_id)] == [
        "DEPOSIT_DETECTED",
        "EXCHANGE_IN_PROGRESS",
    ]


def _breaking_off(one: Order) -> Iterator[tuple[Order, Source, bool]]:
    yield one, "list", False
    raise RuntimeError


TESTS = Path(__file__).parents[1]
KILLED = str(Path(__file__).parent / "killed_migration.py")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return old_journals.written(tmp_path / "profile" / "journal.db")


def changed(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(statement)


def kept(path: Path) -> tuple[int, object, object]:
    return (
        old_journals.version(path),
        old_journals.shape(path),
        old_journals.rows(path, ledger=True),
    )


@pytest.mark.parametrize("dump", [old_journals.FIRST, old_journals.SECOND])
def test_an_old_journal_and_a_new_one_have_the_same_schema(dump: Path, tmp_path: Path) -> None:
    old = old_journals.written(tmp_path / "old" / "journal.db", dump)
    new = tmp_path / "new" / "journal.db"
    for path in (old, new):
        JournalFile.open(path).close()
    assert old_journals.shape(old) == old_journals.shape(new)
    assert old_journals.version(old) == old_journals.version(new) == SCHEMA_VERSION
    assert old_journals.rows(new) == {}
    assert [one.name for one in new.parent.iterdir()] == [new.name], "a new one leaves no copy"


@pytest.mark.xfail(strict=True, reason="old payments are not in the ledger yet")
def test_the_second_version_keeps_its_hashes(tmp_path: Path) -> None:
    old = old_journals.written(tmp_path / "journal.db", old_journals.SECOND)
    before = old_journals.rows(old)
    journal = Journal.open(old, ManualClock(NOW))
    made = journal.transactions.all()
    journal.close()
    assert [one.hash for one in made["oldWalletPays12"]] == ["0x" + "ef" * 32]
    assert [one.hash for one in made["oldForeignSeen1"]] == ["8f2c91d04b1e77ab" * 4]
    assert old_journals.rows(old) == before
    assert old_journals.version(copy_name(old, 2)) == 2


@pytest.mark.xfail(strict=True, reason="old creates are not in the ledger yet")
def test_everything_an_older_desk_wrote_is_still_there(old: Path) -> None:
    before = old_journals.rows(old)
    journal = Journal.open(old, ManualClock(NOW))
    assert journal.problem is None
    paid = journal.orders.get("oldPaidByFaucet1")
    assert paid.ended
    assert paid.order.deposit_tag == "4711"
    assert len(journal.orders.events("oldPaidByFaucet1")) == 4
    less = journal.orders.get("oldAcceptedLess")
    assert less.accepted is not None
    assert [one.state for one in open_creates(journal.ledger)].count(State.UNKNOWN) == 1
    payment = payment_of(journal.ledger, "oldWalletPays12")
    assert (payment.state, payment.body["by"]) == (State.SENT, "wallet")
    (batch,) = newest_batches(journal.ledger, 9)
    assert [row.service_id for row in batch.rows] == [f"oldBatchRow000{n}" for n in (1, 2, 3)]
    cells = sheet_of(batch).rows[2].cells
    assert cells == {
        SheetColumn.TO: "s", SheetColumn.SELL_AMOUNT: "1",
        SheetColumn.BUY: "SOL", SheetColumn.CHAIN: "solana",
    }  # fmt: skip
    assert result_rows(batch, {})[2].sell_amount == "1"
    bundle = newest_bundle(journal.ledger, batch.groups[0].act.id)
    assert bundle.paid
    created = journal.ledger.where("kind = 'create' AND state = 'done'")
    (swap,) = [one for one in created if intent_of(one).dex is not None]
    assert [act.kind for act in acts_of(journal.ledger, swap.id)] == [
        "create", "approve", "swap", "confirm",
    ]  # fmt: skip
    journal.close()
    assert old_journals.rows(old) == before


def test_the_file_is_copied_as_it_was_before_the_first_step(old: Path) -> None:
    before = kept(old)
    JournalFile.open(old).close()
    copy = copy_name(old, 1)
    assert copy.name == "journal-version-1.db"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert kept(copy) == before
    assert {one.name for one in old.parent.iterdir()} == {old.name, copy.name}
    content = copy.read_bytes()
    changed(old, "DELETE FROM event")
    JournalFile.open(old).close()
    assert copy.read_bytes() == content


def test_a_journal_of_the_first_version_from_before_its_last_table_is_brought_up(
    old: Path, tmp_path: Path
) -> None:
    """Version 1 grew without a number: every start made what was missing."""
    changed(old, "DROP TABLE withdrawal")
    JournalFile.open(old).close()
    JournalFile.open(tmp_path / "new.db").close()
    assert old_journals.shape(old) == old_journals.shape(tmp_path / "new.db")


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (f"PRAGMA user_version={SCHEMA_VERSION + 1}", "JOURNAL_NEWER"),
        ("PRAGMA user_version=2147483647", "JOURNAL_NEWER"),
        ("PRAGMA user_version=-1", "JOURNAL_UNKNOWN"),
        ("ALTER TABLE call RENAME COLUMN code TO cipher", "JOURNAL_UNKNOWN"),
        ("ALTER TABLE call ADD COLUMN hash BLOB", "JOURNAL_NOT_MOVED"),
    ],
)
def test_a_journal_of_another_kind_is_refused_and_left_as_it_is(
    old: Path, spoil: str, code: str
) -> None:
    changed(old, spoil)
    content, before = old.read_bytes(), kept(old)
    with pytest.raises(JournalRefused) as refused:
        JournalFile.open(old)
    assert refused.value.code == code
    said = str(refused.value)
    assert said.startswith("journal.db ")
    assert said.count(".") - said.count("journal.db") == 1
    assert refused.value.next.startswith("you: ")
    assert kept(old) == before
    if code == "JOURNAL_NEWER":
        assert "start that swapdesk again: every order stands in" in said
        assert old.read_bytes() == content
        assert [one.name for one in old.parent.iterdir()] == [old.name]


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.touch(0o600)
    changed(path, "CREATE TABLE invoice (id INTEGER)")
    content = path.read_bytes()
    with pytest.raises(JournalRefused, match="not as any swapdesk writes it"):
        JournalFile.open(path)
    assert path.read_bytes() == content


def test_without_room_for_the_copy_nothing_is_changed(old: Path) -> None:
    before = kept(old)
    (old.parent / ".journal-version-1.db.part").mkdir()
    with pytest.raises(JournalRefused, match="every order stands in the file") as refused:
        JournalFile.open(old)
    assert refused.value.code == "JOURNAL_NOT_MOVED"
    assert kept(old) == before


OPENER = """
import sys
from pathlib import Path
from swapdesk.flows.journal.journal_file import JournalFile
print("here", flush=True)
for line in sys.stdin:
    file = JournalFile.open(Path(line.strip()))
    print(file.problem, len(file.read("SELECT * FROM known_order", ())), flush=True)
    file.close()
"""
MOMENTS = 30
"""The same moment, so many times: where it is not handled, one of thirty shows it as a rule."""


@pytest.mark.parametrize("exists", [True, False])
def test_of_desks_that_open_at_the_same_moment_one_brings_it_up(old: Path, exists: bool) -> None:
    before = old_journals.rows(old) if exists else {}
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]

    def said() -> set[str]:
        return {one.stdout.readline() for one in openers if one.stdout is not None}

    assert said() == {"here\n"}
    for number in range(MOMENTS):
        path = old.parent / str(number) / old.name
        path.parent.mkdir()
        if exists:
            shutil.copy2(old, path)
        for one in openers:
            one.stdin.write(f"{path}\n")
            one.stdin.flush()
        assert said() == {f"None {len(before.get('known_order', []))}\n"}
        assert old_journals.version(path) == SCHEMA_VERSION
        assert old_journals.rows(path) == before
        if exists:
            assert old_journals.version(copy_name(path, 1)) == 1
    for one in openers:
        one.communicate()


def opened(path: Path, moment: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, KILLED, str(path), str(moment)], capture_output=True, text=True
    )


def test_a_kill_at_any_moment_leaves_the_old_journal_or_the_new_one(tmp_path: Path) -> None:
    def made(name: str) -> Path:
        return old_journals.written(tmp_path / name / "journal.db")

    whole = made("whole")
    was = kept(whole)
    between = [
        kept(old_journals.stepped(made(f"between-{steps}"), STEPS[1:steps]))
        for steps in range(2, SCHEMA_VERSION)
    ]
    moments = int(opened(whole, 0).stdout)
    became = kept(whole)
    assert (was[0], became[0]) == (1, SCHEMA_VERSION)
    assert moments > 1000
    count = sampling.examples(150) // 2
    seen = set()
    for number in range(count):
        moment = 1 + (moments - 1) * number // (count - 1)
        path = made(f"at-{moment}")
        ended = opened(path, moment)
        assert ended.returncode == -9, ended
        state = kept(path)
        assert state in (was, *between, became), moment
        seen.add(state[0])
        copy = copy_name(path, 1)
        if copy.exists():
            assert kept(copy) == was
        else:
            assert state == was
        JournalFile.open(path).close()
        assert kept(path) == became
        assert kept(copy) == was
        copies = {copy_name(path, number).name for number in {1, state[0]} - {SCHEMA_VERSION}}
        assert {one.name for one in path.parent.iterdir()} == {path.name} | copies
    assert seen == set(range(1, SCHEMA_VERSION + 1))


def test_a_step_only_adds(tmp_path: Path) -> None:
    """A desk of an older version may be writing while a newer one brings the file up."""
    first = old_journals.written(tmp_path / "first.db")
    new = tmp_path / "new.db"
    JournalFile.open(new).close()

    def columns(path: Path) -> dict[str, list[str]]:
        told: Callable[[Path], set[tuple[str, str, str | None]]] = old_journals.shape
        tables = [name for kind, name, _ in told(path) if kind in ("table", "view")]
        with closing(sqlite3.connect(path)) as db:
            return {
                name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")]
                for name in tables
            }

    before, after = columns(first), columns(new)
    for name, known in before.items():
        assert after[name][: len(known)] == known

"""A journal moves with the program: what an older desk wrote is brought up whole or left as it is,
and what a newer one wrote is not touched."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import sampling
from flows import old_journals
from flows.orders import NOW, known_order
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.planned import SheetColumn
from swapdesk.flows.batch.progress import result_rows, sheet_of
from swapdesk.flows.journal.batch_records import BundleState
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.journal_migration import (
    SCHEMA_VERSION,
    STEPS,
    JournalRefused,
    copy_name,
)
from swapdesk.flows.journal.journal_records import StepState

TESTS = Path(__file__).parents[1]
KILLED = str(Path(__file__).parent / "killed_migration.py")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return old_journals.written(tmp_path / "profile" / "journal.db")


def changed(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(statement)


def kept(path: Path) -> tuple[int, object, object]:
    return old_journals.version(path), old_journals.shape(path), old_journals.rows(path)


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


def test_everything_an_older_desk_wrote_is_still_there(old: Path) -> None:
    before = old_journals.rows(old)
    journal = Journal.open(old, ManualClock(NOW))
    assert journal.problem is None
    paid = known_order(journal, "oldPaidByFaucet1")
    assert paid.ended
    assert paid.order.deposit_tag == "4711"
    assert len(journal.orders.events("oldPaidByFaucet1")) == 4
    less = known_order(journal, "oldAcceptedLess")
    assert less.accepted is not None
    assert journal.intents.unknown_count() == 1
    payment = journal.calls.payment_of("oldWalletPays12")
    assert (payment.state, payment.by_wallet) == (StepState.SENT, True)
    (batch,) = journal.batches.newest()
    assert [row.service_id for row in batch.rows] == [f"oldBatchRow000{n}" for n in (1, 2, 3)]
    cells = sheet_of(batch).rows[2].cells
    assert cells == {
        SheetColumn.TO: "s", SheetColumn.SELL_AMOUNT: "1",
        SheetColumn.BUY: "SOL", SheetColumn.CHAIN: "solana",
    }  # fmt: skip
    assert result_rows(batch, {})[2].sell_amount == "1"
    bundle = journal.bundles.newest(batch.id, 1)
    assert bundle.state is BundleState.CONFIRMED
    (swap,) = [one for one in journal.intents.recent(9) if one.intent.dex is not None]
    assert [one.name for one in journal.swaps.steps(swap.intent.id)] == [
        "permission", "approve", "create", "swap", "confirm",
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

"""The ledger of acts: what was decided stands, whoever says what in whichever order, and of two
that ask for one claim one is told of the other's.

The law of each kind is written down here once more, from the table of kinds; nothing of it is read
from the ledger.

Late, doubled and contradicting answers: what was decided first stands, in every log of acts.

Sequences of three outcomes are told to every log, by two connections in turn. Each log has its
law here: from which states an outcome may come, and into which.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from decimal import Decimal
from functools import partial
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
from msgspec import Struct
from msgspec.structs import replace

import sampling
from flows.ledger_process import CLAIMS, STATEMENTS
from flows.orders import (
    NEED,
    NOW,
    batch_of_one,
    create_group,
    group_of,
    intent,
    order,
    signed_bundle,
)
from patience import PATIENCE
from rows import each_row
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.batches import find_batch, move_group
from swapdesk.flows.batch.bundles import (
    accept_bundle,
    begin_transaction,
    begin_withdrawal,
    move_bundle,
    newest_bundle,
    transactions_of,
)
from swapdesk.flows.batch.rows import NOT_CREATED
from swapdesk.flows.creation.creates import become_order, begin_create, refuse_create
from swapdesk.flows.deposits.wallet_funding import PaymentEntry
from swapdesk.flows.dex.dex_swap import SwapPart
from swapdesk.flows.intents.intent import FOREIGN, UNREPEATED, ReleaseVerdict
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalFile, JournalUnavailable, ProcessIdentity
from swapdesk.flows.journal.ledger import LEFT, ClaimTaken, Kind, Ledger, Operation, State
from swapdesk.flows.payments import (
    Sum,
    begin_payment,
    commit_signed,
    end_payment,
    end_transaction,
    payment_of,
)
from swapdesk.flows.transactions import ActEntry

ROOT = Path(__file__).parents[2]
FLOWS = ROOT / "src" / "swapdesk" / "flows"
PROCESS = str(Path(__file__).parent / "ledger_process.py")
KINDS: tuple[Kind, ...] = get_args(Kind)
DONE_AGAIN = ("create", "bundle", "fund", "part", "withdraw")
"""Their claim ends with the act; what else has one is done once for all."""
PREPARED, SENT, DONE, REFUSED, UNKNOWN = State
OPEN = (PREPARED, SENT, UNKNOWN)
DEAD = ProcessIdentity(2**22 + 1, 1)
"""No process has a number as large."""
LIVING = ProcessIdentity(1, 0)
LENGTH = 6
"""Of sequences for a kind whose claim ends and for one whose claim stays: no more of them lead to
another file."""
SHORT = 4
"""For all others, of which nothing else is told in another way."""


@pytest.fixture
def file(path: Path) -> Iterator[JournalFile]:
    opened = JournalFile.open(path)
    yield opened
    opened.close()


@pytest.fixture
def other_file(file: JournalFile, path: Path) -> Iterator[JournalFile]:
    """Another connection to the same journal, which waits for nobody."""
    opened = JournalFile.open(path)
    opened._connection.execute("PRAGMA busy_timeout = 0")  # type: ignore[union-attr]
    yield opened
    opened.close()


@pytest.fixture
def ledger(file: JournalFile, clock: ManualClock) -> Ledger:
    return Ledger(file, clock)


@pytest.fixture
def other(other_file: JournalFile, clock: ManualClock) -> Ledger:
    return Ledger(other_file, clock)


def owned_by(owner: ProcessIdentity, file: JournalFile, clock: ManualClock) -> Ledger:
    ledger = Ledger(file, clock)
    ledger._me = owner
    return ledger


def act(ledger: Ledger, id_: str) -> Operation:
    found = ledger.get(id_)
    assert found is not None
    return found


def test_the_table_of_kinds_has_each_and_says_whose_claim_ends() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text().partition("| Kind | ")[2]
    rows = [line.split("|") for line in page.partition("\n\n")[0].splitlines()[2:]]
    named = [(re.findall(r"`(\w+)`", row[1]), row[4]) for row in rows]
    assert [kind for kinds, _ in named for kind in kinds] == list(KINDS)
    ends = [kind for kinds, claim in named for kind in kinds if "until it is done" in claim]
    # A part of a group has no claim that could end.
    assert [*ends, "part"] == sorted(DONE_AGAIN, key=[*ends, "part"].index)


# Every sequence of events


class Standing(Struct, frozen=True):
    """How an act stands by the law. ``holder`` is who holds its claim, this act or the one that
    another desk asked for."""

    state: State = PREPARED
    code: str | None = None
    result: tuple[tuple[str, object], ...] = (("hash", "0xbegun"),)
    subject: str | None = None
    holder: str | None = "act"
    owner: ProcessIdentity = DEAD


class Event(Struct, frozen=True):
    """``told`` is what a desk does; ``law`` is how the act stands then, None where nothing may
    move. Whoever tells it must hear whether it did."""

    told: Callable[[Ledger], object]
    law: Callable[[Standing], Standing | None]


def moving(kind: Kind, state: State, among: tuple[State, ...], **result: object) -> Event:
    code, subject = result.pop("code", None), result.pop("subject", None)

    def law(at: Standing) -> Standing | None:
        if at.state not in among:
            return None
        merged = {
            **dict(at.result),
            **{name: value for name, value in result.items() if value is not None},
        }
        ends = state is REFUSED or (state is DONE and kind in DONE_AGAIN)
        return replace(
            at,
            state=state,
            code=code,
            subject=subject or at.subject,
            result=tuple(sorted(merged.items())),
            holder=None if ends and at.holder == "act" else at.holder,
        )

    named: dict[str, Any] = {"code": code, "subject": subject, **result}
    return Event(lambda ledger: ledger.move("act", state, **named), law)


def another(kind: Kind) -> Event:
    """Another desk asks for the same claim."""

    def told(ledger: Ledger) -> bool:
        holder = ledger.holder("claim")
        try:
            ledger.begin(kind, {}, id="another", claim="claim")
        except ClaimTaken as taken:
            return taken.holder != holder
        return True

    return Event(told, lambda at: None if at.holder else replace(at, holder="another"))


def told_more(at: Standing) -> Standing:
    return replace(at, result=tuple(sorted({**dict(at.result), "status": 200}.items())))


def freed(at: Standing) -> Standing:
    return replace(at, holder=None) if (at.state, at.holder) == (DONE, "act") else at


def taken_over(by: ProcessIdentity, at: Standing) -> Standing | None:
    return replace(at, owner=by) if at.owner in (DEAD, by) else None


def events(kind: Kind, here: ProcessIdentity) -> dict[str, Event]:
    left = (SENT, UNKNOWN)
    return {
        "sent": moving(kind, SENT, (PREPARED,), hash="0xsent"),
        "answered": moving(kind, DONE, OPEN, request_id="r1", subject="order", hash=None),
        "answered late": moving(kind, DONE, OPEN, hash="0xlate", subject=None, code="DIFFERS"),
        "refused": moving(kind, REFUSED, OPEN, code="NO", request_id=None),
        "unknown": moving(kind, UNKNOWN, left, code="LOST"),
        "again": moving(kind, PREPARED, left),
        "told": Event(lambda ledger: ledger.tell("act", status=200, hash=None), told_more),
        "another": another(kind),
        "freed": Event(lambda ledger: ledger.free("claim") is None, freed),
        "taken over": Event(lambda ledger: ledger.take_over("act"), partial(taken_over, here)),
    }


def everything(db: sqlite3.Connection) -> tuple[tuple[object, ...], ...]:
    rows = db.execute("SELECT * FROM operation ORDER BY number").fetchall()
    return tuple(tuple(row) for row in rows)


def stands(ledger: Ledger) -> Standing:
    """How the act stands in the file."""
    found, holder = act(ledger, "act"), ledger.holder("claim")
    return Standing(
        found.state,
        found.code,
        tuple(sorted(found.result.items())),
        found.subject,
        holder and holder.id,
        found.owner,
    )


class Walk:
    """Carries out every sequence of events. Two that lead to the same file go on in the same way,
    so that each file is gone on from once, for each number of events that is left."""

    def __init__(self, ledger: Ledger, db: sqlite3.Connection, named: dict[str, Event]) -> None:
        self._ledger = ledger
        self._db = db
        self._events = named
        self._walked: dict[object, int] = {}
        self.told: Counter[tuple[str, bool]] = Counter()
        self.reached: set[Standing] = set()

    def sequences(self, at: Standing, left: int) -> int:
        """How many sequences go on from here; each ends in what the law says."""
        before = everything(self._db)
        if (key := (before, left)) in self._walked:
            return self._walked[key]
        assert stands(self._ledger) == at
        self.reached.add(at)
        count = 0 if left else 1
        for name, event in self._events.items() if left else ():
            self._db.execute("SAVEPOINT event")
            after = event.law(at)
            answer = event.told(self._ledger)
            assert answer is (after is not None), (name, at)
            if after is None:
                assert everything(self._db) == before, (name, at)
            self.told[name, bool(answer)] += 1
            count += self.sequences(after or at, left - 1)
            self._db.execute("ROLLBACK TO event")
            self._db.execute("RELEASE event")
        self._walked[key] = count
        return count


@pytest.mark.parametrize("owner", [DEAD, LIVING], ids=["dead", "living"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_sequence_of_events_follows_the_law(
    file: JournalFile, clock: ManualClock, kind: Kind, owner: ProcessIdentity
) -> None:
    here = ProcessIdentity.current()
    begun, ledger = owned_by(owner, file, clock), Ledger(file, clock)
    named = events(kind, here)
    with begun.transaction() as db:
        begun.begin(kind, {"what": kind}, id="act", claim="claim", hash="0xbegun")
        walk = Walk(ledger, db, named)
        length = LENGTH if (kind, owner) in (("create", DEAD), ("deposit", DEAD)) else SHORT
        assert walk.sequences(Standing(owner=owner), length) == len(named) ** length
    assert {at.state for at in walk.reached} == set(State)
    assert {at.holder for at in walk.reached} == {"act", "another", None}
    # Each was let through and refused, but for what is always heard.
    always = {"told", "freed", "taken over" if owner is DEAD else ""}
    assert set(walk.told) >= {
        (name, True) for name in named if (name, owner) != ("taken over", LIVING)
    }
    assert set(walk.told) >= {(name, False) for name in named if name not in always}


@each_row(("before", "after"), list(product(State, State)))
def test_whoever_names_states_moves_from_no_other(
    ledger: Ledger, before: State, after: State
) -> None:
    may = {
        SENT: (PREPARED,),
        PREPARED: (SENT, UNKNOWN),
        UNKNOWN: (SENT, UNKNOWN),
        DONE: OPEN,
        REFUSED: OPEN,
    }[after]
    narrowed: list[tuple[State, ...] | None] = [None, (), *((state,) for state in State)]
    for among in narrowed:
        if among is not None and not set(among) <= set(may):
            with pytest.raises(AssertionError):
                ledger.move("nobody", after, among=among)
            continue
        begun = ledger.begin("call", {}, state=before)
        moves = before in (may if among is None else among)
        assert ledger.move(begun.id, after, among=among) is moves
        assert act(ledger, begun.id).state is (after if moves else before)


def test_parts_move_together_and_those_that_were_decided_stay(ledger: Ledger) -> None:
    parent = ledger.begin("create_group", {})
    other = ledger.begin("create_group", {})
    for owner in (parent, other):
        for state in State:
            ledger.begin("row", {}, id=f"{owner.id}{state}", parent=owner.id, state=state)
    ledger.begin("bundle", {}, id="bundle", parent=parent.id)
    assert ledger.move_parts(parent.id, "row", REFUSED, code="NO", reason="no") == 3
    states = {part.state: part.code for part in ledger.parts(parent.id, "row")}
    assert states == {REFUSED: "NO", DONE: None}
    assert act(ledger, f"{parent.id}refused").code is None
    assert act(ledger, "bundle").state is PREPARED
    assert [part.state for part in ledger.parts(other.id)] == list(State)
    assert ledger.move_parts(other.id, "row", SENT, among=()) == 0
    assert ledger.move_parts(other.id, "row", DONE, among=(SENT,)) == 1


@each_row(("state", "before"), list(product(State, State)))
def test_what_is_unknown_is_handed_over_once_what_it_was_a_part_of_is_over(
    ledger: Ledger, state: State, before: State
) -> None:
    over, first, second = (ledger.begin("bundle", {}, state=one) for one in (before, SENT, SENT))
    part = ledger.begin("deposit", {}, parent=over.id, claim=f"deposit:{over.id}", state=state)
    handed = state is UNKNOWN and before in (DONE, REFUSED)
    assert ledger.hand_over(part.id, first.id) is handed
    # Now it is the part of one that is under way.
    assert not ledger.hand_over(part.id, second.id)
    assert act(ledger, part.id) == replace(part, parent=first.id if handed else over.id)


# What is kept of an act


def test_facts_are_merged_and_each_is_what_was_told_last(ledger: Ledger) -> None:
    plan = {"units": 10**30 + 1, "spender": None, "steps": [1, None, {"memo": None}]}
    begun = ledger.begin(
        "create", {"memo": None, "amount": "0.5"}, plan=plan, hash="0x1", code=None
    )
    assert begun == act(ledger, begun.id)
    assert (begun.body, begun.result) == (
        {"memo": None, "amount": "0.5"},
        {"plan": plan, "hash": "0x1"},
    )
    assert ledger.move(begun.id, SENT, hash=None, status=0, accepted=False)
    assert act(ledger, begun.id).result == {
        "plan": plan,
        "hash": "0x1",
        "status": 0,
        "accepted": False,
    }
    less = {"units": 3, "more": {"a": None}}
    assert ledger.tell(begun.id, plan=less, hash="0x2")
    assert act(ledger, begun.id).result == {
        "plan": less,
        "hash": "0x2",
        "status": 0,
        "accepted": False,
    }
    assert act(ledger, begun.id).hash == "0x2"
    assert not ledger.tell(begun.id, among=(PREPARED, DONE), hash="0x3")
    assert not ledger.tell("nobody", hash="0x3")
    assert ledger.tell(begun.id)
    assert (act(ledger, begun.id).hash, act(ledger, begun.id).code) == ("0x2", None)
    assert ledger.tell(begun.id, code="DIFFERS")
    assert ledger.tell(begun.id, status=1)
    assert (act(ledger, begun.id).state, act(ledger, begun.id).code) == (SENT, "DIFFERS")


def test_each_moment_is_of_its_own_move(ledger: Ledger, clock: ManualClock) -> None:
    start = clock.now()
    begun = ledger.begin("call", {})
    clock.advance(1)
    server = start + timedelta(hours=1)
    ledger.move(begun.id, SENT, server_at=server)
    clock.advance(1)
    ledger.move(begun.id, UNKNOWN, code="LOST")
    found = act(ledger, begun.id)
    assert (found.prepared_at, found.sent_at, found.server_at) == (
        start,
        start + timedelta(seconds=1),
        server,
    )
    assert (found.ended_at, found.moved_at, found.open, found.left) == (
        None,
        found.sent_at,
        True,
        True,
    )
    ledger.move(begun.id, PREPARED)
    assert (act(ledger, begun.id).code, act(ledger, begun.id).left) == (None, False)
    clock.advance(1)
    ledger.move(begun.id, SENT)
    again = act(ledger, begun.id)
    assert (again.sent_at, again.server_at) == (start + timedelta(seconds=3), server)
    clock.advance(1)
    ledger.move(begun.id, DONE)
    ended = act(ledger, begun.id)
    assert (ended.ended_at, ended.moved_at, ended.open) == (clock.now(), clock.now(), False)
    clock.advance(1)
    assert not ledger.move(begun.id, REFUSED, code="NO")
    assert act(ledger, begun.id) == ended
    for state in State:
        at_once = ledger.begin("call", {}, state=state)
        assert (at_once.sent_at is None) == (state is PREPARED)
        assert (at_once.ended_at is None) == (state in OPEN)


def test_acts_come_in_the_order_in_which_they_were_begun(ledger: Ledger) -> None:
    parent = ledger.begin("create", {}, id="z")
    parts = [ledger.begin(kind, {}, parent="z") for kind in ("reset", "approve", "sign", "approve")]
    assert ledger.parts("z") == parts
    assert ledger.parts("z", "approve", "reset") == [parts[0], parts[1], parts[3]]
    assert ledger.where("kind <> ?", "sign") == [parent, *parts[:2], parts[3]]
    assert ledger.get("nobody") is None
    ledger.begin_parts("z", "row", [{"number": number} for number in range(3)])
    rows = ledger.parts("z", "row")
    assert [row.body["number"] for row in rows] == [0, 1, 2]
    assert {(row.state, row.claim, row.owner) for row in rows} == {(PREPARED, None, parent.owner)}
    assert len({row.id for row in rows}) == 3
    for row, subject in zip(rows, ("a", "b", None), strict=True):
        ledger.move(row.id, DONE, subject=subject)
    assert (ledger.subjects("row"), ledger.subjects("create")) == ({"a", "b"}, set())


def test_a_mark_is_another_once_an_act_moved(ledger: Ledger) -> None:
    marks = [ledger.mark("kind = ?", "call")]
    first, second = (ledger.begin("call", {}) for _ in range(2))
    for told in (
        lambda: ledger.move(first.id, SENT),
        lambda: ledger.move(second.id, SENT),
        lambda: ledger.tell(first.id, hash="0x1"),
        lambda: ledger.move(first.id, UNKNOWN),
        lambda: ledger.move(first.id, DONE),
        lambda: ledger.begin("call", {}),
    ):
        marks.append(ledger.mark("kind = ?", "call"))
        assert told()
    marks.append(ledger.mark("kind = ?", "call"))
    assert marks[0] is None
    assert len({*marks}) == len(marks)
    ledger.begin("row", {})
    assert ledger.mark("kind = ?", "call") == marks[-1]


# Claims


def test_a_claim_is_a_rule_of_the_file(ledger: Ledger) -> None:
    """Also for a statement that asks nobody."""
    ledger.begin("deposit", {}, id="first", claim="deposit:o")
    columns = "kind, claim, body, prepared_at, owner_pid, owner_start"
    copied = (
        f"INSERT INTO operation (id, state, {columns})"  # noqa: S608
        f" SELECT 'second', ?, {columns} FROM operation WHERE id = 'first'"
    )
    for state in State:
        if state is REFUSED:
            continue
        with pytest.raises(JournalUnavailable, match="UNIQUE"), ledger.transaction() as db:
            db.execute(copied, (state,))
    assert [found.id for found in ledger.where("TRUE")] == ["first"]


def test_a_claim_that_is_taken_names_who_has_it(ledger: Ledger, other: Ledger) -> None:
    first = ledger.begin("deposit", {"by": "faucet"}, claim="deposit:o")
    for state in (PREPARED, SENT, UNKNOWN, DONE):
        if state is not PREPARED:
            assert ledger.move(first.id, state)
        with pytest.raises(ClaimTaken) as taken:
            other.begin("deposit", {"by": "wallet"}, claim="deposit:o", state=SENT)
        assert taken.value.holder == act(ledger, first.id)
        assert f"held by {first.id}, which is {state}" in str(taken.value)
    # Another order, and what has no claim, are nobody's business.
    other.begin("deposit", {}, claim="deposit:p")
    other.begin("call", {})
    other.begin("call", {})


def test_who_asks_waits_for_who_reads_before_it_writes(ledger: Ledger, other: Ledger) -> None:
    with ledger.transaction():
        assert ledger.holder("twin:f") is None
        with pytest.raises(JournalUnavailable, match="locked"):
            other.begin("create", {}, claim="twin:f")
        first = ledger.begin("create", {}, claim="twin:f")
    with pytest.raises(ClaimTaken) as taken:
        other.begin("create", {}, claim="twin:f")
    assert taken.value.holder == first


def test_a_move_between_the_look_and_the_move_of_another_is_seen(
    ledger: Ledger, other: Ledger
) -> None:
    """Two desks look at one act and both mean to decide it."""
    for seed in range(sampling.examples(200)):
        rng = Random(seed)
        begun = ledger.begin("deposit", {}, claim=f"deposit:{seed}", state=SENT)
        desks = [ledger, other] * 2
        assert all(act(desk, begun.id).state is SENT for desk in desks)
        told = [
            desk.move(begun.id, rng.choice((DONE, REFUSED)), hash=f"0x{at}")
            for at, desk in enumerate(desks)
        ]
        assert told == [True, False, False, False]
        assert act(other, begun.id).hash == "0x0"


# Transactions


def test_what_breaks_off_leaves_nothing(ledger: Ledger, other: Ledger) -> None:
    ledger.begin("create", {}, id="one")
    with contextlib.suppress(KeyError), ledger.transaction():
        ledger.move("one", DONE)
        with ledger.transaction():
            ledger.begin("row", {}, parent="one", claim="x")
        assert act(ledger, "one").state is DONE
        assert act(other, "one").state is PREPARED
        raise KeyError
    assert act(ledger, "one").state is PREPARED
    assert ledger.holder("x") is None
    # Who is told of another's claim may go on with what it began.
    ledger.begin("deposit", {}, claim="deposit:o")
    with ledger.transaction():
        ledger.move("one", SENT)
        with pytest.raises(ClaimTaken):
            ledger.begin("deposit", {}, claim="deposit:o")
    assert act(other, "one").state is SENT


def test_one_commit_is_whole_at_every_moment_of_another(ledger: Ledger, other: Ledger) -> None:
    for number in range(20):
        with ledger.transaction():
            parent = ledger.begin("batch", {}, id=f"b{number}")
            for _ in range(3):
                ledger.begin("row", {}, parent=parent.id)
                assert other.get(parent.id) is None
                assert other.parts(parent.id) == []
        assert len(other.parts(parent.id)) == 3


def test_nothing_is_awaited_inside_a_transaction() -> None:
    """Another task of the same thread would write into it, and take what is not committed for a
    promise."""
    transactions = [
        (path.name, node)
        for path in FLOWS.rglob("*.py")
        if re.search(r"with .*\.(write|transaction)\(", path.read_text())
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.With) and opened_by(node) & {"write", "transaction"}
    ]
    assert len(transactions) >= 5
    for name, node in transactions:
        awaiting = ast.Await | ast.AsyncFor | ast.AsyncWith
        assert not any(isinstance(each, awaiting) for each in ast.walk(node)), (name, node.lineno)


def opened_by(node: ast.With) -> set[str]:
    """The methods whose results a ``with`` opens."""
    calls = [one.context_expr for one in node.items if isinstance(one.context_expr, ast.Call)]
    return {call.func.attr for call in calls if isinstance(call.func, ast.Attribute)}


# Processes


class Desks:
    """Processes on one journal that begin at the same moment."""

    def __init__(self, path: Path, what: str, *orders: int) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._processes = [
            subprocess.Popen([sys.executable, PROCESS, str(path), what, str(order)], **pipes)  # type: ignore[call-overload]
            for order in orders
        ]

    def got(self) -> list[list[str]]:
        """What each of them got, all alive until the last has ended."""
        try:
            for process in self._processes:
                assert json.loads(process.stdout.readline()) == {}
            for process in self._processes:
                process.stdin.write(b"\n")
                process.stdin.flush()
            got = [json.loads(process.stdout.readline()) for process in self._processes]
            for process in self._processes:
                process.communicate(b"\n", timeout=PATIENCE)
            return got
        finally:
            for process in self._processes:
                process.kill()
                process.wait()


def test_each_claim_goes_to_one_of_two_processes(
    file: JournalFile, path: Path, ledger: Ledger
) -> None:
    first, second = Desks(path, "claims", 1, -1).got()
    assert sorted(first + second) == sorted(f"deposit:{number}" for number in range(CLAIMS))
    begun = Counter(found.claim for found in ledger.where("kind = 'deposit'"))
    assert set(begun.values()) == {1}


def test_what_a_dead_process_began_goes_to_one_of_two(
    file: JournalFile, path: Path, clock: ManualClock
) -> None:
    dead, here = owned_by(DEAD, file, clock), Ledger(file, clock)
    left = [dead.begin("create", {}).id for _ in range(CLAIMS)]
    mine = here.begin("create", {}).id
    first, second = Desks(path, "owners", 1, -1).got()
    assert sorted(first + second) == sorted(left)
    # They have ended, and are nobody's again; what is this process's own stays.
    assert all(here.take_over(one) for one in (*left, mine))
    assert not here.take_over("nobody")
    assert not owned_by(LIVING, file, clock).take_over(mine)


def test_a_transaction_that_is_killed_is_whole_or_nothing(
    tmp_path: Path, clock: ManualClock
) -> None:
    """``kill -9`` before each of its statements, the commit as well, and after the last."""
    states, path = [], tmp_path / "journal.db"
    with closing(JournalFile.open(path)) as file:
        Ledger(file, clock).begin("deposit", {}, id="before", claim="deposit:before", state=SENT)
        with closing(sqlite3.connect(path)) as db:
            clean = db.serialize()
    for number in range(1, 100):
        at = tmp_path / str(number) / "journal.db"
        at.parent.mkdir()
        at.touch(0o600)
        at.write_bytes(clean)
        child = subprocess.run(
            [sys.executable, PROCESS, str(at), "begin group", str(number)], check=False
        )
        assert child.returncode in (0, -signal.SIGKILL)
        with closing(JournalFile.open(at)) as file:
            ledger = Ledger(file, clock)
            before, group = act(ledger, "before"), ledger.parts("group")
            states.append((before.state, before.hash, before.claim, len(group)))
            assert {part.state for part in group} <= {SENT}
            assert (ledger.holder("batch:file") is None) == (not group)
        if child.returncode == 0:
            break
    nothing, whole = (SENT, None, "deposit:before", 0), (DONE, "0xpaid", None, 2)
    *killed, ended = states
    assert ended == whole
    assert set(killed) == {nothing}
    assert len(killed) == STATEMENTS


OUTCOMES = 3


class Law(Struct, frozen=True):
    """``among`` are the states that ``told`` may come from, ``to`` the one it leads into. ``id`` is
    what it names, which must not be lost; ``keeps``: also where nothing moved."""

    told: Callable[[Journal], object]
    to: str
    among: tuple[str, ...]
    id: str | None = None
    keeps: bool = False


class Act(Struct, frozen=True):
    """One act of a log, begun. ``state`` is read from the file. ``order`` is what it pays."""

    laws: dict[str, Law]
    state: Callable[[Journal], str]
    order: str | None = None
    paid: str = ""
    """The outcome that says that the order was paid."""


def the_create(journal: Journal, number: int) -> Act:
    one = intent(amount_in=Decimal(number + 1))
    begin_create(journal.ledger, one, "digest")

    def created(name: str) -> Law:
        made = order(one, service_id=name)

        def told(journal: Journal) -> ReleaseVerdict:
            return become_order(
                journal,
                one.id,
                made,
                source="create",
                verdict=UNREPEATED,
                request_id=f"r{name}",
            )

        return Law(told, State.DONE, OPEN, name, keeps=True)

    def given_up(code: str, *among: State) -> Law:
        def told(journal: Journal) -> bool:
            return journal.ledger.move(one.id, State.REFUSED, among=among, code=code)

        return Law(told, State.REFUSED, among)

    def sent(journal: Journal) -> bool:
        return journal.ledger.move(one.id, State.SENT)

    assert sent(journal)
    assert not sent(journal)
    laws = {
        "created": created(f"order{number}"),
        "created another": created(f"other{number}"),
        "refused": Law(lambda j: refuse_create(j.ledger, one.id, "NO"), State.REFUSED, OPEN),
        "unknown": Law(
            lambda j: j.ledger.move(one.id, State.UNKNOWN, code="LOST"), State.UNKNOWN, LEFT
        ),
        "not created": given_up("NOT_CREATED", *LEFT),
        "abandoned": given_up("ABANDONED", State.UNKNOWN),
        "sent": Law(sent, State.SENT, ()),
    }
    return Act(laws, lambda j: j.ledger.get(one.id).state)


def a_group(journal: Journal, number: int) -> Act:
    batch_id = batch_of_one(journal, number)
    group = group_of(journal, batch_id)
    assert move_group(journal.ledger, group, State.SENT, server_at=NOW)
    left = (State.SENT, State.UNKNOWN)

    def of(journal: Journal) -> str:
        batch = find_batch(journal.ledger, batch_id)
        (now,), (row,) = batch.groups, batch.rows
        assert (now.multi_id, row.service_id) == (
            (f"multi{number}", f"row{number}") if now.act.state is State.DONE else (None, None)
        )
        # Its row goes with it, and the batch ends with it.
        assert row.act.state is now.act.state
        if not now.act.open:
            assert batch.operation.state is now.act.state
        return now.act.state

    def to(state: State, *among: State, **told: Any) -> Law:
        return Law(lambda j: move_group(j.ledger, group, state, **told), state, among)

    laws = {
        "sent": to(State.SENT, State.PREPARED, server_at=NOW),
        "not sent": to(State.PREPARED, *left),
        "unknown": to(State.UNKNOWN, *left, code="NO"),
        "refused": to(State.REFUSED, *left, code="NO", reasons=["no"], status=422),
        "created": Law(
            lambda j: create_group(j, group, f"multi{number}", f"row{number}"), State.DONE, left
        ),
        "not created": to(State.REFUSED, *left, code=NOT_CREATED, reasons=["no"]),
    }
    return Act(laws, of)


def a_bundle(journal: Journal, number: int) -> Act:
    batch_id, paid = batch_of_one(journal, number), f"paid{number}"
    one = signed_bundle(journal, batch_id, paid)
    assert payable(journal, paid)
    assert move_bundle(journal.ledger, one, State.SENT, server_at=NOW)
    assert not payable(journal, paid)
    with pytest.raises(ValueError, match="on its way"):
        signed_bundle(journal, batch_id, paid)
    under_way = ("sent", "unknown", "submitted")
    open_ = ("signed", *under_way)
    unsure = ("sent", "unknown")

    def to(state: State, word: str, among: tuple[str, ...], **told: Any) -> Law:
        return Law(lambda j: move_bundle(j.ledger, one, state, **told), word, among)

    def ended(state: State, word: str, hash_: str | None = None, **told: Any) -> Law:
        return Law(
            lambda j: move_bundle(j.ledger, one, state, hash=hash_, **told),
            word,
            open_,
            hash_,
            keeps=True,
        )

    laws = {
        "sent": to(State.SENT, "sent", ("signed",), server_at=NOW),
        "again": to(State.PREPARED, "signed", unsure),
        "unknown": to(State.UNKNOWN, "unknown", unsure, code="LOST"),
        "submitted": Law(lambda j: accept_bundle(j.ledger, one), "submitted", open_),
        "confirmed": ended(State.DONE, "confirmed", f"0xpaid{number}"),
        "failed": ended(State.REFUSED, "failed", code="FAILED"),
        "withdrawn": ended(State.REFUSED, "withdrawn", code="WITHDRAWN"),
        "refused": ended(State.REFUSED, "refused", code="REFUSED"),
    }

    def of(journal: Journal) -> str:
        newest = newest_bundle(journal.ledger, group_of(journal, batch_id).act.id)
        return newest.word

    return Act(laws, of, paid, "confirmed")


def _state_of(id_: str) -> Callable[[Journal], str]:
    def state(journal: Journal) -> str:
        return journal.ledger.get(id_).state

    return state


def a_payment(journal: Journal, number: int) -> Act:
    """A transaction of a group on Solana, which pays an order itself."""
    hash_, paid = f"0xpaid{number}", f"paid{number}"
    group = group_of(journal, batch_of_one(journal, number)).act.id
    act = begin_transaction(journal.ledger, "part", group, NEED, f"part{number}", [paid])
    laws = {
        "sent": Law(
            lambda j: commit_signed(j.ledger, act.id, hash_), "sent", ("prepared", "sent"), hash_
        ),
        "done": Law(
            lambda j: end_transaction(j.ledger, act, State.DONE, hash_=hash_),
            "done",
            OPEN,
            hash_,
            keeps=True,
        ),
        "refused": Law(
            lambda j: end_transaction(j.ledger, act, State.REFUSED, code="LOST", hash_=None),
            "refused",
            OPEN,
        ),
    }
    return Act(laws, _state_of(act.id), paid, "done")


def a_deposit(journal: Journal, number: int) -> Act:
    """The payment of an order from the wallet."""
    paid = f"paid{number}"
    act = begin_payment(journal.ledger, paid, "wallet", b"{}")
    hash_ = f"0xpaid{number}"

    def to(state: State, *among: State) -> Law:
        return Law(lambda j: j.ledger.move(act.id, state, code="WHY"), state, among)

    laws = {
        "asked": to(State.SENT, State.PREPARED),
        "unsigned": to(State.PREPARED, *LEFT),
        "done": Law(
            lambda j: end_payment(j.ledger, act, hash_), State.DONE, OPEN, hash_, keeps=True
        ),
        "refused": to(State.REFUSED, *OPEN),
        "unknown": to(State.UNKNOWN, *LEFT),
    }
    return Act(laws, _state_of(act.id), paid, "done")


def a_call(journal: Journal, number: int) -> Act:
    """A create by hand."""
    act = journal.ledger.begin("call", {}, state=State.SENT)
    made = order(service_id=f"order{number}")

    def to(state: State) -> Law:
        return Law(lambda j: j.ledger.move(act.id, state, code="WHY"), state, LEFT)

    laws = {
        "created": Law(
            lambda j: j.call_created(act.id, made, status=200),
            State.DONE,
            LEFT,
            made.service_id,
            keeps=True,
        ),
        "done": to(State.DONE),
        "refused": to(State.REFUSED),
        "unknown": to(State.UNKNOWN),
    }
    return Act(laws, _state_of(act.id))


LOGS = {
    "creates": the_create,
    "batches": a_group,
    "bundles": a_bundle,
    "payments": a_payment,
    "calls, a deposit": a_deposit,
    "calls, by hand": a_call,
}


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[Journal, Journal]]:
    """Two desks on one journal. Nothing is killed here, so nothing waits for the disk."""
    path = tmp_path / "journal.db"
    desks = (Journal.open(path, ManualClock(NOW)), Journal.open(path, ManualClock(NOW)))
    for desk in desks:
        desk._file._connection.execute("PRAGMA synchronous=OFF")
    yield desks
    for desk in desks:
        desk.close()


def text_of(path: Path) -> str:
    """Everything that stands in the file."""
    with closing(sqlite3.connect(path)) as db:
        return "\n".join(db.iterdump())


def payable(journal: Journal, service_id: str) -> bool:
    """Whether the journal lets the order be paid. A payment that it lets begin is taken back."""
    try:
        act = begin_payment(journal.ledger, service_id, "faucet", b"{}")
    except ClaimTaken:
        return False
    assert journal.ledger.move(act.id, State.REFUSED, code="NOT_SENT")
    return True


_TORN = """
SELECT state, subject, service_id FROM operation LEFT JOIN orders ON operation = id
WHERE kind = 'create' AND
  ((state = 'done') IS NOT (service_id NOT NULL) OR subject IS NOT service_id)
"""
"""A create that is done has its order, and no other one has any."""


@pytest.mark.parametrize("log", LOGS)
def test_what_was_decided_first_stands(
    log: str, both: tuple[Journal, Journal], tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    names = list(LOGS[log](both[0], 0).laws)
    # Of many outcomes every third sequence; it has each two that follow one another.
    part = 3 if len(names) > 6 and not pytestconfig.getoption("--full") else 1
    ids = set()
    for number, told in enumerate(islice(product(names, repeat=OUTCOMES), 0, None, part), start=1):
        act = LOGS[log](both[0], number)
        for turn, name in enumerate(told):
            law, before = act.laws[name], act.state(both[0])
            answer = law.told(both[turn % 2])
            after = act.state(both[1])
            if before in law.among:
                assert after == law.to, told
                assert answer is True or answer == UNREPEATED, told
            else:
                assert after == before, told
                same = name.startswith("created") and name in told[:turn]
                assert answer is False or answer == FOREIGN or same, told
            if law.id is not None and (answer is not False or law.keeps):
                ids.add(law.id)
        if act.order is not None and act.paid in told:
            assert not payable(both[1], act.order), told
        refused = act.state(both[0]) == State.REFUSED
        if act.order is not None and act.paid not in told and refused:
            assert payable(both[1], act.order), told
    said = text_of(tmp_path / "journal.db")
    assert not [one for one in ids if f"'{one}'" not in said and f'"{one}"' not in said]
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        assert db.execute(_TORN).fetchall() == []


def test_an_approval_that_was_mined_stays_so_when_the_swap_is_refused(
    both: tuple[Journal, Journal],
) -> None:
    """Who may take the tokens is told by it as long as it is not revoked."""
    one, ledger = intent(), both[0].ledger
    begin_create(ledger, one, "digest")
    approval = ledger.begin("approve", {}, parent=one.id, state=State.SENT, spender="0xvenue")
    assert ledger.move(approval.id, State.DONE, hash="0xa")
    assert refuse_create(ledger, one.id, "QUOTE_EXPIRED")
    part = both[1].ledger.get(approval.id)
    assert (part.state, part.result) == (State.DONE, {"hash": "0xa", "spender": "0xvenue"})


@pytest.mark.parametrize("sent", [False, True])
def test_what_stands_open_of_a_swap_is_over_with_it_before_its_create_left(
    both: tuple[Journal, Journal], sent: bool
) -> None:
    """Afterwards each has an end of its own: nobody knows yet what a part did that left."""
    one, ledger = intent(), both[0].ledger
    begin_create(ledger, one, "digest")
    parts = [ledger.begin("approve", {}, parent=one.id) for _ in range(2)]
    if sent:
        ledger.move(one.id, State.SENT)
    assert refuse_create(ledger, one.id, "QUOTE_EXPIRED")
    assert not refuse_create(both[1].ledger, one.id, "NO")
    over = (State.PREPARED, None) if sent else (State.REFUSED, "QUOTE_EXPIRED")
    ends = [(part.state, part.code) for part in both[1].ledger.parts(one.id)]
    assert ends == [(State.PREPARED, None), over]
    assert parts[-1].id == both[1].ledger.parts(one.id)[-1].id
    assert both[1].ledger.get(one.id).code == "QUOTE_EXPIRED"


def test_a_bundle_that_never_left_says_nothing_of_what_an_earlier_one_may_have_paid(
    both: tuple[Journal, Journal],
) -> None:
    batch_id, ledger = batch_of_one(both[0]), both[0].ledger
    first = signed_bundle(both[0], batch_id, "paid1", "paid2")
    assert move_bundle(ledger, first, State.SENT)
    assert move_bundle(ledger, first, State.REFUSED, code="FAILED")
    second = signed_bundle(both[0], batch_id, "paid1", "paid2")
    assert not payable(both[1], "paid1")
    assert move_bundle(ledger, second, State.REFUSED, code="REFUSED")
    assert not payable(both[1], "paid1")


def test_the_next_bundle_goes_on_with_what_an_earlier_one_may_have_paid(
    both: tuple[Journal, Journal],
) -> None:
    here, there = (journal.ledger for journal in both)
    batch_id = batch_of_one(both[0])
    first = signed_bundle(both[0], batch_id, "paid1", "paid2")
    assert move_bundle(here, first, State.SENT)
    assert move_bundle(here, first, State.REFUSED, code="FAILED")
    second = signed_bundle(both[0], batch_id, "paid1", "paid2")
    assert move_bundle(there, second, State.SENT)
    assert payment_of(here, "paid1").parent == second.operation.id
    # What a bundle on its way pays, no bundle of another group takes over.
    third = signed_bundle(both[0], batch_of_one(both[0], 2), "paid1")
    with pytest.raises(ClaimTaken):
        move_bundle(here, third, State.SENT)
    # It was the first one that paid, whatever is said of the second.
    move_bundle(here, first, State.DONE, hash="0xpaid")
    assert move_bundle(there, second, State.REFUSED, code="REFUSED")
    assert {payment_of(here, paid).hash for paid in ("paid1", "paid2")} == {"0xpaid"}
    assert not payable(both[1], "paid2")


def test_signatures_that_arrived_after_all_pay_their_orders(
    both: tuple[Journal, Journal],
) -> None:
    """The service was said not to have them; meanwhile somebody paid one of the orders."""
    here, there = (journal.ledger for journal in both)
    bundle = signed_bundle(both[0], batch_of_one(both[0]), "paid1", "paid2")
    assert move_bundle(here, bundle, State.SENT)
    assert move_bundle(here, bundle, State.PREPARED)
    own = begin_payment(there, "paid1", "wallet", b"{}")
    assert accept_bundle(here, bundle)
    assert payment_of(there, "paid1").id == own.id
    assert payment_of(there, "paid2").parent == bundle.operation.id
    assert not move_bundle(here, bundle, State.PREPARED)
    assert not payable(both[1], "paid2")


def test_a_deposit_that_was_paid_by_itself_is_not_paid_by_a_bundle(
    both: tuple[Journal, Journal],
) -> None:
    batch_id = batch_of_one(both[0])
    bundle = signed_bundle(both[0], batch_id, "paid1")
    begin_payment(both[1].ledger, "paid1", "faucet", b"{}")
    with pytest.raises(ClaimTaken):
        move_bundle(both[0].ledger, bundle, State.SENT)
    assert newest_bundle(both[1].ledger, group_of(both[1], batch_id).act.id).signed


def test_a_deposit_that_is_signed_after_it_was_refused_is_a_payment_of_its_own(
    both: tuple[Journal, Journal],
) -> None:
    here, there = (journal.ledger for journal in both)
    entry = PaymentEntry(here, "paid1", "0xme", None)
    entry.begin()
    begun = payment_of(there, "paid1")
    assert there.move(begun.id, State.REFUSED, code="NOT_PAYABLE")
    entry.signed("0xhash")
    stands = payment_of(there, "paid1")
    assert (stands.id != begun.id, stands.hash, stands.state) == (True, "0xhash", State.SENT)
    # Where another payment stands by then, not a byte of this one leaves.
    assert there.move(stands.id, State.REFUSED, code="NOT_PAYABLE")
    begin_payment(there, "paid1", "faucet", b"{}")
    with pytest.raises(ClaimTaken):
        entry.signed("0xhash")


def test_a_part_of_a_group_that_is_signed_after_it_was_refused_is_one_of_its_own(
    both: tuple[Journal, Journal],
) -> None:
    here, there = (journal.ledger for journal in both)
    group = group_of(both[0], batch_of_one(both[0])).act.id
    entry = ActEntry(here, lambda: begin_transaction(here, "part", group, NEED, "part", ["paid1"]))
    entry.begin()
    (one,) = transactions_of(there, group)
    assert end_transaction(there, one, State.REFUSED, code="NOT_SIGNED", hash_=None)
    entry.signed("0xhash")
    entry.done("0xhash")
    assert [each.state for each in transactions_of(there, group)] == [State.REFUSED, State.DONE]
    assert not payable(both[1], "paid1")
    # Where another payment stands by then, not a byte of it leaves.
    entry = ActEntry(here, lambda: begin_transaction(here, "part", group, NEED, "again", ["paid2"]))
    entry.begin()
    one = transactions_of(there, group)[-1]
    assert end_transaction(there, one, State.REFUSED, code="NOT_SIGNED", hash_=None)
    begin_payment(there, "paid2", "faucet", b"{}")
    with pytest.raises(ClaimTaken):
        entry.signed("0xhash")


def test_one_withdrawal_of_a_smart_account_is_under_way_at_a_time(
    both: tuple[Journal, Journal],
) -> None:
    """One that was prepared and never signed gives way to the next of its intent, one that left
    to none."""
    here, there = (journal.ledger for journal in both)
    taken = (Sum("USDC", 6, "0xdd", 1),)

    def begin(ledger: Ledger, intent_id: str, chain: str = "base") -> Operation:
        return begin_withdrawal(ledger, intent_id, "0xowner", "0xsender", chain, taken)

    first = begin(here, "withdraw#0")
    with pytest.raises(ClaimTaken):
        begin(there, "withdraw#1")
    again = begin(there, "withdraw#0")
    assert (here.get(first.id).code, here.get(again.id).state) == ("REPLACED", State.PREPARED)
    assert commit_signed(here, again.id, "0xhash")
    for intent_id in ("withdraw#0", "withdraw#1"):
        with pytest.raises(ClaimTaken):
            begin(there, intent_id)
    begin(there, "withdraw#0", "ethereum")
    assert end_transaction(there, again, State.DONE, hash_="0xhash")
    begin(here, "withdraw#1")


def test_a_swap_that_was_executed_after_it_was_refused_is_told_as_executed(
    both: tuple[Journal, Journal],
) -> None:
    here, there = both
    one = intent()
    begin_create(here.ledger, one, "digest")
    entry = SwapPart(here.ledger, lambda: here.ledger.begin("swap", {}, parent=one.id))
    entry.begin()
    entry.signed("0xhash")
    part = there.ledger.parts(one.id)[-1]
    assert there.ledger.move(part.id, State.REFUSED, code="LOST")
    entry.done("0xhash")
    last = there.ledger.parts(one.id)[-1]
    assert last.id != part.id
    assert (last.kind, last.state, last.result) == ("swap", State.DONE, {"hash": "0xhash"})

"""What an older desk wrote is brought up whole or left as it is, and says the same afterwards;
what a newer one wrote is not touched."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, structs

import sampling
from flows import old_journals
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.batches import find_batch, find_group
from swapdesk.flows.batch.bundles import (
    newest_bundle,
    open_bundles,
    signed_under,
    sum_of,
    taken_of,
    transactions_of,
    withdrawal_of,
    withdrawals,
)
from swapdesk.flows.creation.creates import open_swaps
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.journal_filling import OLD_TABLES
from swapdesk.flows.journal.journal_migration import (
    SCHEMA_VERSION,
    JournalRefused,
    copy_name,
)
from swapdesk.flows.journal.ledger import FREED_WHEN_DONE, OPEN, Operation, State
from swapdesk.flows.payments import paid_orders, payment_of, unanswered
from swapdesk.flows.support.support_case import create_request
from swapdesk.wire.encoding.codec import encode_twice
from swapdesk.wire.orders import Order

LATER = datetime(2026, 12, 1, tzinfo=UTC)
KILLED = str(Path(__file__).parent / "killed_migration.py")
DUMPS = {"written 1": old_journals.FIRST, "written 2": old_journals.SECOND}
NAMES = [*old_journals.FILES, *DUMPS]


def made(path: Path, name: str) -> Path:
    if name in DUMPS:
        return old_journals.written(path, DUMPS[name])
    return old_journals.everything(path, name)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return old_journals.written(tmp_path / "profile" / "journal.db")


class Brought(Struct):
    """A journal that was brought up; nobody writes to it. ``answers`` is what the old code said of
    it, ``before`` what stood in the file."""

    path: Path
    before: tuple[int, object, object]
    journal: Journal
    answers: dict[str, Any]


@pytest.fixture(scope="module", params=NAMES)
def brought(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Brought]:
    path = made(tmp_path_factory.mktemp("old") / "profile" / "journal.db", request.param)
    before = kept(path)
    journal = Journal.open(path, clock())
    assert journal.problem is None
    yield Brought(path, before, journal, old_journals.answers(request.param))
    journal.close()


def clock() -> ManualClock:
    return ManualClock(LATER)


# What was said of orders is said again, by the same methods


def test_orders_say_what_they_said(brought: Brought) -> None:
    journal, answers = brought.journal, brought.answers
    orders, history = journal.orders, journal.orders.history
    ids = list(orders.ids())
    ask: Mapping[str, Callable[..., Any]] = {
        "orders.get": lambda service_id: known_order(journal, service_id),
        "orders.verdict": orders.verdict,
        "orders.events": history.of,
        "orders.deposit_seen": history.deposit_seen,
        "orders.away": orders.away,
        "orders.payments": orders.payments,
        "orders.each": lambda: [known.order.service_id for known in orders.each()],
        "orders.present": lambda: sorted(known.order.service_id for known in orders.present()),
        "orders.unrepeated": lambda: sorted(one.order.service_id for one in orders.unrepeated()),
        "history.latest": lambda: [(at, seen.service_id) for at, seen in history.latest(20)],
        "history.newest": history.newest,
        "history.beyond": lambda: [
            (event.number, event.order.service_id) for event in history.beyond(3, 10)
        ],
        "index.count_open": orders.count_open,
        "index.ids": orders.ids,
        "index.present": lambda: sorted(known.service_id for known in orders.present()),
        "index.unrepeated": lambda: sorted(known.service_id for known in orders.unrepeated()),
        "index.released_deposits": orders.released_deposits,
        "orders.paid_recipients": lambda: sorted(orders.paid_recipients()),
        "orders.begun": lambda: orders.begun(["oRel", "o", "payW", "payFd"]),
        "orders.made_here": lambda: sorted(orders.made_here(ids)),
        "orders.of_others": lambda: orders.of_others("0" * 31 + "1"),
        "orders.seen_before": lambda at: orders.seen_before(datetime.fromisoformat(at)),
        "orders.created_before": lambda at: orders.created_before(datetime.fromisoformat(at)),
        "index.named": orders.named,
        "index.called": orders.called,
        "orders.of_amount": lambda: sorted(
            service_id for service_id, _ in orders.of_amount(Decimal("0.9"), Decimal(3))
        ),
        "transactions.of": journal.orders.transactions_of,
        "transactions.all": lambda: sorted(journal.orders.transactions()),
        "transactions.deposits": lambda: journal.orders.own_deposits(ids),
        "create_requests.of": lambda service_id: create_request(journal.ledger, service_id),
    }
    asked = 0
    for question, answer in answers.items():
        name, *words = question.split(" ", 1)
        if name in ask:
            asked += 1
            assert plain(ask[name](*words)) == answer, question
    assert asked > 60


def known_order(journal: Journal, service_id: str) -> dict[str, Any] | None:
    """An order as the journal has it, with what of its row nobody reads with it."""
    known = journal.orders.get(service_id)
    if known is None:
        return None
    ((intent_id, first_seen, source),) = journal._file.read(
        "SELECT operation, first_seen, source FROM orders WHERE service_id = ?", (service_id,)
    )
    assert (known.intent and known.intent.id) == intent_id
    return {
        "order": known.order,
        "intent_id": intent_id,
        "ended": known.ended,
        "verdict": known.verdict,
        "first_seen": datetime.fromisoformat(first_seen),
        "seen_at": known.seen_at,
        "source": source,
        "accepted": known.accepted,
    }


# What was said of acts stands in the ledger

STEPS = {
    State.PREPARED: {"PREPARED"},
    State.SENT: {"SENT"},
    State.UNKNOWN: {"UNKNOWN"},
    State.DONE: {"ACKED", "RESOLVED_YES"},
    State.REFUSED: {"REFUSED", "RESOLVED_NO", "ABANDONED_BY_USER"},
}


def test_creates_and_their_steps_stand_in_the_ledger(brought: Brought) -> None:
    journal, answers = brought.journal, brought.answers
    for question, told in answers.items():
        name, id_ = question.partition(" ")[::2]
        if name == "intents.get":
            act = act_of(journal, id_)
            assert plain(Intent.from_json(act.body["intent"])) == told["intent"]
            assert intent_word(act) == told["state"]
            assert act.kind == "create"
            assert plain(act.owner) == told["owner"]
        elif name == "swaps.steps":
            check_steps(journal, id_, told, answers[f"swaps.order_of {id_}"])
        elif name == "intents.step" and told is not None and told["name"] == "create":
            act = act_of(journal, id_)
            check(act, told, "status", "request_id")
            if told["state"] not in ("RESOLVED_NO", "ABANDONED_BY_USER"):
                assert act.code == told["code"]
    creates = journal.ledger.where("kind = 'create' ORDER BY prepared_at, number --")
    assert [act.id for act in creates if act.open] == answer_ids(answers, "intents.unfinished")
    unknown = [act for act in creates if act.state is State.UNKNOWN]
    assert len(unknown) == answers["intents.unknown_count"]
    recent = [act.id for act in reversed(creates) if act.state is State.DONE]
    assert recent == answers["intents.recent"]
    assert [swap.id for swap in open_swaps(journal.ledger)] == answers["swaps.open_swaps"]


def check_steps(
    journal: Journal, intent_id: str, steps: list[dict[str, Any]], order_id: str | None
) -> None:
    create, parts = act_of(journal, intent_id), journal.ledger.parts(intent_id)
    assert create.subject == order_id
    others = [step for step in steps if step["name"] not in ("create", "permission")]
    for part, step in zip(parts, others, strict=True):
        assert step["state"] in STEPS[part.state]
        check(part, step, "name", "digest", "told", "code", "sent_at")
        assert part.owner == create.owner
    for step in steps:
        if step["name"] == "create":
            check(create, step, "digest", "sent_at", "server_at")
        if "plan" in step["told"]:
            check(create, step["told"], "plan")


def check(act: Operation, told: Mapping[str, Any], *names: str, **renamed: str) -> None:
    """Facts of an act are what the old code told, under the same name or under another."""
    unsaid = dict.fromkeys(("status", "request_id", "reason", "hash", "said"))
    facts = {"name": act.kind, "signatures": [], **unsaid, **structs.asdict(act)}
    facts |= {**act.body, **act.result, "told": act.result, "code": act.code}
    facts["moved_at"] = act.moved_at
    facts |= {name: moment(at) for name, at in facts.items() if isinstance(at, datetime)}
    places = {**dict(zip(names, names, strict=True)), **renamed}
    assert {place: facts[name] for name, place in places.items()} == {
        place: told[place] for place in places.values()
    }


def intent_word(act: Operation) -> str:
    if act.code in ("NOT_CREATED", "ABANDONED"):
        return act.code.lower()
    return {State.DONE: "created", State.PREPARED: "open", State.SENT: "open"}.get(
        act.state, act.state
    )


def answer_ids(answers: dict[str, Any], name: str) -> list[str]:
    """One of the intents has the JSON of another."""
    told = answers[name]
    if len(set(told)) < len(told):
        told[1] = "f" + told[1][1:]
    return told


def test_calls_and_deposits_stand_in_the_ledger(brought: Brought) -> None:
    journal, answers = brought.journal, brought.answers
    left = {act.id: act for act in unanswered(journal.ledger)}
    told = {f"call/{call['id']}": call for call in answers.get("calls.unresolved", [])}
    assert left.keys() == told.keys()
    for id_, call in told.items():
        check_call(left[id_], call)
    for question, payment in answers.items():
        name, service_id = question.partition(" ")[::2]
        if name == "calls.payment_of":
            holder = payment_of(journal.ledger, service_id)
            assert (holder is None) is (payment is None), question
            if holder is not None:
                check_call(holder, payment)
                if answers.get("bundles.payers"):
                    assert (holder.parent is not None) is (holder.body["by"] == "bundle")


def check_call(act: Operation, call: dict[str, Any]) -> None:
    assert call["state"] in STEPS[act.state]
    by = {"/sandbox/deposits": "faucet", "/wallet/deposits": "wallet", "/wallet/bundles": "bundle"}
    if act.kind == "call":
        assert (act.body["method"], act.body["path"]) == (call["method"], call["path"])
    else:
        assert act.body["by"] == by[call["path"]]
        assert act.parent is None or act.body["by"] == "bundle"
    check(act, call, "status", "request_id", "hash", "code")
    check(act, call, prepared_at="sent_at", subject="service_id")


def test_batches_stand_in_the_ledger(brought: Brought) -> None:
    journal, answers = brought.journal, brought.answers
    newest = journal.ledger.where("kind = 'batch'")[::-1]
    assert [batch.id for batch in newest] == answers.get("batches.newest", [])
    for batch in newest:
        told = answers[f"batches.get {batch.id}"]
        assert (moment(batch.prepared_at), batch.body["file"]) == (told["created"], told["file"])
        assert batch.body.get("payer") == answers[f"batches.payer {batch.id}"]
        groups = journal.ledger.parts(batch.id, "create_group")
        assert batch.state is batch_state([group.state for group in groups])
        for group, of in zip(groups, told["groups"], strict=True):
            assert of["state"] in STEPS[group.state]
            check(group, of, "number", "chain", "paid", "body", "server_at", subject="multi_id")
            lost = "NO_ANSWER" if of["state"] == "RESOLVED_YES" else None
            assert group.code == (of["code"] or lost)
            rows = journal.ledger.parts(group.id, "row")
            for row, cells in zip(rows, of["rows"], strict=True):
                check(row, cells, "number", "line", "place", "cells", "code", "reason")
                assert (row_word(row), row.subject) == (cells["state"], cells["service_id"])
            check_payment_of(journal, answers, batch.id, group)
        read = find_batch(journal.ledger, batch.id[:30])
        assert read is not None
        assert [row.number for row in read.rows] == sorted(
            row["number"] for group in told["groups"] for row in group["rows"]
        )
    ledger, left = journal.ledger, "kind = 'create_group' AND state IN ('sent', 'unknown')"
    assert [group.parent for group in ledger.where(left)] == answers["batches.unfinished"]
    assert sorted(ledger.subjects("create_group")) == answers["batches.multi_ids"]
    assert sorted(ledger.subjects("row")) == answers["batches.service_ids"]
    groups = [ledger.get(bundle.operation.parent) for bundle in open_bundles(ledger)]
    assert [
        [group.parent, group.body["number"], bundle.number]
        for group, bundle in zip(groups, open_bundles(ledger), strict=True)
    ] == answers["bundles.open"]
    for multi_id in answers["batches.multi_ids"]:
        found = find_group(ledger, multi_id)
        assert found is not None
        assert [found.act.parent, found.number] == answers[f"batches.group {multi_id}"]


def batch_state(groups: list[State]) -> State:
    if set(groups) == {State.REFUSED}:
        return State.REFUSED
    if set(groups) <= {State.REFUSED, State.DONE}:
        return State.DONE
    return State.PREPARED if set(groups) == {State.PREPARED} else State.SENT


def row_word(row: Operation) -> str:
    if row.state is State.DONE:
        return "differs" if row.code == "ORDER_DIFFERS" else "created"
    return {State.PREPARED: "planned", State.REFUSED: "failed"}.get(row.state, "unknown")


def check_payment_of(
    journal: Journal, answers: dict[str, Any], batch_id: str, group: Operation
) -> None:
    place = f"{batch_id} {group.body['number']}"
    bundles, told = journal.ledger.parts(group.id, "bundle"), answers[f"bundles.newest {place}"]
    assert bool(bundles) is (told is not None)
    if told is not None:
        bundle = bundles[-1]
        assert {name: bundle.body[name] for name in told["built"]} == readable(told["built"])
        check(bundle, told, "signatures", "sent_at", "server_at", "reason")
        check(bundle, told, prepared_at="created", hash="tx_hash", said="code")
        assert bundle.body["number"] == told["number"] == len(bundles)
        assert all(earlier.code is not None for earlier in bundles[:-1])
        newest = newest_bundle(journal.ledger, group.id)
        assert newest is not None
        assert (newest.operation, newest.word) == (bundle, told["state"])
        assert (list(newest.signatures), newest.said) == (told["signatures"], told["code"])
        for name, value in told["built"].items():
            if name != "needs":
                assert plain(getattr(newest, name)) == value
        assert [need.units for need in newest.needs] == [
            need["units"] for need in told["built"]["needs"]
        ]
    payments = transactions_of(journal.ledger, group.id)
    for act, payment in zip(payments, answers[f"payments.of {place}"], strict=True):
        assert (act.kind, signed_under(act)) == (payment["paying"], payment["intent_id"])
        assert list(paid_orders(act)) == payment["service_ids"]
        members = ("symbol", "decimals", "contract", "units")
        assert plain(sum_of(act)).items() >= {name: payment[name] for name in members}.items()
        assert payment["state"] in STEPS[act.state]
        assert (act.hash, act.code) == (payment["hash"], payment["code"])


def readable(built: Any) -> Any:
    """Moments as a bundle keeps them."""
    text = json.dumps(built)
    return json.loads(text.replace('+00:00"', '.000Z"'))


def test_what_was_begun_twice_under_one_intent_stands_twice(tmp_path: Path) -> None:
    """The trader said no to a transaction and signed it later."""
    path = old_journals.everything(tmp_path / "profile" / "journal.db", "7")
    changed(
        path,
        "INSERT INTO bundle_payment SELECT batch_id, group_number, number + 100, paying, intent_id,"
        " service_ids, symbol, decimals, contract, units, 'REFUSED', NULL, 'NOT_CONFIRMED'"
        " FROM bundle_payment",
    )
    journal = Journal.open(path, clock())
    assert journal.problem is None
    acts = journal.ledger.where("kind IN ('fund', 'part')")
    intents = [signed_under(act) for act in acts]
    assert intents
    assert all(intents.count(intent) == 2 for intent in intents)
    journal.close()


def test_withdrawals_stand_in_the_ledger(brought: Brought) -> None:
    journal, answers = brought.journal, brought.answers
    questions = [name for name in answers if name.startswith("withdrawals.get ")]
    assert len(questions) == len(journal.ledger.where("kind = 'withdraw'"))
    for question in questions:
        told = answers[question]
        act = withdrawal_of(journal.ledger, told["intent_id"])
        assert act is not None
        assert plain(taken_of(act)) == told["taken"]
        check(act, told, "account", "sender", "chain", "hash", moved_at="moved")
        assert told["state"] in STEPS[act.state]
    for name, states in (("open", OPEN), ("counted", (State.DONE,))):
        place = "0x5e01", "base"
        assert [act.id for act in withdrawals(journal.ledger, *place, *states)] == [
            told["intent_id"] for told in answers.get(f"withdrawals.{name} 0x5e01 base", [])
        ]


def test_a_claim_is_held_by_what_was_done_or_came_first(tmp_path: Path) -> None:
    path = old_journals.everything(tmp_path / "journal.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        copied = "INSERT INTO call SELECT id + ?, method, path, body, ?, sent_at, status,"
        copied += " request_id, code, service_id, hash FROM call WHERE id = 6"
        db.execute(copied, (1000, "SENT"))
        db.execute(copied, (2000, "ACKED"))
        db.execute("UPDATE bundle_payment SET state = 'SENT' WHERE intent_id = 'fund-refused'")
        db.execute("UPDATE bundle_payment SET contract = '0xdd' WHERE intent_id = 'fund-coin'")
    journal = Journal.open(path, clock())
    acts = journal.ledger.where("claim IS NOT NULL AND state <> 'refused'")
    assert len({act.claim for act in acts}) == len(acts)
    assert not [act for act in acts if act.state is State.DONE and act.kind in FREED_WHEN_DONE]
    [payment] = [act for act in acts if act.claim == "deposit:payFbegunxxxxxx"]
    assert payment.id == "call/2006"
    fundings = {signed_under(act) for act in acts if act.kind == "fund"}
    assert fundings & {"fund-refused", "fund-coin"} == {"fund-refused"}
    # What was sent once more is under way: only what is done may be sent again.
    twins = journal.ledger.where("kind = 'batch' AND body LIKE ?", f"%{'d' * 64}%")
    assert [(act.state in OPEN, act.claim is not None) for act in twins] == [
        (False, False),
        (True, True),
    ]
    journal.close()


def test_everything_is_in_the_files() -> None:
    """Every old word of every kind stands in what is brought up."""
    text = old_journals.EVERYTHING.read_text()
    words = """
        PREPARED SENT ACKED REFUSED UNKNOWN RESOLVED_YES RESOLVED_NO ABANDONED_BY_USER
        open created refused unknown not_created abandoned
        built signed sent submitted confirmed failed withdrawn replaced
        planned differs foreign unrepeated lower contradicts released
        /sandbox/deposits /wallet/deposits /wallet/bundles fund part
    """
    assert not [word for word in words.split() if f"'{word}'" not in text]


def act_of(journal: Journal, id_: str) -> Operation:
    act = journal.ledger.get(id_)
    assert act is not None, id_
    return act


def moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def plain(value: Any) -> Any:
    """As ``answers.json`` has it."""
    match value:
        case Order():
            return {"order": value.service_id, "sha": digest(encode_twice(value)[1])}
        case Intent():
            return {"intent": value.id, "sha": digest(json.dumps(value.as_json()))}
        case Struct():
            return {name: plain(one) for name, one in structs.asdict(value).items()}
        case dict():
            return {str(name): plain(one) for name, one in value.items()}
        case set() | frozenset():
            return sorted(map(plain, value), key=str)
        case tuple() if hasattr(value, "_asdict"):
            return plain(value._asdict())
        case list() | tuple():
            return [plain(one) for one in value]
        case datetime():
            return value.isoformat()
        case Decimal():
            return str(value)
    return value


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# Whole or not at all


def changed(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(statement)


def kept(path: Path) -> tuple[int, object, object]:
    return old_journals.version(path), old_journals.shape(path), old_journals.rows(path)


def test_the_file_is_copied_as_it_was_before(brought: Brought, tmp_path: Path) -> None:
    """And is as a new one, of which there is no copy; opened again, both stay."""
    old, before, new = brought.path, brought.before, tmp_path / "new" / "journal.db"
    for path in (old, new):
        JournalFile.open(path).close()
    assert old_journals.shape(old) == old_journals.shape(new)
    assert old_journals.version(old) == old_journals.version(new) == SCHEMA_VERSION
    assert old_journals.rows(new) == {}
    assert [one.name for one in new.parent.iterdir()] == [new.name]
    copy = copy_name(old, before[0])
    assert copy.name == f"journal-version-{before[0]}.db"
    assert copy.stat().st_mode & 0o777 == 0o600
    assert kept(copy) == before
    left = {one for one in old.parent.iterdir() if not one.name.endswith(("-wal", "-shm"))}
    assert left == {old, copy}


def test_a_desk_of_an_older_version_finds_nothing_to_write_to(old: Path) -> None:
    """It still runs on the file: what it would do next it cannot write down, so it does nothing."""
    with closing(sqlite3.connect(old, isolation_level=None)) as running:
        tables = [
            name
            for (name,) in running.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
            )
        ]
        JournalFile.open(old).close()
        assert {*tables} <= {*OLD_TABLES, "order_row"}
        for name in tables:
            with pytest.raises(sqlite3.OperationalError, match="no such table"):
                running.execute(f"SELECT * FROM {name}")  # noqa: S608


def of_another_program(path: Path, number: int) -> None:
    path.write_bytes(b"")
    changed(path, "CREATE TABLE invoice (id INTEGER)")
    changed(path, f"PRAGMA user_version={number}")


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (partial(of_another_program, number=0), "JOURNAL_UNKNOWN"),
        (partial(of_another_program, number=1), "JOURNAL_UNKNOWN"),
        (partial(of_another_program, number=7), "JOURNAL_UNKNOWN"),
        (f"PRAGMA user_version={SCHEMA_VERSION + 1}", "JOURNAL_NEWER"),
        ("PRAGMA user_version=2147483647", "JOURNAL_NEWER"),
        ("PRAGMA user_version=-1", "JOURNAL_UNKNOWN"),
        ("ALTER TABLE call RENAME COLUMN code TO cipher", "JOURNAL_UNKNOWN"),
        ("ALTER TABLE intent RENAME TO intention", "JOURNAL_UNKNOWN"),
        ("UPDATE step SET state = 'LOST'", "JOURNAL_UNKNOWN"),
        ("UPDATE intent SET frozen = '{'", "JOURNAL_UNKNOWN"),
        ("CREATE TABLE operation (id INTEGER)", "JOURNAL_NOT_MOVED"),
    ],
)
def test_a_journal_of_another_kind_is_refused_and_left_as_it_is(
    old: Path, spoil: str | Callable[[Path], None], code: str
) -> None:
    if isinstance(spoil, str):
        changed(old, spoil)
    else:
        spoil(old)
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


@pytest.mark.parametrize("last", [None, "intent", "step"])
def test_a_journal_without_its_number_is_one_of_the_first_release(
    old: Path, tmp_path: Path, last: str | None
) -> None:
    """A desk of that release was killed after it made its tables, or some of them."""
    numbered = old_journals.written(tmp_path / "numbered.db")
    changed(old, "PRAGMA user_version=0")
    tables = [name for name in OLD_TABLES if name in {row[1] for row in old_journals.shape(old)}]
    for name in tables[tables.index(last) + 1 :] if last else ():
        changed(numbered, f"DELETE FROM {name}")  # noqa: S608
        changed(old, f"DROP TABLE {name}")
    was = kept(old)
    for path in (numbered, old):
        JournalFile.open(path).close()
    assert kept(old) == kept(numbered)
    assert kept(copy_name(old, 0)) == was


def test_without_room_for_the_copy_nothing_is_changed(old: Path) -> None:
    before = kept(old)
    (old.parent / ".journal-version-1.db.part").mkdir()
    with pytest.raises(JournalRefused, match="every order stands in the file") as refused:
        JournalFile.open(old)
    assert refused.value.code == "JOURNAL_NOT_MOVED"
    assert kept(old) == before


def test_without_room_for_the_new_tables_nothing_is_changed(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, connect = kept(old), sqlite3.connect

    def full(*arguments: Any, **options: Any) -> sqlite3.Connection:
        db: sqlite3.Connection = connect(*arguments, **options)
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count={max(pages, 1) + 8}")
        return db

    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(JournalRefused, match="database or disk is full") as refused:
        JournalFile.open(old)
    monkeypatch.undo()
    assert refused.value.code == "JOURNAL_NOT_MOVED"
    assert kept(old) == before
    JournalFile.open(old).close()
    assert old_journals.version(old) == SCHEMA_VERSION


@pytest.mark.parametrize("name", ["1", "7"])
def test_a_file_that_was_cut_off_is_kept_as_it_is(tmp_path: Path, name: str) -> None:
    whole = old_journals.everything(tmp_path / "whole.db", name)
    changed(whole, "PRAGMA wal_checkpoint(TRUNCATE)")
    content = whole.read_bytes()
    for part in range(1, 8):
        path = tmp_path / f"{part}" / "journal.db"
        path.parent.mkdir()
        path.touch(0o600)
        path.write_bytes(content[: len(content) * part // 8])
        before = path.read_bytes()
        try:
            file = JournalFile.open(path)
        except JournalRefused:
            pass
        else:
            assert file.problem is not None
        assert path.read_bytes() == before
        assert not copy_name(path, int(name)).exists()


OPENER = """
import sys
from pathlib import Path
from swapdesk.flows.journal.journal_file import JournalFile
print("here", flush=True)
for line in sys.stdin:
    file = JournalFile.open(Path(line.strip()))
    print(file.problem, len(file.read("SELECT * FROM orders", ())), flush=True)
    file.close()
"""
MOMENTS = 30
"""The same moment, so many times: where it is not handled, one of thirty shows it as a rule."""


@pytest.mark.parametrize("exists", [True, False])
def test_of_desks_that_open_at_the_same_moment_one_brings_it_up(old: Path, exists: bool) -> None:
    orders = len(old_journals.rows(old)["known_order"]) if exists else 0
    single = old.parent / "single.db"
    if exists:
        shutil.copy2(old, single)
    JournalFile.open(single).close()
    whole = kept(single)
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
            assert one.stdin is not None
            one.stdin.write(f"{path}\n")
            one.stdin.flush()
        assert said() == {f"None {orders}\n"}
        assert kept(path) == whole
        if exists:
            assert old_journals.version(copy_name(path, 1)) == 1
    for one in openers:
        one.communicate()


def opened(path: Path, moment: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, KILLED, str(path), str(moment)], capture_output=True, text=True
    )


def test_a_kill_at_any_moment_leaves_the_old_journal_or_the_new_one(tmp_path: Path) -> None:
    def again(name: str) -> Path:
        return old_journals.written(tmp_path / name / "journal.db")

    whole = again("whole")
    was = kept(whole)
    moments = int(opened(whole, 0).stdout)
    became = kept(whole)
    assert (was[0], became[0]) == (1, SCHEMA_VERSION)
    assert moments > 1000
    count = sampling.examples(150) // 2
    seen = set()
    for number in range(count):
        moment = 1 + (moments - 1) * number // (count - 1)
        path = again(f"at-{moment}")
        ended = opened(path, moment)
        assert ended.returncode == -9, ended
        state = kept(path)
        assert state in (was, became), moment
        seen.add(state[0])
        copy = copy_name(path, 1)
        if copy.exists():
            assert kept(copy) == was
        else:
            assert state == was
        JournalFile.open(path).close()
        assert kept(path) == became
        assert kept(copy) == was
        assert {one.name for one in path.parent.iterdir()} == {path.name, copy.name}
    assert seen == {1, SCHEMA_VERSION}

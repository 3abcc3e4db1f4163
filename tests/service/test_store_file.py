"""The embedded store's file: durable, private, brought up to date, and written by one thread."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from patience import PATIENCE
from service.new_store import open_new, stores_of
from service.orders_fixtures import ALICE, START
from service.test_store import begun, order, quote
from swapdesk.service.store import schema
from swapdesk.service.store.database import SchemaError, StoreUnavailable, Transaction
from swapdesk.service.store.schema import VERSION
from swapdesk.service.store.sqlite import SqliteDatabase, Writer
from swapdesk.service.store.store import Store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    with stores_of("sqlite"):
        opened = open_new(tmp_path / "service.db")
        yield opened
        await opened.close()


async def test_a_full_disk_is_told_and_survived(store: Store, tmp_path: Path) -> None:
    await begun(store, 1)
    await store.database.write(lambda db: db.row("PRAGMA max_page_count = 1"))
    big = [replace(quote(n), legs=("x" * 4000,)) for n in range(10, 200)]
    with pytest.raises(StoreUnavailable):
        await store.quotes.save(big)
    await store.database.write(lambda db: db.row("PRAGMA max_page_count = 1000000"))
    await begun(store, 2)
    assert await store.quotes.get(ALICE.partner_id, f"{10:024x}") is None
    with sqlite3.connect(tmp_path / "service.db") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_every_commit_is_flushed_to_disk(store: Store) -> None:
    async def pragma(name: str) -> object:
        row = await store.database.write(lambda db: db.row(f"PRAGMA {name}"))
        assert row is not None
        return next(iter(row))

    assert await pragma("journal_mode") == "wal"
    assert await pragma("synchronous") == 2, "FULL: a power cut loses nothing acknowledged"


async def test_nobody_else_on_the_machine_may_read_it(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "service.db")
    await begun(store, 1)
    modes = _modes(tmp_path)
    assert modes == {"service.db": 0o600, "service.db-wal": 0o600, "service.db-shm": 0o600}
    await store.close()


def _modes(directory: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}


def test_a_damaged_file_and_one_of_another_program_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE orders (number INTEGER)")
    with pytest.raises(SchemaError, match="schema_version"):
        Store.open(other)
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"this is no database" * 1000)
    with pytest.raises(SchemaError):
        Store.open(damaged)


@given(
    st.lists(
        st.decimals(min_value=0, max_value=Decimal(10) ** 39, places=40), min_size=2, max_size=2
    )
)
def test_text_order_of_sortable_amounts_is_numeric_order(pair: list[Decimal]) -> None:
    one, other = pair
    sortable: Any = SqliteDatabase.sortable
    assert (sortable(None, one) < sortable(None, other)) == (one < other)
    assert (sortable(None, one) == sortable(None, other)) == (one == other)


# The thread that writes: nobody hears of a change before it is committed


class HeldCommit(sqlite3.Connection):
    """A connection whose commit waits for ``released``, and fails when ``broken``."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.began, self.released = threading.Event(), threading.Event()
        self.broken = False
        self.commits = 0

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            self.commits += 1
            self.began.set()
            assert self.released.wait(PATIENCE)
            if self.broken:
                raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, *values)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE paid (units INTEGER)")
    return path


@pytest.fixture
def held(path: Path) -> HeldCommit:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=HeldCommit)


@pytest.fixture
def writer(held: HeldCommit) -> Iterator[Writer]:
    made = Writer(held, lambda: None)
    yield made
    held.released.set()
    made.close()


async def insert(db: Transaction) -> str:
    await db.run("INSERT INTO paid VALUES (7)")
    return "written"


def kept(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as connection:
        return [units for (units,) in connection.execute("SELECT units FROM paid")]


async def committing(writer: Writer, held: HeldCommit) -> asyncio.Task[str]:
    """Something that is written, at the moment at which its commit has begun."""
    task = asyncio.create_task(writer.submit(insert))
    await asyncio.to_thread(held.began.wait, PATIENCE)
    # What the thread handed over before has its turn now.
    for _ in range(3):
        await asyncio.sleep(0)
    return task


async def test_an_answer_follows_the_commit(writer: Writer, held: HeldCommit, path: Path) -> None:
    task = await committing(writer, held)
    assert not task.done()
    assert kept(path) == []
    held.released.set()
    assert await task == "written"
    assert kept(path) == [7]


async def test_what_was_not_committed_is_not_told_as_done(
    writer: Writer, held: HeldCommit, path: Path
) -> None:
    task = await committing(writer, held)
    held.broken = True
    held.released.set()
    with pytest.raises(StoreUnavailable):
        await task
    assert kept(path) == []


async def test_what_is_asked_for_in_one_turn_of_the_loop_is_one_commit(
    writer: Writer, held: HeldCommit, path: Path
) -> None:
    held.released.set()
    first = asyncio.create_task(writer.submit(insert))
    # All the time that a thread needs which would not wait for the second one.
    asyncio.get_running_loop().call_soon(held.began.wait, 0.1)
    second = asyncio.create_task(writer.submit(insert))
    assert await asyncio.gather(first, second) == ["written"] * 2
    assert held.commits == 1
    assert kept(path) == [7] * 2


async def test_a_writer_that_ends_finishes_what_was_asked_for_in_the_same_turn(
    writer: Writer, held: HeldCommit, path: Path
) -> None:
    held.released.set()
    task = asyncio.create_task(writer.submit(insert))
    await asyncio.sleep(0)
    writer.close()
    assert kept(path) == [7]
    assert await task == "written"


# Files of earlier releases

OLD = Path(__file__).parent / "stores"


def old_file(path: Path, version: int) -> Path:
    """As the release of that schema left it: two orders, of which one is finished, and with schema
    12 one of everything else."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript((OLD / f"schema_{version}.sql").read_text())
    return path


def shape(path: Path) -> set[tuple[Any, ...]]:
    """Every table, column and index."""
    with closing(sqlite3.connect(path)) as db:
        named = db.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    return {(kind, name, " ".join((sql or "").split())) for kind, name, sql in named}


@pytest.mark.parametrize("version", [1, 12])
async def test_an_older_file_is_brought_up_to_date(tmp_path: Path, version: int) -> None:
    path = old_file(tmp_path / "service.db", version)
    store = Store.open(path)
    try:
        waits = await store.orders.get(ALICE.partner_id, "order00001")
        assert waits == order(1)
        assert await store.quotes.get(ALICE.partner_id, waits.quote_id) == replace(
            quote(1), consumed_by="order00001"
        )
        ended = await store.orders.get(ALICE.partner_id, "order00002")
        assert ended is not None
        assert (ended.status, ended.version) == (4, 2)
        sums, _ = await store.books.of(ALICE.partner_id)
        days = [(f"{each.day}", each.orders, each.volume, each.commission) for each in sums]
        earned = Decimal("0.3") if version == 12 else Decimal(0)
        assert days[0] == ("2026-11-20", 1, Decimal("1500.00"), earned)
        assert (await store.books.recount()).agrees
        # A number of the outbox is given once, although its row was dropped.
        newest = await store.outbox.newest()
        moved = replace(waits, status=1, rank=1)
        assert await store.orders.advance(moved, expected_version=1)
        (row,) = await store.outbox.after(newest, 10)
        assert row.sequence == newest + 1 >= 2
        if version == 12:
            await everything_else(store)
            assert days[1:] == [("2026-11-21", 0, Decimal(0), -earned)]
    finally:
        await store.close()
    Store.open(tmp_path / "new.db").database.end()
    assert shape(path) == shape(tmp_path / "new.db")
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)


async def everything_else(store: Store) -> None:
    assert await store.orders.of_transaction("base", "0xab") == "order00003"
    assert [each.service_id for each in await store.groups.orders(ALICE.partner_id, "group-1")] == [
        "order00004"
    ]
    (bundle,) = await store.groups.bundles(ALICE.partner_id, "group-1")
    assert (bundle.number, bundle.service_ids) == (1, {"order00004"})
    assert not await store.payments.reserve("paid", START)
    assert not await store.webhooks.note("source", "event", START)
    ((token, verdict, _),) = await store.scans.newer({})
    assert (token, verdict) == ("token", b"{}")
    assert await store.calls.in_month(ALICE.partner_id, "2026-11") == 7
    assert [each.used for each in await store.calls.usage(ALICE.partner_id, "read")] == [3]
    changes, (alice,) = await store.partners.read()
    assert (changes, alice.name, [each.key for each in alice.keys]) == (2, "alice", ["k"])


def test_a_step_is_taken_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = old_file(tmp_path / "service.db", 12)
    before = shape(path)
    monkeypatch.setattr(schema, "TABLES", schema.TABLES + "CREATE TABLE orders (twice TEXT);")
    with pytest.raises(SchemaError, match="orders"):
        Store.open(path)
    assert shape(path) == before
    monkeypatch.undo()
    Store.open(path).database.end()
    assert shape(path) != before

"""The embedded database: one SQLite file in WAL mode, one thread that writes, and connections that
read. Waiting pieces of work are committed together; one that fails does not affect the others."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Context, Decimal
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from swapdesk.clock import SystemClock
from swapdesk.database_writing import durable, transaction
from swapdesk.paths import make_directories
from swapdesk.service.store import old_files, schema
from swapdesk.service.store.database import (
    NO_VALUES,
    Database,
    SchemaError,
    Still,
    StoreUnavailable,
    Taken,
    Transaction,
    Values,
    Wording,
    Work,
    micros,
    nobody_else,
    numbered,
    write_tallies,
)
from swapdesk.service.store.schema import Types

log = logging.getLogger(__name__)

T = TypeVar("T")

BATCH = 64

TYPES = Types(
    serial="INTEGER PRIMARY KEY AUTOINCREMENT",
    amount="TEXT",
    sortable="TEXT",
    bytes="BLOB",
    keyed=" WITHOUT ROWID",
    outbox="sequence INTEGER PRIMARY KEY AUTOINCREMENT",
)
WORDING = Wording(
    skip_leased="",
    # One writer: whoever has the higher number commits later.
    settled="TRUE",
    among="IN (SELECT value FROM json_each(:among))",
    first_rows="LIMIT :limit",
    clock="SELECT exact_now() AS now",
    # The highest number ever given, also after its row was dropped.
    newest="SELECT seq AS newest FROM sqlite_sequence WHERE name = 'outbox'",
)

_EXACT = Context(prec=400)
"""Decimal context with enough digits for any sum of amounts."""


class SqliteTransaction(Transaction):
    _connection: sqlite3.Connection

    async def rows(self, statement: str, values: Values = NO_VALUES) -> list[sqlite3.Row]:
        return self._execute(statement, values).fetchall()

    async def run(self, statement: str, values: Values = NO_VALUES) -> int:
        return self._execute(statement, values).rowcount

    async def run_each(self, statement: str, values: Sequence[Values]) -> None:
        text, _ = numbered(statement, "?")
        try:
            self._connection.executemany(text, [_asked(statement, row)[1] for row in values])
        except sqlite3.IntegrityError as error:
            raise Taken(str(error)) from error

    async def alone(self, name: str) -> None:
        """Does nothing: SQLite has a single writer, so no other transaction can hold the lock."""

    async def take_time(self) -> None:
        """Does nothing: a SQLite statement has no time limit here."""

    def _execute(self, statement: str, values: Values) -> sqlite3.Cursor:
        try:
            return self._connection.execute(*_asked(statement, values))
        except sqlite3.IntegrityError as error:
            raise Taken(str(error)) from error


def _asked(statement: str, values: Values) -> tuple[str, list[Any]]:
    text, names = numbered(statement, "?")
    arguments = [values[name] for name in names]
    return text, [
        format(argument, "f") if type(argument) is Decimal else argument for argument in arguments
    ]


def _result(work: Work[T], transaction: SqliteTransaction) -> T:
    """Runs a piece of work at once and returns its result. Raises RuntimeError if the work awaits
    anything but the transaction."""
    step = work(transaction).__await__()
    try:
        next(step)
    except StopIteration as ended:
        result: T = ended.value
        return result
    raise RuntimeError("a piece of work awaits something beside its transaction")


class _Item(Struct):
    work: Work[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None


class Writer:
    """A thread that owns the writing connection. It calls ``after_commit`` after each commit of
    work that called ``Transaction.tell``."""

    def __init__(self, connection: sqlite3.Connection, after_commit: Callable[[], None]) -> None:
        self._connection = connection
        self._after_commit = after_commit
        self._queue: queue.SimpleQueue[list[_Item] | None] = queue.SimpleQueue()
        self._asked: dict[asyncio.AbstractEventLoop, list[_Item]] = {}
        """The pieces of work submitted in the current turn of each event loop."""
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    async def submit(self, work: Work[T]) -> T:
        """Runs ``work`` in a transaction; returns its result after the commit. If ``work`` raises,
        undoes its changes and raises the same exception. Raises StoreUnavailable."""
        loop = asyncio.get_running_loop()
        item = _Item(work, loop, loop.create_future())
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the store is closed")
            if loop not in self._asked:
                self._asked[loop] = []
                # The thread would take the first one at once, and flush it for itself alone.
                loop.call_soon(self._hand_over, loop)
            self._asked[loop].append(item)
        result: T = await item.future
        return result

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            if loop in self._asked:
                self._queue.put(self._asked.pop(loop))

    def close(self) -> None:
        """Finishes the submitted work and blocks until the thread has ended."""
        with self._lock:
            if not self._closed:
                self._closed = True
                for asked in self._asked.values():
                    self._queue.put(asked)
                self._asked.clear()
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        connection = self._connection
        try:
            while (first := self._queue.get()) is not None:
                batch, more = self._gather(first)
                tells = self._commit(connection, batch)
                self._resolve(batch)
                if tells:
                    self._after_commit()
                if not more:
                    return
        finally:
            connection.close()

    def _gather(self, batch: list[_Item]) -> tuple[list[_Item], bool]:
        while len(batch) < BATCH:
            try:
                asked = self._queue.get_nowait()
            except queue.Empty:
                break
            if asked is None:
                return batch, False
            batch += asked
        return batch, True

    def _commit(self, connection: sqlite3.Connection, batch: list[_Item]) -> bool:
        transaction = SqliteTransaction(connection)
        try:
            connection.execute("BEGIN IMMEDIATE")
            if len(batch) == 1 or not self._done_together(transaction, batch, connection):
                for item in batch:
                    self._attempt(transaction, item, connection)
            _result(write_tallies, transaction)
            connection.execute("COMMIT")
        except (sqlite3.Error, Taken) as error:
            log.error("store: a commit of %d items failed: %s", len(batch), error)
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            for item in batch:
                item.error = StoreUnavailable(str(error))
        return transaction.tells

    def _done_together(
        self, transaction: SqliteTransaction, batch: list[_Item], connection: sqlite3.Connection
    ) -> bool:
        """Runs all items in one transaction. If an item raises after a change, rolls everything
        back and returns False; the caller then runs each item with a savepoint."""
        for item in batch:
            before = connection.total_changes
            ended = self._run_to_end(item, transaction, connection)
            if not ended and connection.total_changes != before:
                break
        else:
            return True
        connection.execute("ROLLBACK")
        transaction.tallies = {}
        for item in batch:
            item.result = item.error = None
        connection.execute("BEGIN IMMEDIATE")
        return False

    def _attempt(
        self, transaction: SqliteTransaction, item: _Item, connection: sqlite3.Connection
    ) -> None:
        connection.execute("SAVEPOINT item")
        if not self._run_to_end(item, transaction, connection):
            connection.execute("ROLLBACK TO item")
        connection.execute("RELEASE item")

    @staticmethod
    def _run_to_end(
        item: _Item, transaction: SqliteTransaction, connection: sqlite3.Connection
    ) -> bool:
        tallies = dict(transaction.tallies)
        try:
            item.result = _result(item.work, transaction)
        # Whatever it is, it belongs to the caller of this item and must not end the thread.
        except Exception as error:
            if not connection.in_transaction:
                # SQLite itself gave the whole transaction up: disk full, input or output error.
                raise sqlite3.OperationalError(str(error)) from error
            transaction.tallies = tallies
            unavailable = isinstance(error, sqlite3.OperationalError)
            item.error = StoreUnavailable(str(error)) if unavailable else error
            return False
        return True

    @staticmethod
    def _resolve(batch: list[_Item]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[_Item]] = {}
        for item in batch:
            by_loop.setdefault(item.loop, []).append(item)
        for loop, items in by_loop.items():
            try:
                loop.call_soon_threadsafe(_deliver, items)
            except RuntimeError:
                log.info("store: %d results came after their loop had ended", len(items))


class LoopWriter(Writer):
    """Commits on the event loop, one piece of work at a time, for simulations that must repeat
    exactly."""

    def __init__(self, connection: sqlite3.Connection, after_commit: Callable[[], None]) -> None:
        self._connection = connection
        self._after_commit = after_commit
        self._closed = False

    async def submit(self, work: Work[T]) -> T:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        item = _Item(work, loop := asyncio.get_running_loop(), loop.create_future())
        tells = self._commit(self._connection, [item])
        _deliver([item])
        if tells:
            self._after_commit()
        # As with the thread, others come in between.
        await asyncio.sleep(0)
        result: T = await item.future
        return result

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._connection.close()


def _deliver(items: list[_Item]) -> None:
    for item in items:
        if item.future.done():
            continue
        if item.error is not None:
            item.future.set_exception(item.error)
        else:
            item.future.set_result(item.result)


class SqliteDatabase(Database):
    """An open SQLite file of the newest schema."""

    wording = WORDING

    def __init__(self, path: Path, writer: type[Writer] = Writer) -> None:
        self._readers = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-reader")
        self._reading = connect(path, writes=False)
        self._looking = connect(path, writes=False)
        self._grown: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._writer = writer(connect(path, writes=True), self._wake)

    @classmethod
    def open(
        cls, path: Path, world: Mapping[str, str] | None = None, writer: type[Writer] = Writer
    ) -> SqliteDatabase:
        """Opens the file, created (mode 0600) or migrated if needed. ``world`` identifies the
        service that owns the file; None omits the check of the owner. Raises SchemaError."""
        make_directories(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            _prepare(connection, world or {})
        return cls(path, writer)

    async def close(self) -> None:
        await asyncio.to_thread(self._end_threads)
        # Here, where it is looked at.
        self._looking.close()

    def end(self) -> None:
        """Closes the database, like ``close``, and blocks until that is done. Must not be called on
        the event loop."""
        self._end_threads()
        self._looking.close()

    def _end_threads(self) -> None:
        self._writer.close()
        self._readers.shutdown(wait=True)
        self._reading.close()

    async def look(self, statement: str, values: Values = NO_VALUES) -> list[sqlite3.Row]:
        """Returns the rows of a SELECT. Runs it on the event loop, which is faster than in a
        thread."""
        try:
            return await SqliteTransaction(self._looking).rows(statement, values)
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error

    async def write(self, work: Work[T], *, behind: str | None = None) -> T:
        """Like :meth:`Database.write`. ``behind`` has no effect, because SQLite has a single writer
        and needs no locks."""
        return await self._writer.submit(work)

    async def read(self, work: Work[T]) -> T:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(
                self._readers, _result, work, SqliteTransaction(self._reading)
            )
        except (sqlite3.Error, RuntimeError) as error:
            raise StoreUnavailable(str(error)) from error

    async def snapshot(self, work: Work[T]) -> T:
        async def at_once(db: Any) -> T:
            await db.run("BEGIN DEFERRED")
            try:
                return await work(db)
            finally:
                await db.run("COMMIT")

        return await self.read(at_once)

    def pool(self) -> None:
        return None

    def sortable(self, amount: Decimal) -> str:
        """Returns the amount as text that sorts like the number."""
        return format(amount, "081.40f")

    @contextlib.asynccontextmanager
    async def exclusive(self, name: str) -> AsyncIterator[Still]:
        yield nobody_else

    @contextlib.contextmanager
    def growth(self) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        listener = (asyncio.get_running_loop(), event)
        self._grown.add(listener)
        try:
            yield event
        finally:
            self._grown.discard(listener)

    def _wake(self) -> None:
        for loop, event in tuple(self._grown):
            with contextlib.suppress(RuntimeError):  # that loop has ended
                loop.call_soon_threadsafe(event.set)


def back_up(path: Path, copy: Path) -> int:
    """Writes a snapshot of the service's file, which may be in use, into a new file (mode 0600);
    returns its size. A plain copy would lack commits. Raises FileExistsError, OSError,
    sqlite3.Error."""
    os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    try:
        with (
            contextlib.closing(sqlite3.connect(path, isolation_level=None)) as source,
            contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as target,
        ):
            durable(target)
            source.backup(target)
            (verdict,) = target.execute("PRAGMA quick_check(1)").fetchone()
            target.execute("SELECT number FROM schema_version")
        if verdict != "ok":
            raise sqlite3.DatabaseError(f"the copy is damaged: {verdict}")
        with copy.open("rb") as written:
            os.fsync(written.fileno())
        return copy.stat().st_size
    except BaseException:
        copy.unlink()
        raise


def connect(path: Path, *, writes: bool) -> sqlite3.Connection:
    """Returns a connection to an existing file, with SQL functions that add amounts exactly. If
    ``writes`` is True, commits are durable; otherwise the connection can only read."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    _add_functions(connection)
    connection.execute("PRAGMA busy_timeout = 5000")
    if writes:
        connection.execute("PRAGMA journal_mode = WAL")
        durable(connection)
    else:
        connection.execute("PRAGMA query_only = ON")
    return connection


_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def _prepare(connection: sqlite3.Connection, world: Mapping[str, str]) -> None:
    connection.row_factory = sqlite3.Row
    _add_functions(connection)

    async def up_to_date(db: Transaction) -> None:
        if not await db.rows("SELECT name FROM sqlite_master"):
            await schema.create(db, TYPES)
        await schema.migrate(db, TYPES)
        await schema.claim_world(db, world)

    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise SchemaError(f"the file is damaged, restore a backup of it: {verdict}")
        if 0 < version <= old_files.LAST:
            old_files.to_last(connection, version)
            tables = ";".join([*schema.statements(schema.TABLES, TYPES), ""])
            old_files.to_newest(connection, tables, schema.VERSION)
        with transaction(connection):
            _result(up_to_date, SqliteTransaction(connection))
            (number,) = connection.execute("SELECT number FROM schema_version").fetchone()
            # What releases before schema 13 look at.
            connection.execute(f"PRAGMA user_version = {number}")
    except sqlite3.DatabaseError as error:
        is_damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED
        what = "is damaged, restore a backup of it" if is_damaged else "cannot be used"
        raise SchemaError(f"the file {what}: {error}") from error


def _plus(amount: str, other: str) -> str:
    return format(_EXACT.add(Decimal(amount), Decimal(other)), "f")


class _ExactSum:
    def __init__(self) -> None:
        self._sum = Decimal(0)

    def step(self, amount: str | None) -> None:
        if amount is not None:
            self._sum = _EXACT.add(self._sum, Decimal(amount))

    def finalize(self) -> str:
        return format(self._sum, "f")


def _add_functions(connection: sqlite3.Connection) -> None:
    connection.create_function("exact_plus", 2, _plus, deterministic=True)
    connection.create_aggregate("exact_sum", 1, _ExactSum)  # type: ignore[arg-type]
    connection.create_function("exact_now", 0, lambda: micros(SystemClock().now()))

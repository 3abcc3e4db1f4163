"""The file of the embedded store: its tables, and its one writer thread with group commit.

The tables are written for a new file; an older file is brought up to date. Times are integers,
microseconds since 1970 UTC. Amounts are exact decimal text; ``amount_key`` is the same amount at
fixed width, so that text order is numeric order.

SQLite in WAL mode, separate connections to read. Whatever is queued shares one flush to disk.
Each piece of work has its own savepoint, so that one refusal does not sink its neighbours.
A future is resolved only after the commit.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from swapdesk.database_writing import durable
from swapdesk.service.store import books, partners
from swapdesk.service.store.records import StoreUnavailable

VERSION = 12

_USAGE = """
CREATE TABLE usage (
    partner_id TEXT NOT NULL,
    rate_class TEXT NOT NULL,
    seconds    INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    used       INTEGER NOT NULL,
    PRIMARY KEY (partner_id, rate_class, seconds)
) WITHOUT ROWID;
"""

_SCANS = """
CREATE TABLE scans (
    token_id      TEXT PRIMARY KEY,
    verdict       BLOB,
    expires       INTEGER NOT NULL DEFAULT 0,
    claimed_until INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
"""

_TRANSACTIONS = """
CREATE UNIQUE INDEX one_order_per_transaction ON orders
    (json_extract(detail, '$.sourceChain'), json_extract(detail, '$.confirmedHash'))
    WHERE json_extract(detail, '$.confirmedHash') IS NOT NULL;
"""

_GROUPS = """
CREATE INDEX orders_of_group ON orders (multi_id) WHERE multi_id IS NOT NULL;

CREATE TABLE groups (
    multi_id   TEXT PRIMARY KEY,
    partner_id TEXT NOT NULL,
    created    INTEGER NOT NULL,
    chain      TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE bundles (
    number         INTEGER PRIMARY KEY AUTOINCREMENT,
    multi_id       TEXT NOT NULL,
    partner_id     TEXT NOT NULL,
    chain          TEXT NOT NULL,
    created        INTEGER NOT NULL,
    modified       INTEGER NOT NULL,
    expires        INTEGER NOT NULL,
    state          TEXT NOT NULL,
    owner          TEXT NOT NULL,
    batches        TEXT NOT NULL,
    tx_hash        TEXT,
    failure_reason TEXT
);
CREATE INDEX bundles_of_group ON bundles (multi_id, number);
CREATE INDEX bundles_under_way ON bundles (number) WHERE state = 'submitted';
"""

_BOOKS = """
CREATE INDEX orders_finished ON orders (partner_id, json_extract(detail, '$.finished'))
    WHERE status = 4;

CREATE TABLE day_sums (
    partner_id TEXT NOT NULL,
    day        TEXT NOT NULL,
    orders     INTEGER NOT NULL,
    private    INTEGER NOT NULL,
    volume     TEXT NOT NULL,
    commission TEXT NOT NULL,
    entries    INTEGER NOT NULL,
    PRIMARY KEY (partner_id, day)
) WITHOUT ROWID;

CREATE TABLE commissions (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    partner_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    month      TEXT NOT NULL,
    booked     INTEGER NOT NULL,
    amount     TEXT NOT NULL,
    service_id TEXT
);
CREATE UNIQUE INDEX one_entry_per_order ON commissions (service_id, kind)
    WHERE service_id IS NOT NULL;
CREATE INDEX commissions_of_month ON commissions (partner_id, kind, month);
CREATE TRIGGER commissions_are_not_changed BEFORE UPDATE ON commissions
    BEGIN SELECT RAISE(ABORT, 'a commission is reversed by an entry, never changed'); END;
CREATE TRIGGER commissions_are_not_deleted BEFORE DELETE ON commissions
    BEGIN SELECT RAISE(ABORT, 'a commission is reversed by an entry, never deleted'); END;
"""

_PAYMENTS = """
CREATE TABLE payments (
    payment     TEXT PRIMARY KEY,
    ends        INTEGER NOT NULL,
    transaction_hash TEXT
) WITHOUT ROWID;
CREATE INDEX payments_by_end ON payments (ends);
"""

_PAID_CREATES = """
ALTER TABLE payments ADD COLUMN opened TEXT;
ALTER TABLE payments ADD COLUMN sent TEXT;
ALTER TABLE groups ADD COLUMN told INTEGER NOT NULL DEFAULT 1;
ALTER TABLE orders ADD COLUMN told INTEGER NOT NULL DEFAULT 1;
DROP INDEX orders_by_creation;
DROP INDEX orders_by_status;
CREATE INDEX orders_by_creation ON orders (partner_id, created, told);
CREATE INDEX orders_by_status ON orders (partner_id, status, created, told);
"""
# ``opened`` is the order or the group that the call of a payment began; ``sent`` is the transaction
# that was to bring it to a chain, and ``transaction_hash`` the one that did.

_DEPOSIT_ACCOUNTS = """
ALTER TABLE orders ADD COLUMN deposit_account TEXT;
CREATE INDEX orders_by_deposit ON orders (deposit_account, created)
    WHERE deposit_account IS NOT NULL;
"""

_WEBHOOKS = """
CREATE TABLE webhooks (
    source   TEXT NOT NULL,
    event_id TEXT NOT NULL,
    ends     INTEGER NOT NULL,
    PRIMARY KEY (source, event_id)
) WITHOUT ROWID;
CREATE INDEX webhooks_by_end ON webhooks (ends);
"""

TABLES = (
    """
CREATE TABLE quotes (
    quote_id        TEXT PRIMARY KEY,
    partner_id      TEXT NOT NULL,
    purpose         TEXT NOT NULL,
    route           TEXT NOT NULL,
    created         INTEGER NOT NULL,
    expires         INTEGER NOT NULL,
    token_in_id     TEXT NOT NULL,
    token_out_id    TEXT NOT NULL,
    amount_in       TEXT NOT NULL,
    amount_out      TEXT NOT NULL,
    amount_in_usd   TEXT,
    amount_out_usd  TEXT,
    minutes         TEXT NOT NULL,
    legs            TEXT NOT NULL,
    middle_token_id TEXT,
    middle_amount   TEXT,
    consumed_by     TEXT,
    fixed           INTEGER NOT NULL DEFAULT 0,
    receive         INTEGER NOT NULL DEFAULT 0,
    markup          TEXT NOT NULL DEFAULT '0',
    rates           TEXT NOT NULL DEFAULT '[]',
    payout_wallet   INTEGER,
    requires_refund_address INTEGER NOT NULL DEFAULT 0,
    filtered        INTEGER NOT NULL DEFAULT 0,
    choice          TEXT NOT NULL DEFAULT '{}',
    plan            TEXT NOT NULL DEFAULT '{}',
    fee_usd         TEXT
) WITHOUT ROWID;
CREATE INDEX quotes_by_expiry ON quotes (expires);

CREATE TABLE orders (
    service_id       TEXT PRIMARY KEY,
    record_id        TEXT NOT NULL UNIQUE,
    partner_id       TEXT NOT NULL,
    quote_id         TEXT NOT NULL,
    request_digest   TEXT NOT NULL,
    route            TEXT NOT NULL,
    created          INTEGER NOT NULL,
    modified         INTEGER NOT NULL,
    expires          INTEGER NOT NULL,
    status           INTEGER NOT NULL,
    display_status   TEXT NOT NULL,
    rank             INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    due_at           INTEGER,
    in_status        INTEGER NOT NULL,
    out_status       INTEGER,
    token_in_id      TEXT NOT NULL,
    token_out_id     TEXT NOT NULL,
    amount_in        TEXT NOT NULL,
    amount_out       TEXT NOT NULL,
    amount_in_usd    TEXT,
    amount_out_usd   TEXT,
    minutes          TEXT NOT NULL,
    receiver_address TEXT NOT NULL,
    receiver_tag     TEXT,
    refund_address   TEXT,
    refund_tag       TEXT,
    deposit_address  TEXT,
    deposit_tag      TEXT,
    legs             TEXT NOT NULL,
    middle_token_id  TEXT,
    middle_amount    TEXT,
    failure_code     TEXT,
    attempt          INTEGER NOT NULL,
    detail           TEXT NOT NULL,
    fixed            INTEGER NOT NULL DEFAULT 0,
    receive          INTEGER NOT NULL DEFAULT 0,
    markup           TEXT NOT NULL DEFAULT '0',
    rates            TEXT NOT NULL DEFAULT '[]',
    payout_wallet    INTEGER,
    choice           TEXT NOT NULL DEFAULT '{}',
    plan             TEXT NOT NULL DEFAULT '{}',
    multi_id         TEXT,
    fee_usd          TEXT,
    commission       TEXT,
    amount_key       TEXT NOT NULL,
    lease_owner      TEXT,
    lease_until      INTEGER
);
CREATE UNIQUE INDEX one_order_per_quote ON orders (partner_id, quote_id);
CREATE INDEX orders_by_creation ON orders (partner_id, created);
CREATE INDEX orders_by_status ON orders (partner_id, status, created);
CREATE INDEX orders_due ON orders (lease_until, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE outbox (
    sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
    service_id TEXT NOT NULL,
    partner_id TEXT NOT NULL,
    version    INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    rank       INTEGER NOT NULL,
    committed  INTEGER NOT NULL
);

CREATE TABLE requests (
    partner_id TEXT NOT NULL,
    month      TEXT NOT NULL,
    count      INTEGER NOT NULL,
    PRIMARY KEY (partner_id, month)
) WITHOUT ROWID;
"""
    + _USAGE
    + _SCANS
    + _TRANSACTIONS
    + _GROUPS
    + _BOOKS
    + partners.TABLES
    + _PAYMENTS
    + _WEBHOOKS
    + _PAID_CREATES
    + _DEPOSIT_ACCOUNTS
)

_TERMS = (
    "fixed INTEGER NOT NULL DEFAULT 0",
    "receive INTEGER NOT NULL DEFAULT 0",
    "markup TEXT NOT NULL DEFAULT '0'",
    "rates TEXT NOT NULL DEFAULT '[]'",
    "payout_wallet INTEGER",
    "choice TEXT NOT NULL DEFAULT '{}'",
)
_OF_QUOTES = (
    "requires_refund_address INTEGER NOT NULL DEFAULT 0",
    "filtered INTEGER NOT NULL DEFAULT 0",
)
UPDATES: dict[int, str] = {
    1: "".join(
        f"ALTER TABLE {table} ADD COLUMN {column};"
        for table, columns in (("quotes", (*_TERMS, *_OF_QUOTES)), ("orders", _TERMS))
        for column in columns
    )
    + _USAGE,
    2: _SCANS,
    3: "".join(
        f"ALTER TABLE {table} ADD COLUMN plan TEXT NOT NULL DEFAULT '{{}}';"
        for table in ("quotes", "orders")
    )
    + _TRANSACTIONS,
    4: "ALTER TABLE orders ADD COLUMN multi_id TEXT;" + _GROUPS,
    5: "ALTER TABLE quotes ADD COLUMN fee_usd TEXT;"
    "ALTER TABLE orders ADD COLUMN fee_usd TEXT;"
    "ALTER TABLE orders ADD COLUMN commission TEXT;" + _BOOKS + books.ENTER_MISSING + books.FILL,
    6: partners.TABLES,
    7: _PAYMENTS,
    8: _WEBHOOKS,
    9: "ALTER TABLE scans RENAME TO old_scans;"  # noqa: S608 - a constant
    + _SCANS
    + "INSERT INTO scans (token_id, verdict) SELECT token_id, verdict FROM old_scans;"
    + "DROP TABLE old_scans;",
    10: _PAID_CREATES,
    11: _DEPOSIT_ACCOUNTS,
}
"""What takes a file from a version to the next one."""


class SchemaError(Exception):
    """The file is damaged, or was written by a newer release."""


def configure(connection: sqlite3.Connection, *, writes: bool) -> None:
    """Durability and waiting, and exact sums: WAL with a flush at every commit."""
    books.add_functions(connection)
    connection.execute("PRAGMA busy_timeout = 5000")
    if writes:
        connection.execute("PRAGMA journal_mode = WAL")
        durable(connection)
    else:
        connection.execute("PRAGMA query_only = ON")


def prepare(connection: sqlite3.Connection) -> None:
    """Create the tables in a new file, or check an old one and bring it up to date.

    Raises SchemaError.
    """
    books.add_functions(connection)
    try:
        _prepare(connection)
    except sqlite3.DatabaseError as error:
        raise SchemaError(f"the file cannot be used: {error}") from error


def _prepare(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise SchemaError(f"the file has schema {version}, this release knows {VERSION}")
    if version == 0:
        connection.executescript(f"BEGIN IMMEDIATE;{TABLES}PRAGMA user_version = {VERSION};COMMIT;")
        return
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise SchemaError(f"the file is damaged: {verdict}")
    for before in range(version, VERSION):
        connection.executescript(
            f"BEGIN IMMEDIATE;{UPDATES[before]}PRAGMA user_version = {before + 1};COMMIT;"
        )


log = logging.getLogger(__name__)

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BATCH = 64


class _Item(Struct):
    work: Work[Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: Exception | None = None


class Writer:
    """Owns the writing connection, which only its thread touches.

    ``after_commit`` is called in the writer's thread after every commit.
    """

    def __init__(self, connection: sqlite3.Connection, after_commit: Callable[[], None]) -> None:
        self._connection = connection
        self._after_commit = after_commit
        self._queue: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    async def submit(self, work: Work[T]) -> T:
        """Run ``work`` in a transaction and return its result after the commit.

        Raises what ``work`` raised (its changes undone), or StoreUnavailable.
        """
        loop = asyncio.get_running_loop()
        item = _Item(work, loop, loop.create_future())
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the store is closed")
            self._queue.put(item)
        result: T = await item.future
        return result

    def close(self) -> None:
        """Finish what is queued and end the thread. Blocks."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        connection = self._connection
        try:
            while (first := self._queue.get()) is not None:
                batch, more = self._gather(first)
                self._commit(connection, batch)
                self._resolve(batch)
                self._after_commit()
                if not more:
                    return
        finally:
            connection.close()

    def _gather(self, first: _Item) -> tuple[list[_Item], bool]:
        batch = [first]
        while len(batch) < BATCH:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if item is None:
                return batch, False
            batch.append(item)
        return batch, True

    def _commit(self, connection: sqlite3.Connection, batch: list[_Item]) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            for item in batch:
                self._attempt(connection, item)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            log.error("store: a commit of %d items failed: %s", len(batch), error)
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            for item in batch:
                item.error = StoreUnavailable(str(error))

    @staticmethod
    def _attempt(connection: sqlite3.Connection, item: _Item) -> None:
        connection.execute("SAVEPOINT item")
        try:
            item.result = item.work(connection)
        # Whatever it is, it belongs to the caller of this item and must not end the thread.
        except Exception as error:
            if not connection.in_transaction:
                # SQLite itself gave the whole transaction up: disk full, input or output error.
                raise sqlite3.OperationalError(str(error)) from error
            connection.execute("ROLLBACK TO item")
            item.error = (
                StoreUnavailable(str(error))
                if isinstance(error, sqlite3.OperationalError)
                else error
            )
        connection.execute("RELEASE item")

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
    """Commits on the event loop, one piece of work at a time: for a world that is repeated, where
    no thread may decide what comes first."""

    def __init__(self, connection: sqlite3.Connection, after_commit: Callable[[], None]) -> None:
        self._connection = connection
        self._after_commit = after_commit
        self._closed = False

    async def submit(self, work: Work[T]) -> T:
        if self._closed:
            raise StoreUnavailable("the store is closed")
        item = _Item(work, loop := asyncio.get_running_loop(), loop.create_future())
        self._commit(self._connection, [item])
        _deliver([item])
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


class StoreFile:
    """Its connections; the file is there and of the newest shape."""

    def __init__(self, path: Path, writer: type[Writer] = Writer) -> None:
        self._readers = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-reader")
        self._reading = connect(path, writes=False)
        self._looking = connect(path, writes=False)
        self._grown: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._writer = writer(connect(path, writes=True), self._wake)

    async def close(self) -> None:
        await asyncio.to_thread(self._writer.close)
        self._readers.shutdown(wait=True)
        self._reading.close()
        self._looking.close()

    def look(self, query: str, values: tuple[str | int, ...] = ()) -> sqlite3.Row | None:
        """The row of what is there once at most."""
        return next(iter(self.look_all(query, values)), None)

    def look_all(self, query: str, values: tuple[str | int, ...] = ()) -> list[sqlite3.Row]:
        """A few rows that are found at once, on the event loop: a thread's turn would take longer.

        A reader never waits for the writer in WAL mode. Raises StoreUnavailable.
        """
        try:
            return self._looking.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable(str(error)) from error

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """The result of ``work`` once it is durable. Raises StoreUnavailable and what it
        raises."""
        return await self._writer.submit(work)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Raises StoreUnavailable."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._readers, work, self._reading)
        except (sqlite3.Error, RuntimeError) as error:
            raise StoreUnavailable(str(error)) from error

    @contextlib.contextmanager
    def growth(self) -> Iterator[asyncio.Event]:
        """An event that is set with every commit."""
        event = asyncio.Event()
        listener = (asyncio.get_running_loop(), event)
        self._grown.add(listener)
        try:
            yield event
        finally:
            self._grown.discard(listener)

    def _wake(self) -> None:
        """Tell who listens, from the writer's thread, that there may be something new."""
        for loop, event in tuple(self._grown):
            with contextlib.suppress(RuntimeError):  # that loop has ended
                loop.call_soon_threadsafe(event.set)


def connect(path: Path, *, writes: bool) -> sqlite3.Connection:
    """A connection to a file that is there."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    configure(connection, writes=writes)
    return connection

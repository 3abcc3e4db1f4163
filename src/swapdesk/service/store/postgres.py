"""The PostgreSQL database of a service on several processes and machines.

Commits that called ``Transaction.tell`` are announced by ``NOTIFY``; a lost notification only
delays readers by a second. An outbox row is delivered once no older transaction is running, which
keeps the order of commits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import asyncpg
from msgspec import Struct

from swapdesk.background import Silence
from swapdesk.service.store import schema
from swapdesk.service.store.database import (
    NO_LINE,
    NO_VALUES,
    Database,
    Place,
    Pool,
    SchemaError,
    Still,
    StoreUnavailable,
    Taken,
    Transaction,
    Values,
    Wording,
    Work,
    numbered,
    write_tallies,
)
from swapdesk.service.store.schema import Types

log = logging.getLogger(__name__)

T = TypeVar("T")

_OLDEST_RUNNING = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint"

TYPES = Types(
    serial="BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    amount="NUMERIC",
    sortable="NUMERIC",
    bytes="BYTEA",
    keyed="",
    outbox=(
        "sequence BIGINT NOT NULL DEFAULT pg_current_xact_id()::text::bigint,"
        " number BIGINT GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (sequence, number)"
    ),
)
WORDING = Wording(
    skip_leased=" FOR UPDATE SKIP LOCKED",
    settled=f"sequence < {_OLDEST_RUNNING}",
    among="IN (SELECT json_array_elements_text(:among::json))",
    first_rows="FETCH FIRST :limit ROWS WITH TIES",
    clock="SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000000)::bigint AS now",
    newest=f"SELECT {_OLDEST_RUNNING} - 1 AS newest",
)
FUNCTIONS = (
    "CREATE FUNCTION exact_plus(NUMERIC, NUMERIC) RETURNS NUMERIC"
    " LANGUAGE SQL IMMUTABLE AS 'SELECT $1 + $2'",
    "CREATE AGGREGATE exact_sum(NUMERIC) (SFUNC = numeric_add, STYPE = NUMERIC, INITCOND = '0')",
)
"""Statements that create ``exact_plus`` and ``exact_sum``, which add NUMERIC; in SQLite they add
decimal text."""

CHANNEL = "swapdesk"
_WAKE_SECONDS = 1.0
"""Seconds for which a waiter relies on notifications, which can be lost, before looking for commits
itself."""
_RETRY_SECONDS = 1.0

_ANSWER_SECONDS = 5.0
_COMMAND_SECONDS = 10.0
"""Seconds without an answer after which the server counts as unreachable; more than its own limit
for a statement."""
_LONG_SECONDS = 600.0
_SETTINGS = {
    "application_name": "swapdesk",
    "statement_timeout": "5000",
    "lock_timeout": "5000",
    # A process that stops in the middle of a transaction would hold up the stream of all others.
    "idle_in_transaction_session_timeout": "10000",
}
_TURN_SECONDS = 20.0
_PATIENT = _SETTINGS | {
    "statement_timeout": "0",
    "lock_timeout": "0",
    # Of a machine that is gone nobody is inside any more.
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
}
_GROUP = 64
_REPEATS = 5

_FAILURES = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # also that no server can be written to
    OSError,
    TimeoutError,
    EOFError,
)
_IN_THE_WAY = (
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    # A newer release has changed a table since the statement was prepared.
    asyncpg.InvalidCachedStatementError,
)


def _asked(statement: str, values: Values) -> tuple[str, list[Any]]:
    text, names = numbered(statement, "$")
    return text, [values[name] for name in names]


class PostgresTransaction(Transaction):
    _seconds: float | None = None

    async def rows(self, statement: str, values: Values = NO_VALUES) -> Sequence[Any]:
        text, asked = _asked(statement, values)
        rows: Sequence[Any] = await self._connection.fetch(text, *asked, timeout=self._seconds)
        return rows

    async def run(self, statement: str, values: Values = NO_VALUES) -> int:
        text, asked = _asked(statement, values)
        try:
            status = await self._connection.execute(text, *asked, timeout=self._seconds)
        except asyncpg.UniqueViolationError as error:
            raise Taken(error.constraint_name) from error
        count = status.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    async def run_each(self, statement: str, values: Sequence[Values]) -> None:
        if not values:
            return
        text, names = numbered(statement, "$")
        try:
            await self._connection.executemany(
                text,
                [[row[name] for name in names] for row in values],
                timeout=self._seconds,
            )
        except asyncpg.UniqueViolationError as error:
            raise Taken(error.constraint_name) from error

    async def alone(self, name: str) -> None:
        await self._connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", name
        )

    async def take_time(self) -> None:
        await self._connection.execute(f"SET LOCAL statement_timeout = '{_LONG_SECONDS:.0f}s'")
        self._seconds = _LONG_SECONDS + _ANSWER_SECONDS


class _Item(Struct):
    work: Work[Any]
    result: asyncio.Future[Any]


class _Group:
    """Runs waiting pieces of work in one transaction. If one piece raises, each piece is repeated
    in its own transaction. Nothing is repeated if the commit may have succeeded."""

    def __init__(self, line: str, once: Callable[[Work[Any]], Awaitable[Any]]) -> None:
        self._line = line
        self._once = once
        self._waiting: list[_Item] = []
        self._under_way: asyncio.Task[None] | None = None

    async def write(self, work: Work[T]) -> T:
        item = _Item(work, asyncio.get_running_loop().create_future())
        self._waiting.append(item)
        if self._under_way is None:
            self._under_way = asyncio.create_task(self._commit_waiting(), name="store-group")
        result: T = await item.result
        return result

    async def end(self) -> None:
        if self._under_way is not None:
            await self._under_way

    async def _commit_waiting(self) -> None:
        try:
            while self._waiting:
                items, self._waiting = self._waiting[:_GROUP], self._waiting[_GROUP:]
                await self._commit(items)
        finally:
            # Not once the task is done: what comes until then would wait for nobody.
            self._under_way = None

    async def _commit(self, items: Sequence[_Item]) -> None:
        outcomes = await self._together(items) if len(items) > 1 else None
        if outcomes is None:
            alone = (_past_others(self._behind_line, item.work) for item in items)
            outcomes = await asyncio.gather(*alone, return_exceptions=True)
        for item, outcome in zip(items, outcomes, strict=True):
            if item.result.done():  # nobody waits any more
                continue
            if isinstance(outcome, BaseException):
                item.result.set_exception(outcome)
            else:
                item.result.set_result(outcome)

    async def _together(self, items: Sequence[_Item]) -> Sequence[Any] | None:
        all_done = False

        async def every(db: Transaction) -> list[Any]:
            nonlocal all_done
            results = [await item.work(db) for item in items]
            await write_tallies(db)
            all_done = True
            return results

        outcome: Any
        (outcome,) = await asyncio.gather(self._behind_line(every), return_exceptions=True)
        if not isinstance(outcome, BaseException):
            results: list[Any] = outcome
            return results
        # Whether a commit that failed has happened is not known of any of them.
        if not all_done:
            return None
        return [StoreUnavailable(str(outcome), in_doubt=True) for _ in items]

    async def _behind_line(self, work: Work[T]) -> T:
        async def passed(db: Transaction) -> T:
            if self._line != NO_LINE:
                await db.alone(self._line)
            return await work(db)

        result: T = await self._once(passed)
        return result


class PostgresDatabase(Database):
    """A PostgreSQL database. It has a pool of connections, and one connection for notifications.
    :meth:`open` creates the tables."""

    wording = WORDING

    def __init__(self, place: Place) -> None:
        self._place = place
        self._pool: Any = None
        self._closed = False
        self._waiting = 0
        self._grown: set[asyncio.Event] = set()
        self._untold = asyncio.Event()
        self._spreading: asyncio.Task[None] | None = None
        self._groups: WeakValueDictionary[str, _Group] = WeakValueDictionary()

    @classmethod
    async def open(cls, place: Place, world: Mapping[str, str] | None = None) -> PostgresDatabase:
        """Connects, and creates or migrates the tables. ``world`` identifies the service that owns
        the database; None omits the check of the owner. Raises SchemaError, and StoreUnavailable if
        there is no writable database."""
        with _answered():
            # A step of a big database takes as long as it takes.
            try:
                connection = await _connect(place, command_timeout=None)
            except ValueError as error:
                if isinstance(error, OSError):  # of a certificate: it is both
                    raise
                message = f"the URL of the database cannot be read: {error}"
                raise StoreUnavailable(message) from error
            try:
                async with connection.transaction():
                    await _prepare(connection, world or {})
            finally:
                await connection.close(timeout=_ANSWER_SECONDS)
        return cls(place)

    async def close(self) -> None:
        await asyncio.gather(*(group.end() for group in tuple(self._groups.values())))
        self._closed = True
        if self._spreading is not None:
            self._spreading.cancel()
            await asyncio.gather(self._spreading, return_exceptions=True)
        if self._pool is not None:
            try:
                async with asyncio.timeout(_ANSWER_SECONDS):
                    await self._pool.close()
            except _FAILURES:
                self._pool.terminate()

    async def write(self, work: Work[T], *, behind: str | None = None) -> T:
        if behind is None:
            return await _past_others(self._once, work)
        group = self._groups.get(behind)
        if group is None:
            group = self._groups[behind] = _Group(behind, self._once)
        return await group.write(work)

    async def _once(self, work: Work[T]) -> T:
        is_done = False
        try:
            async with self._connection() as connection:
                transaction = PostgresTransaction(connection)
                async with connection.transaction():
                    result = await work(transaction)
                    await write_tallies(transaction)
                    is_done = True
        except StoreUnavailable as unavailable:
            unavailable.in_doubt = is_done
            raise
        if transaction.tells:
            self._wake()
            self._untold.set()
            self._begin_spreading()
        return result

    async def read(self, work: Work[T]) -> T:
        async with self._connection() as connection:
            return await work(PostgresTransaction(connection))

    async def snapshot(self, work: Work[T]) -> T:
        return await _past_others(self._at_once, work)

    async def _at_once(self, work: Work[T]) -> T:
        async with (
            self._connection() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            return await work(PostgresTransaction(connection))

    async def look(self, statement: str, values: Values = NO_VALUES) -> Sequence[Any]:
        async with self._connection() as connection:
            return await PostgresTransaction(connection).rows(statement, values)

    def sortable(self, amount: Decimal) -> Decimal:
        return amount

    @asynccontextmanager
    async def exclusive(self, name: str) -> AsyncIterator[Still]:
        with _answered():
            connection = await _connect(self._place, server_settings=_PATIENT)
        try:
            with _answered():
                await connection.execute(
                    "SELECT pg_advisory_lock(hashtextextended($1, 1))", name, timeout=_TURN_SECONDS
                )

            async def still() -> None:
                with _answered():
                    await connection.execute("SELECT 1")

            yield still
        finally:
            with contextlib.suppress(*_FAILURES):
                await connection.close(timeout=_ANSWER_SECONDS)

    def pool(self) -> Pool:
        if self._pool is None:
            return Pool(0, 0, self._waiting)
        return Pool(self._pool.get_size(), self._pool.get_idle_size(), self._waiting)

    @contextlib.contextmanager
    def growth(self) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        self._grown.add(event)
        self._begin_spreading()
        try:
            yield event
        finally:
            self._grown.discard(event)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        with _answered():
            if self._closed:
                raise StoreUnavailable("the store is closed")
            if self._pool is None:
                self._pool = await asyncpg.create_pool(
                    **_reached(self._place),
                    # Whoever asks connects, each within its own time: nobody waits for another one.
                    min_size=0,
                    max_size=self._place.connections,
                    # A connection keeps nothing that would have to be put back.
                    reset=_as_it_is,
                )
            pool = self._pool
            self._waiting += 1
            try:
                connection = await pool.acquire(timeout=_ANSWER_SECONDS)
            finally:
                self._waiting -= 1
            try:
                yield connection
            except asyncpg.ReadOnlySQLTransactionError:
                # The server became a replica behind its connections: look for the other one.
                await pool.expire_connections()
                raise
            finally:
                await pool.release(connection)

    def _wake(self, *_: object) -> None:
        for event in tuple(self._grown):
            event.set()

    def _begin_spreading(self) -> None:
        if self._spreading is None and not self._closed:
            self._spreading = asyncio.create_task(self._spread(), name="store-spread")

    async def _spread(self) -> None:
        silence = Silence(log, "store: the connection that tells of commits of others")
        while True:
            try:
                connection = await _connect(self._place)
                try:
                    connection.add_termination_listener(lambda _: self._untold.set())
                    await connection.add_listener(CHANNEL, self._wake)
                    silence.end()
                    # What was committed while nobody listened.
                    self._wake()
                    while True:
                        with contextlib.suppress(TimeoutError):
                            # Not ``wait_for``: before Python 3.12 it may swallow the end of a task.
                            async with asyncio.timeout(_WAKE_SECONDS):
                                await self._untold.wait()
                        has_news = self._untold.is_set()
                        self._untold.clear()
                        if has_news:
                            await connection.execute(f"NOTIFY {CHANNEL}")
                        else:
                            self._wake()
                finally:
                    await connection.close(timeout=_ANSWER_SECONDS)
            except _FAILURES as error:
                _end_where_told(error)
                silence.begin(_said(error))
                self._wake()
                await asyncio.sleep(_RETRY_SECONDS)


async def _past_others(attempt: Callable[[Work[T]], Awaitable[T]], work: Work[T]) -> T:
    """Runs a transaction and repeats it after conflicts with other transactions. Does not repeat it
    after other failures, because it may have been committed."""
    left = _REPEATS
    while True:
        try:
            return await attempt(work)
        except StoreUnavailable as error:
            left -= 1
            if not left or not isinstance(error.__cause__, _IN_THE_WAY):
                raise


async def _as_it_is(_: Any) -> None:
    """Does nothing: a connection returned to the pool needs no reset."""


def _reached(place: Place) -> dict[str, Any]:
    tls: dict[str, Any] = {}
    if place.tls == "require":
        tls["ssl"] = "require"
    elif place.tls == "verify-full":
        tls["ssl"] = ssl.create_default_context(cafile=place.ca_file)
    return {
        **tls,
        "dsn": place.url,
        "password": place.password,
        "timeout": _ANSWER_SECONDS,
        "command_timeout": _COMMAND_SECONDS,
        "server_settings": _SETTINGS,
        # A replica only reads; of several hosts the one that writes is taken.
        "target_session_attrs": "read-write",
    }


async def _connect(place: Place, **more: Any) -> Any:
    return await asyncpg.connect(**(_reached(place) | more))


async def _prepare(connection: Any, world: Mapping[str, str]) -> None:
    db: Transaction = PostgresTransaction(connection)
    # Processes that start together come one after the other, however long the first one takes.
    await db.run("SET LOCAL statement_timeout = 0")
    await db.run("SET LOCAL lock_timeout = 0")
    await db.alone("swapdesk schema")
    # But a step that waits for a table holds up everybody who works on it: that gives up.
    await db.run("SET LOCAL lock_timeout TO DEFAULT")
    tables = await db.rows(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    )
    if not tables:
        for statement in FUNCTIONS:
            await db.run(statement)
        await schema.create(db, TYPES)
    elif "schema_version" not in {row["table_name"] for row in tables}:
        raise SchemaError("it holds the tables of another program: give this one its own database")
    try:
        await schema.migrate(db, TYPES)
    except asyncpg.UndefinedColumnError as error:
        raise SchemaError(f"it holds the tables of another program: {error}") from None
    await schema.claim_world(db, world)
    # Of a database that was restored into another cluster, whose transactions count anew.
    await db.run(
        "DELETE FROM outbox WHERE sequence >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
    )


@contextlib.contextmanager
def _answered() -> Iterator[None]:
    try:
        yield
    except _FAILURES as error:
        _end_where_told(error)
        if isinstance(error, asyncpg.SyntaxOrAccessError | asyncpg.DataError):
            log.error("store: %s", _said(error))
        raise StoreUnavailable(_said(error)) from error


def _end_where_told(error: BaseException) -> None:
    """Raises CancelledError if this task was cancelled. The database library may report a
    cancellation as a broken connection."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError from error


def _said(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "the database did not answer in time, or all connections to it are busy"
    if isinstance(error, ssl.SSLCertVerificationError):
        wanted = "the URL has to name the host that it is for"
        if error.verify_code not in _OTHER_HOST:
            wanted = "ca_file has to hold the certificate that signed it"
        why = error.verify_message.rstrip(".")
        return f"the certificate of the database is refused: {why}: {wanted}"
    if type(error) is ConnectionError and "rejected SSL" in str(error):
        return "the database offers no TLS: let it (ssl = on), or leave tls out"
    if isinstance(error, asyncpg.InsufficientPrivilegeError):
        return f"{error}: make the user of the URL the owner of the database"
    return str(error) or type(error).__name__


_OTHER_HOST = (62, 64)

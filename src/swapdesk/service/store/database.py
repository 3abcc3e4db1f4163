"""The interface between the store and its database, SQLite or PostgreSQL.

Both run the same statements, with named values (``:name``); differences are in ``Wording`` and
``schema``. Times are integers, microseconds since 1970 UTC. Amounts are exact and read as
``Decimal``.
"""

from __future__ import annotations

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from msgspec import Struct

T = TypeVar("T")

Values = Mapping[str, Any]
"""The values of a statement by name: text, integers, booleans, bytes, ``Decimal`` or None."""
NO_VALUES: Values = {}


class Place(Struct, frozen=True):
    """How to connect to a PostgreSQL database. ``password`` appears in no message. If ``tls`` is
    None, the server decides about encryption; if ``ca_file`` is None, the system's certificates are
    used."""

    url: str
    password: str | None = None
    connections: int = 8
    tls: Literal["require", "verify-full"] | None = None
    ca_file: Path | None = None

    def __repr__(self) -> str:
        return f"Place({self.url})"


class StoreUnavailable(Exception):
    """Raised if the database did not answer. Nothing was changed, unless ``in_doubt`` is True; then
    a commit was not confirmed and may have succeeded."""

    def __init__(self, message: str = "", *, in_doubt: bool = False) -> None:
        super().__init__(message)
        self.in_doubt = in_doubt


class Taken(Exception):
    """Raised if a row with the same key exists already; nothing was written."""


class ClockDiffers(Exception):
    """Raised if this process's clock and the database's differ too much. ``ahead`` is negative if
    this process is behind."""

    def __init__(self, ahead: timedelta) -> None:
        side = "behind" if ahead < timedelta(0) else "ahead of"
        seconds = abs(ahead).total_seconds()
        super().__init__(f"this clock is {seconds:.0f} s {side} the database's: set it right")
        self.ahead = ahead


class SchemaError(Exception):
    """Raised if the database is damaged, belongs to another program or service, or has an unknown
    schema. The message says which."""


class Row(Protocol):
    def __getitem__(self, name: str, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...

    def keys(self) -> Any: ...


class Tally(Protocol):
    """Sums to which several pieces of work in one transaction contribute. They are written once, at
    the end, under a named lock."""

    async def write(self, db: Transaction) -> None: ...


class Transaction(ABC):
    """A transaction on one connection. A piece of work is a coroutine that must await nothing but
    the methods of its transaction."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.tells = False
        self.tallies: dict[str, Tally] = {}
        """The sums of this transaction, by the name of their lock, written before the commit. A
        piece of work that fails leaves them unchanged."""

    @abstractmethod
    async def rows(self, statement: str, values: Values = NO_VALUES) -> Sequence[Row]: ...

    async def row(self, statement: str, values: Values = NO_VALUES) -> Row | None:
        return next(iter(await self.rows(statement, values)), None)

    @abstractmethod
    async def run(self, statement: str, values: Values = NO_VALUES) -> int:
        """Runs the statement; returns the number of rows changed. Raises Taken if a row with the
        same key exists already."""
        ...

    @abstractmethod
    async def run_each(self, statement: str, values: Sequence[Values]) -> None:
        """Runs the statement once for each item of ``values``. Raises Taken if a row with the same
        key exists already."""
        ...

    @abstractmethod
    async def alone(self, name: str) -> None:
        """Waits for the lock with this name and holds it to the end of the transaction."""
        ...

    @abstractmethod
    async def take_time(self) -> None:
        """Removes the time limit from later statements of this transaction, for work over whole
        tables."""
        ...

    def tell(self) -> None:
        """Makes the commit of this transaction wake all waiters for ``Database.growth``, in every
        process."""
        self.tells = True


async def write_tallies(db: Transaction) -> None:
    tallies, db.tallies = db.tallies, {}
    for tally in tallies.values():
        await tally.write(db)


Work = Callable[[Transaction], Awaitable[T]]

NO_LINE = ""

Still = Callable[[], Awaitable[None]]
"""A function that raises StoreUnavailable if the lock from ``exclusive`` may have been lost to
another process."""


async def nobody_else() -> None:
    """Does nothing: the function of type ``Still`` for a process that excludes no others."""


class Wording(Struct, frozen=True):
    """The SQL clauses that SQLite and PostgreSQL write differently."""

    skip_leased: str
    """Suffix of a SELECT of rows to change, which skips rows that another transaction is
    changing."""
    settled: str
    """Condition on an outbox row: no earlier row can still be committed."""
    among: str
    """Condition after a column name: its value is one of the texts in ``:among``, a JSON list."""
    first_rows: str
    """Suffix of a SELECT for the first ``:limit`` rows by ``sequence``, and further rows with the
    last one's ``sequence``."""
    clock: str
    """SELECT that returns ``now``, microseconds since 1970 by the database's own clock."""
    newest: str


class Pool(Struct, frozen=True):
    size: int
    free: int
    waiting: int


class Database(Protocol):
    """A database as the store uses it. Methods raise StoreUnavailable if the database does not
    answer."""

    wording: Wording

    async def write(self, work: Work[T], *, behind: str | None = None) -> T:
        """Runs ``work`` in a transaction; returns its result once durable. If ``work`` raises,
        nothing is changed. ``work`` may run several times; only the last run counts. ``behind``
        names a lock to hold: None for no lock, NO_LINE to change a single row."""
        ...

    async def read(self, work: Work[T]) -> T: ...

    async def snapshot(self, work: Work[T]) -> T:
        """Runs ``work`` like ``read``, but shows it the database as it was at one moment."""
        ...

    async def look(self, statement: str, values: Values = NO_VALUES) -> Sequence[Row]:
        """Returns the rows of a SELECT. The statement must find a few rows at once by an index."""
        ...

    def sortable(self, amount: Decimal) -> str | Decimal:
        """Returns an amount in a form that sorts like the number, for a column declared with
        ``{sortable}``."""
        ...

    def exclusive(self, name: str) -> AbstractAsyncContextManager[Still]:
        """Keeps other processes that use the same name out of the ``async with`` block. A process
        that is killed loses the lock."""
        ...

    def pool(self) -> Pool | None:
        """Returns the state of the connection pool; None if there is no pool."""
        ...

    def growth(self) -> AbstractContextManager[asyncio.Event]:
        """Yields an event that is set after each commit, in any process, of a transaction that
        called ``Transaction.tell``. The event may also be set without such a commit."""
        ...

    async def close(self) -> None: ...


class Subject:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def _value(self, read: Callable[[Any], T], statement: str, **values: Any) -> T | None:
        rows = await self._database.look(statement, values)
        value = next(iter(rows[0])) if rows else None
        return None if value is None else read(value)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    """Returns microseconds since 1970 UTC, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(value: int) -> datetime:
    return _EPOCH + value * _MICROSECOND


_NAMED = re.compile(r"(?<![:\w]):([a-z_]\w*)")


@lru_cache(maxsize=512)
def numbered(statement: str, mark: str) -> tuple[str, tuple[str, ...]]:
    """Replaces each ``:name`` by ``mark`` and a number from 1; returns the statement and the names
    in the order of their numbers."""
    names = tuple(dict.fromkeys(_NAMED.findall(statement)))
    places = {name: f"{mark}{number}" for number, name in enumerate(names, start=1)}
    return _NAMED.sub(lambda match: places[match[1]], statement), names


def insertion(table: str, columns: Sequence[str]) -> str:
    """Returns the INSERT of one row, with a named value for each column."""
    names = ", ".join(columns)
    marks = ", ".join(f":{name}" for name in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - our own names

"""The interface of a database to the store, whichever stands behind it.

There is one set of statements, in the SQL that SQLite and PostgreSQL have in common; their values
are named (``:name``). A piece of work is a coroutine over a ``Transaction``: PostgreSQL answers it
over the network, SQLite at once, in the thread of its one writer. Differences are in ``Wording``
and in the column types of ``schema``. Times are integers, microseconds since 1970 UTC. Amounts are
exact: decimal text in SQLite, NUMERIC in PostgreSQL; either is read as ``Decimal``.
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
"""By name: text, integers, booleans, bytes, ``Decimal`` or None."""
NO_VALUES: Values = {}


class Place(Struct, frozen=True):
    """Location of a PostgreSQL database: a URL without a password, which no message shows either.

    ``tls`` None takes what the server offers; ``ca_file`` are the certificates that verify the
    server's, by default those of the system.
    """

    url: str
    password: str | None = None
    connections: int = 8
    tls: Literal["require", "verify-full"] | None = None
    ca_file: Path | None = None

    def __repr__(self) -> str:
        return f"Place({self.url})"


class StoreUnavailable(Exception):
    """The store did not answer, and nothing has changed.

    ``in_doubt``: the commit was requested and not confirmed, so that everything may have changed.
    """

    def __init__(self, message: str = "", *, in_doubt: bool = False) -> None:
        super().__init__(message)
        self.in_doubt = in_doubt


class Taken(Exception):
    """A row with this key exists already; nothing was written."""


class ClockDiffers(Exception):
    """The clock of this process differs too much from the database's: times of one cannot be
    compared with the other.
    """

    def __init__(self, ahead: timedelta) -> None:
        side = "behind" if ahead < timedelta(0) else "ahead of"
        seconds = abs(ahead).total_seconds()
        super().__init__(f"this clock is {seconds:.0f} s {side} the database's: set it right")
        self.ahead = ahead


class SchemaError(Exception):
    """The database cannot be used: damaged, of another program or world, or of an unknown schema.

    The message says which.
    """


class Row(Protocol):
    def __getitem__(self, name: str, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...

    def keys(self) -> Any: ...


class Tally(Protocol):
    """A sum that works of one transaction share, behind a line."""

    async def write(self, db: Transaction) -> None: ...


class Transaction(ABC):
    """A transaction on one connection, as a piece of work sees it. Work awaits nothing else."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.tells = False
        self.tallies: dict[str, Tally] = {}
        """By line. Written once, after the last work and before the commit.

        A work that fails leaves them unchanged.
        """

    @abstractmethod
    async def rows(self, statement: str, values: Values = NO_VALUES) -> Sequence[Row]: ...

    async def row(self, statement: str, values: Values = NO_VALUES) -> Row | None:
        return next(iter(await self.rows(statement, values)), None)

    @abstractmethod
    async def run(self, statement: str, values: Values = NO_VALUES) -> int:
        """Returns the number of rows changed. Raises Taken."""
        ...

    @abstractmethod
    async def run_each(self, statement: str, values: Sequence[Values]) -> None:
        """Runs the statement with each of these values. Raises Taken."""
        ...

    @abstractmethod
    async def alone(self, name: str) -> None:
        """Waits for the line of this name and holds it to the end of the transaction."""
        ...

    @abstractmethod
    async def take_time(self) -> None:
        """Lets later statements take minutes: for work over all rows."""
        ...

    def tell(self) -> None:
        """Wakes those who wait for ``growth``, in every process, after the commit."""
        self.tells = True


async def write_tallies(db: Transaction) -> None:
    tallies, db.tallies = db.tallies, {}
    for tally in tallies.values():
        await tally.write(db)


Work = Callable[[Transaction], Awaitable[T]]

NO_LINE = ""

Still = Callable[[], Awaitable[None]]
"""Raises StoreUnavailable if the exclusion may have been lost."""


async def nobody_else() -> None:
    """The ``Still`` of a process that is alone anyway."""


class Wording(Struct, frozen=True):
    """Clauses that the two databases word differently."""

    skip_leased: str
    """After a SELECT of rows to change: skips rows that others are changing."""
    settled: str
    """Condition on an outbox row: nothing can be committed before it any more."""
    among: str
    """After a column: equals one of the texts of ``:among``, a JSON list."""
    first_rows: str
    """The first ``:limit`` rows by ``sequence``, and those with the same number as the last."""
    clock: str
    """SELECT of ``now``, by the database's own clock."""
    newest: str


class Pool(Struct, frozen=True):
    size: int
    free: int
    waiting: int


class Database(Protocol):
    """Every method raises StoreUnavailable when it cannot answer."""

    wording: Wording

    async def write(self, work: Work[T], *, behind: str | None = None) -> T:
        """Returns the result of ``work`` once it is durable, all of it or nothing; raises what it
        raises.

        It may run more than once; its last run counts. It holds the line ``behind`` from its
        beginning, as after ``alone``. Works of one line, and those with ``NO_LINE``, may be
        committed together; the latter wait for nobody: each changes a row of its own, and passes no
        line that others wait at.
        """
        ...

    async def read(self, work: Work[T]) -> T: ...

    async def snapshot(self, work: Work[T]) -> T:
        """Like ``read``, with all statements at one moment."""
        ...

    async def look(self, statement: str, values: Values = NO_VALUES) -> Sequence[Row]:
        """Reads a few rows that an index finds at once."""
        ...

    def sortable(self, amount: Decimal) -> str | Decimal:
        """Returns an amount as a value that sorts like the number, for a ``{sortable}`` column."""
        ...

    def exclusive(self, name: str) -> AbstractAsyncContextManager[Still]:
        """Excludes other processes with the same name while inside, whatever is awaited there.

        A process that is killed inside has left.
        """
        ...

    def pool(self) -> Pool | None:
        """None for a database inside the process."""
        ...

    def growth(self) -> AbstractContextManager[asyncio.Event]:
        """An event that is set after each commit that tells, of any process.

        Also set now and then, in case one was missed.
        """
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
    """Microseconds since 1970 UTC, exact."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(value: int) -> datetime:
    return _EPOCH + value * _MICROSECOND


_NAMED = re.compile(r"(?<![:\w]):([a-z_]\w*)")


@lru_cache(maxsize=512)
def numbered(statement: str, mark: str) -> tuple[str, tuple[str, ...]]:
    """Replaces names by ``mark`` and 1, 2, …; returns the statement and the names in that order."""
    names = tuple(dict.fromkeys(_NAMED.findall(statement)))
    places = {name: f"{mark}{number}" for number, name in enumerate(names, start=1)}
    return _NAMED.sub(lambda match: places[match[1]], statement), names


def insertion(table: str, columns: Sequence[str]) -> str:
    """INSERT of one row with values of these names."""
    names = ", ".join(columns)
    marks = ", ".join(f":{name}" for name in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - our own names

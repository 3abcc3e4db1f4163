"""What the store asks of a database, whichever stands behind it.

There is one set of statements, in the SQL that SQLite and PostgreSQL have in common; their values
are named (``:name``). A piece of work is a coroutine over a ``Transaction``: PostgreSQL answers it
over the network, SQLite at once, in the thread of its one writer. What the two do not share stands
in ``Wording`` and in the column types of ``schema``.

Times are integers, microseconds since 1970 UTC. Amounts are exact: decimal text in SQLite, NUMERIC
in PostgreSQL; either is read as ``Decimal``.
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
"""By name: text, whole numbers, flags, bytes, ``Decimal`` or None."""
NO_VALUES: Values = {}


class Place(Struct, frozen=True):
    """Where a PostgreSQL database is: a URL without a password, which no other word shows either.
    ``tls`` None takes what the server offers; ``ca_file`` are the certificates that the server's
    own is verified by, those of the system by default."""

    url: str
    password: str | None = None
    connections: int = 8
    tls: Literal["require", "verify-full"] | None = None
    ca_file: Path | None = None

    def __repr__(self) -> str:
        return f"Place({self.url})"


class StoreUnavailable(Exception):
    """The store did not answer, and nothing has changed; ``in_doubt``: nobody knows whether
    everything has, for its commit was asked for and not answered."""

    def __init__(self, message: str = "", *, in_doubt: bool = False) -> None:
        super().__init__(message)
        self.in_doubt = in_doubt


class Taken(Exception):
    """Somebody was first: a row with this key is there already, and nothing was written."""


class ClockDiffers(Exception):
    """The clock of this process is so far ahead of the database's, or behind it, that what one
    says of time cannot be held against the other."""

    def __init__(self, ahead: timedelta) -> None:
        side = "behind" if ahead < timedelta(0) else "ahead of"
        seconds = abs(ahead).total_seconds()
        super().__init__(f"this clock is {seconds:.0f} s {side} the database's: set it right")
        self.ahead = ahead


class SchemaError(Exception):
    """The database cannot be used: damaged, of another program or world, or of a schema that this
    release does not know. The message says which."""


class Row(Protocol):
    """One row of an answer, by the names of its columns."""

    def __getitem__(self, name: str, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]:
        """The values, in the order of the columns."""
        ...

    def keys(self) -> Any: ...


class Tally(Protocol):
    """What works that share a transaction add to one after the other, behind a line."""

    async def write(self, db: Transaction) -> None: ...


class Transaction(ABC):
    """What a piece of work may ask of one connection. It awaits nothing else."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.tells = False
        """Whether to wake whoever waits for ``growth`` after the commit."""
        self.tallies: dict[str, Tally] = {}
        """By their lines. They are written once, by whoever runs the works: after the last one and
        before the commit. A work that fails leaves them as they were before it."""

    @abstractmethod
    async def rows(self, statement: str, values: Values = NO_VALUES) -> Sequence[Row]: ...

    async def row(self, statement: str, values: Values = NO_VALUES) -> Row | None:
        """The first one."""
        return next(iter(await self.rows(statement, values)), None)

    @abstractmethod
    async def run(self, statement: str, values: Values = NO_VALUES) -> int:
        """How many rows it changed. Raises Taken."""
        ...

    @abstractmethod
    async def run_each(self, statement: str, values: Sequence[Values]) -> None:
        """The same statement with each of these. Raises Taken."""
        ...

    @abstractmethod
    async def alone(self, name: str) -> None:
        """Wait until nobody else is behind this line with the same name; to the end of the
        transaction nobody else passes it."""
        ...

    @abstractmethod
    async def take_time(self) -> None:
        """From here on a statement may take minutes: for who goes over everything there is."""
        ...

    def tell(self) -> None:
        """Wake whoever waits for ``growth``, in every process, once this is committed."""
        self.tells = True


async def write_tallies(db: Transaction) -> None:
    """What the works have added up until now, for the commit or for who reads it by a statement."""
    tallies, db.tallies = db.tallies, {}
    for tally in tallies.values():
        await tally.write(db)


Work = Callable[[Transaction], Awaitable[T]]

NO_LINE = ""

Still = Callable[[], Awaitable[None]]
"""Raises StoreUnavailable where nobody answers any more for who is inside."""


async def nobody_else() -> None:
    """The ``Still`` of whoever is alone anyway."""


class Wording(Struct, frozen=True):
    """Where the two say the same in other words."""

    skip_leased: str
    """Behind a SELECT whose rows are about to be changed: past what others change just now."""
    settled: str
    """Condition on a row of the outbox: nothing can be committed before it any more."""
    among: str
    """Behind a column: it is one of the texts of ``:among``, a list as JSON."""
    first_rows: str
    """The first ``:limit`` rows by ``sequence``, and those with the same number as the last."""
    clock: str
    """SELECT of ``now``: the time of the database's own clock."""
    newest: str
    """SELECT of ``newest``: the number that everything committed from now on lies beyond."""


class Pool(Struct, frozen=True):
    """Connections of one process: how many there are, how many of them are free, and how many
    pieces of work wait for one."""

    size: int
    free: int
    waiting: int


class Database(Protocol):
    """Every method raises StoreUnavailable when it cannot answer."""

    wording: Wording

    async def write(self, work: Work[T], *, behind: str | None = None) -> T:
        """The result of ``work`` once it is durable: all of it or nothing. Raises what it
        raises. It may be begun more than once, and what counts is its last run.

        It is ``behind`` a line as after ``alone``, from its begin on. Works behind the same one
        would wait for each other, and may be committed together. So may those with ``NO_LINE``,
        which wait for nobody: each changes a row of its own, and passes no line that others wait
        at.
        """
        ...

    async def read(self, work: Work[T]) -> T:
        """The result of ``work``, which changes nothing; each statement sees what is committed."""
        ...

    async def snapshot(self, work: Work[T]) -> T:
        """The same from one moment."""
        ...

    async def look(self, statement: str, values: Values = NO_VALUES) -> Sequence[Row]:
        """A few rows that are found at once by an index."""
        ...

    def sortable(self, amount: Decimal) -> str | Decimal:
        """An amount as a value of the order of numbers, for a column of the type ``{sortable}``."""
        ...

    def exclusive(self, name: str) -> AbstractAsyncContextManager[Still]:
        """While inside, whatever is awaited there, nobody of another process is inside with the
        same name. Whoever is killed there is inside no more."""
        ...

    def pool(self) -> Pool | None:
        """None for a database that is within the process."""
        ...

    def growth(self) -> AbstractContextManager[asyncio.Event]:
        """An event that is set after each commit that tells, of whichever process; and now and
        then, in case that one was missed."""
        ...

    async def close(self) -> None: ...


class Subject:
    """What one subject of the store keeps, over a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def _value(self, read: Callable[[Any], T], statement: str, **values: Any) -> T | None:
        """The one column of the first row, as ``read`` gives it; None for no row, and for null."""
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
    """A statement with ``mark`` and 1 in place of the first name, and the names in that order."""
    names = tuple(dict.fromkeys(_NAMED.findall(statement)))
    places = {name: f"{mark}{number}" for number, name in enumerate(names, start=1)}
    return _NAMED.sub(lambda found: places[found[1]], statement), names


def insertion(table: str, columns: Sequence[str]) -> str:
    """INSERT of one row with values of these names."""
    names = ", ".join(columns)
    marks = ", ".join(f":{name}" for name in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - our own names

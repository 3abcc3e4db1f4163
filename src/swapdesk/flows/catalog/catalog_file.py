"""Stores the token catalogue in one file: a cache that is replaced as a whole and may be lost.

Each refresh writes a new generation beside the old one and makes it current in one commit, so that
a reader sees either the old list or the new one. Generation 0 holds tokens that were requested by
their contract and that the service's list does not contain. A finished generation is also stored
sorted and in columns, so that opening the file needs no sorting or parsing.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from datetime import datetime
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from swapdesk.flows.catalog.token_list import (
    ListPart,
    TextColumn,
    TokenList,
    TokenRow,
    Verdict,
    names_of,
    pack,
)
from swapdesk.paths import make_directories

if TYPE_CHECKING:
    from swapdesk.wire.tokens import Token


_VERSION = 3
"""Version of the file's format. A file of another version is discarded."""
_SCHEMA = """
CREATE TABLE token (
    generation INTEGER NOT NULL, id TEXT NOT NULL, chain TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (generation, id)
) STRICT;
CREATE TABLE listing (
    generation INTEGER NOT NULL, field INTEGER NOT NULL, part INTEGER NOT NULL,
    block BLOB NOT NULL,
    PRIMARY KEY (generation, field, part)
) STRICT;
CREATE TABLE chain (
    generation INTEGER NOT NULL, short_name TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (generation, short_name)
) STRICT;
CREATE TABLE provider (
    generation INTEGER NOT NULL, place INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (generation, place)
) STRICT;
CREATE TABLE generation (
    number INTEGER PRIMARY KEY AUTOINCREMENT, begun REAL NOT NULL, finished REAL,
    skipped INTEGER NOT NULL DEFAULT 0
) STRICT;
"""


def connect(path: Path) -> sqlite3.Connection:
    """Opens or creates the catalogue file (mode 0600). Raises sqlite3.DatabaseError if it is
    damaged or of another version."""
    connection = sqlite3.connect(path, timeout=2.0)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
        elif version != _VERSION:
            raise sqlite3.DatabaseError(f"catalogue of version {version}")
    except BaseException:
        connection.close()
        raise
    path.chmod(0o600)
    return connection


def token_names(db: sqlite3.Connection, beginning: str) -> list[str]:
    """Returns the ``symbol.chain`` names that begin with ``beginning``, except those of disabled or
    unverified tokens. Empty if the file has another version."""
    current = None
    if db.execute("PRAGMA user_version").fetchone()[0] == _VERSION:
        current = db.execute(
            "SELECT max(number) FROM generation WHERE finished IS NOT NULL"
        ).fetchone()[0]
    columns = []
    for name in ("symbols", "chains", "flags"):
        blocks = db.execute(
            "SELECT block FROM listing WHERE generation = ? AND field = ? ORDER BY part",
            (current, ListPart._fields.index(name)),
        )
        columns.append(b"".join(block for (block,) in blocks))
    symbols, chains, flags = columns
    return names_of(symbols, chains, flags, beginning)


UNLISTED = 0
NOTHING_LISTED = -1
_INSERT = "INSERT OR REPLACE INTO token (generation, id, chain, body) VALUES (?, ?, ?, ?)"
_FIELDS = range(len(ListPart._fields))
_STEP = 200
"""Number of tokens that are handled before the event loop runs again."""


class _Written(Struct):
    ids: set[str] = field(default_factory=set)
    last: TokenRow | None = None
    parts: int = 0
    tidy: bool = True

    def add(self, row: TokenRow) -> None:
        if row.id in self.ids or (self.last is not None and row.order < self.last.order):
            self.tidy = False
        self.ids.add(row.id)
        self.last = row


def unusable(path: Path, error: sqlite3.Error) -> OSError:
    """Returns an OSError that names the file, for an error of SQLite such as a full disk."""
    return OSError(errno.EIO, str(error), str(path))


class CatalogFile:
    """The SQLite file of the catalogue. A damaged or outdated file is created anew."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._written: dict[int, _Written] = {}

    @classmethod
    def open(cls, path: Path) -> CatalogFile:
        """Opens or creates the file. Raises OSError, with the path, if that fails."""
        make_directories(path.parent)
        try:
            return cls(path, connect(path))
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise unusable(path, error) from error
            for leftover in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
                leftover.unlink(missing_ok=True)
        try:
            return cls(path, connect(path))
        except sqlite3.Error as error:
            raise unusable(path, error) from error

    def close(self) -> None:
        self._connection.close()

    def current(self) -> tuple[int, float] | None:
        """Returns the number of the current generation (a complete download) and its Unix time;
        None if there is no generation."""
        row = self._connection.execute(
            "SELECT number, finished FROM generation WHERE finished IS NOT NULL "
            "ORDER BY number DESC LIMIT 1"
        ).fetchone()
        return None if row is None else (int(row[0]), float(row[1]))

    @property
    def _listed(self) -> int:
        current = self.current()
        return NOTHING_LISTED if current is None else current[0]

    def skipped(self) -> int:
        """Returns the number of tokens that the current list lacks because they could not be
        read."""
        row = self._connection.execute(
            "SELECT skipped FROM generation WHERE number = ?", (self._listed,)
        ).fetchone()
        return 0 if row is None else int(row[0])

    def begin(self, now: datetime) -> int:
        """Creates a new, unfinished generation and returns its number."""
        with self._connection:
            row = self._connection.execute(
                "INSERT INTO generation (begun) VALUES (?)", (now.timestamp(),)
            )
        assert row.lastrowid is not None  # an INSERT just happened
        return row.lastrowid

    def add_tokens(
        self, generation: int, tokens: Sequence[tuple[Token, bytes]], now: datetime
    ) -> list[TokenRow]:
        """Stores tokens, given as pairs of a token and its JSON without ``chainData``, and returns
        their rows. ``now`` decides which security scans have expired."""
        from swapdesk.flows.catalog.token_safety import row_of

        rows: list[TokenRow] = []
        listed: list[tuple[TokenRow, float | None]] = []
        written = self._written.setdefault(generation, _Written())
        for token, _ in tokens:
            row = row_of(token, now)
            rows.append(row)
            written.add(row)
            # Stored without the effect of time: the scan grows old after it was stored.
            verdict = Verdict.BENIGN if row.verdict is Verdict.STALE else row.verdict
            ends = token.security_scan.expires_at.timestamp() if token.security_scan else None
            listed.append((row._replace(verdict=verdict), ends))
        with self._connection:
            self._connection.executemany(
                _INSERT,
                [
                    (generation, row.id, row.chain, body)
                    for row, (_, body) in zip(rows, tokens, strict=True)
                ],
            )
            if generation != UNLISTED and listed:
                self._write_part(generation, written.parts, pack(listed))
                written.parts += 1
        return rows

    def _write_part(self, generation: int, number: int, part: ListPart) -> None:
        self._connection.executemany(
            "INSERT INTO listing VALUES (?, ?, ?, ?)",
            [(generation, at, number, block) for at, block in enumerate(part)],
        )

    def add_chains(self, generation: int, chains: Iterable[tuple[str, bytes]]) -> None:
        """Stores chains, given as pairs of short name and JSON."""
        with self._connection:
            self._connection.executemany(
                "INSERT OR REPLACE INTO chain VALUES (?, ?, ?)",
                [(generation, name.lower(), body) for name, body in chains],
            )

    def add_providers(self, generation: int, bodies: Iterable[bytes]) -> None:
        with self._connection:
            self._connection.executemany(
                "INSERT INTO provider VALUES (?, ?, ?)",
                [(generation, place, body) for place, body in enumerate(bodies)],
            )

    def finish(self, generation: int, now: datetime, skipped: int = 0) -> Iterator[None]:
        """Makes a generation (a complete download) current and removes older ones, yielding between
        the steps. A newer generation from another process stays current."""
        written = self._written.pop(generation, _Written())
        if not written.tidy:
            yield from self._put_in_order(generation)
        with self._connection:
            self._connection.execute(
                "UPDATE generation SET finished = ?, skipped = ? WHERE number = ?",
                (now.timestamp(), skipped, generation),
            )
        yield from self._remove(f"BETWEEN 1 AND {generation - 1:d}")

    def abandon(self, generation: int) -> None:
        self._written.pop(generation, None)
        for _ in self._remove(f"= {generation:d}"):
            pass

    def _put_in_order(self, generation: int) -> Iterator[None]:
        tokens = yield from self._list_of(generation, None)
        latest: dict[bytes, int] = {}
        for at, token_id in enumerate(tokens.ids.lines()):
            latest[token_id] = at
        places, runs = list(latest.values()), []
        for start in range(0, len(places), _STEP):
            some = places[start : start + _STEP]
            runs.append(sorted((tokens[at].order, at) for at in some))
            yield
        ordered = (at for _, at in merge(*runs))
        yield from self._remove_listing(f"= {generation:d}")
        number = 0
        while run := list(islice(ordered, _STEP)):
            with self._connection:
                self._write_part(generation, number, tokens.part(run))
            number += 1
            yield

    def _remove_listing(self, which: str) -> Iterator[None]:
        for at in _FIELDS:
            with self._connection:
                self._connection.execute(
                    f"DELETE FROM listing WHERE generation {which} AND field = ?",  # noqa: S608
                    (at,),
                )
            yield

    def _remove(self, which: str) -> Iterator[None]:
        yield from self._remove_listing(which)
        with self._connection:
            for table, column in (
                ("chain", "generation"),
                ("provider", "generation"),
                ("generation", "number"),
            ):
                self._connection.execute(f"DELETE FROM {table} WHERE {column} {which}")  # noqa: S608
        some = f"SELECT rowid FROM token WHERE generation {which} LIMIT {_STEP}"  # noqa: S608
        while True:
            with self._connection:
                gone = self._connection.execute(f"DELETE FROM token WHERE rowid IN ({some})")  # noqa: S608
            if not gone.rowcount:
                return
            yield

    def listing(self, now: datetime) -> Generator[None, None, TokenList]:
        """Reads the current list, yielding between the steps. ``now`` decides which security scans
        have expired."""
        return (yield from self._list_of(self._listed, now.timestamp()))

    def _list_of(self, generation: int, now: float | None) -> Generator[None, None, TokenList]:
        # TextColumn by column: all blocks of all columns at once would be held twice.
        columns: list[TextColumn] = []
        for at in _FIELDS[:-1]:
            columns.append(TextColumn(self._blocks(generation, at)))
            yield
        return TokenList(columns, b"".join(self._blocks(generation, _FIELDS[-1])), now)

    def _blocks(self, generation: int, at: int) -> Iterator[bytes]:
        cursor = self._connection.execute(
            "SELECT block FROM listing WHERE generation = ? AND field = ? ORDER BY part",
            (generation, at),
        )
        return (block for (block,) in cursor)

    def unlisted(self) -> list[tuple[bytes, bytes]]:
        """Returns the tokens that were requested by contract and are not in the list: the JSON of
        each token and of its chain."""
        rows = self._connection.execute(
            "SELECT token.body, chain.body FROM token "
            "JOIN chain ON chain.generation = 0 AND chain.short_name = lower(token.chain) "
            "WHERE token.generation = 0 AND token.id NOT IN "
            "(SELECT id FROM token WHERE generation = ?)",
            (self._listed,),
        )
        return [(body, chain) for body, chain in rows]

    def token_body(self, token_id: str) -> tuple[bytes, bytes] | None:
        """Returns the JSON of a token and of its chain; None if the file lacks the token."""
        row = self._connection.execute(
            "SELECT token.body, chain.body FROM token "
            "JOIN chain ON chain.generation = token.generation "
            "AND chain.short_name = lower(token.chain) "
            "WHERE token.id = ? AND token.generation IN (0, ?) "
            "ORDER BY token.generation DESC LIMIT 1",
            (token_id.lower(), self._listed),
        ).fetchone()
        return None if row is None else (row[0], row[1])

    def chain_bodies(self) -> list[bytes]:
        rows = self._connection.execute(
            "SELECT body, max(generation) FROM chain WHERE generation IN (0, ?) "
            "GROUP BY short_name",
            (self._listed,),
        )
        return [body for body, _ in rows]

    def provider_bodies(self) -> list[bytes]:
        rows = self._connection.execute(
            "SELECT body FROM provider WHERE generation = ? ORDER BY place",
            (self._listed,),
        )
        return [body for (body,) in rows]

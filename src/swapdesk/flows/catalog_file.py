"""The file of the token catalogue: a cache that is replaced whole and may be lost.

A refresh writes a new generation beside the old one and makes it current in one commit, so a
reader sees either the old list or the new one. Generation 0 holds tokens asked for by their
contract, which no list contains.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from swapdesk.flows.token_row import TokenRow, Verdict, row_of
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.tokens import Token

UNLISTED = 0
_VERSION = 1
_SCHEMA = """
CREATE TABLE token (
    generation INTEGER NOT NULL,
    id TEXT NOT NULL, symbol TEXT NOT NULL, name TEXT NOT NULL,
    chain TEXT NOT NULL, chain_name TEXT NOT NULL, kind TEXT NOT NULL,
    priority TEXT, rank TEXT, price TEXT, change TEXT,
    enabled INTEGER NOT NULL, unverified INTEGER NOT NULL,
    has_cex INTEGER NOT NULL, has_dex INTEGER NOT NULL,
    has_bundler INTEGER NOT NULL, has_self_private INTEGER NOT NULL,
    verdict TEXT NOT NULL, contract TEXT, symbol_key TEXT NOT NULL, text_key TEXT NOT NULL,
    scan_ends REAL, body BLOB NOT NULL,
    PRIMARY KEY (generation, id)
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
    number INTEGER PRIMARY KEY AUTOINCREMENT, begun REAL NOT NULL, finished REAL
) STRICT;
"""
_COLUMNS = ", ".join((*TokenRow._fields, "scan_ends"))
_MARKS = ", ".join("?" * (len(TokenRow._fields) + 3))
_INSERT = f"INSERT OR REPLACE INTO token (generation, {_COLUMNS}, body) VALUES ({_MARKS})"  # noqa: S608
# Of a token in both lists the current generation wins: it comes last and replaces.
_SELECT = f"""SELECT {_COLUMNS} FROM token WHERE generation = ? OR (generation = 0 AND id NOT IN
    (SELECT id FROM token WHERE generation = ?))
    ORDER BY priority IS NULL, CAST(priority AS REAL), rank IS NULL, CAST(rank AS REAL),
    symbol_key, id"""  # noqa: S608
_DECIMALS = tuple(TokenRow._fields.index(name) for name in ("priority", "rank", "price", "change"))
_VERDICT = TokenRow._fields.index("verdict")
_FLAGS = slice(TokenRow._fields.index("enabled"), _VERDICT)
_STEP = 500


class CatalogFile:
    """One SQLite file. A file that is damaged or of another version is begun anew."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    def open(cls, path: Path) -> CatalogFile:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return cls(_connect(path))
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise
            for leftover in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
                leftover.unlink(missing_ok=True)
            return cls(_connect(path))

    def close(self) -> None:
        self._connection.close()

    def current(self) -> tuple[int, float] | None:
        """Number of the current generation and when it was finished (seconds of the epoch)."""
        found = self._connection.execute(
            "SELECT number, finished FROM generation WHERE finished IS NOT NULL "
            "ORDER BY number DESC LIMIT 1"
        ).fetchone()
        return None if found is None else (int(found[0]), float(found[1]))

    def begin(self, now: datetime) -> int:
        """A new, unfinished generation; what failed refreshes left behind is removed."""
        with self._connection:
            row = self._connection.execute(
                "INSERT INTO generation (begun) VALUES (?)", (now.timestamp(),)
            )
        assert row.lastrowid is not None  # an INSERT just happened
        return row.lastrowid

    def add_tokens(
        self, generation: int, tokens: Iterable[tuple[Token, bytes]], now: datetime
    ) -> list[TokenRow]:
        """Store tokens with their JSON (without ``chainData``); their rows at ``now``."""
        rows: list[TokenRow] = []
        records: list[tuple[object, ...]] = []
        for token, body in tokens:
            row = row_of(token, now)
            rows.append(row)
            # Stored without the effect of time: the scan grows old after it was stored.
            verdict = Verdict.BENIGN if row.verdict is Verdict.STALE else row.verdict
            ends = token.security_scan.expires_at.timestamp() if token.security_scan else None
            values = [
                plain(value) if isinstance(value, Decimal) else value
                for value in row._replace(verdict=verdict)
            ]
            values[_VERDICT] = verdict.value
            records.append((generation, *values, ends, body))
        with self._connection:
            self._connection.executemany(_INSERT, records)
        return rows

    def add_chains(self, generation: int, chains: Iterable[tuple[str, bytes]]) -> None:
        """``(short name, JSON)`` of chains."""
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

    def finish(self, generation: int, now: datetime) -> None:
        """Make it current and remove the older ones, in one commit.

        A newer one finished by another process stays current.
        """
        with self._connection:
            self._connection.execute(
                "UPDATE generation SET finished = ? WHERE number = ?",
                (now.timestamp(), generation),
            )
            self._remove(f"BETWEEN 1 AND {generation - 1:d}")

    def abandon(self, generation: int) -> None:
        """Remove a generation that was not finished."""
        with self._connection:
            self._remove(f"= {generation:d}")

    def _remove(self, which: str) -> None:
        for table, column in (
            ("token", "generation"),
            ("chain", "generation"),
            ("provider", "generation"),
            ("generation", "number"),
        ):
            self._connection.execute(f"DELETE FROM {table} WHERE {column} {which}")  # noqa: S608

    def rows(self, now: datetime) -> Iterator[list[TokenRow]]:
        """The list in its order, in steps of 500 rows."""
        current = self.current()
        generation = current[0] if current else UNLISTED
        cursor = self._connection.execute(_SELECT, (generation, generation))
        while step := cursor.fetchmany(_STEP):
            yield [_row(record, now.timestamp()) for record in step]

    def token_body(self, token_id: str) -> tuple[bytes, bytes] | None:
        """The JSON of a token and of its chain, of the newest list that has it."""
        current = self.current()
        found = self._connection.execute(
            "SELECT token.body, chain.body FROM token "
            "JOIN chain ON chain.generation = token.generation "
            "AND chain.short_name = lower(token.chain) "
            "WHERE token.id = ? AND token.generation IN (0, ?) "
            "ORDER BY token.generation DESC LIMIT 1",
            (token_id.lower(), current[0] if current else UNLISTED),
        ).fetchone()
        return None if found is None else (found[0], found[1])

    def chain_bodies(self) -> list[bytes]:
        """The JSON of every known chain."""
        current = self.current()
        found = self._connection.execute(
            "SELECT body, max(generation) FROM chain WHERE generation IN (0, ?) "
            "GROUP BY short_name",
            (current[0] if current else UNLISTED,),
        )
        return [body for body, _ in found]

    def provider_bodies(self) -> list[bytes]:
        current = self.current()
        found = self._connection.execute(
            "SELECT body FROM provider WHERE generation = ? ORDER BY place",
            (current[0] if current else UNLISTED,),
        )
        return [body for (body,) in found]


def _connect(path: Path) -> sqlite3.Connection:
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


def _row(record: tuple[object, ...], now: float) -> TokenRow:
    values = list(record[:-1])
    for at in _DECIMALS:
        text = values[at]
        if text is not None:
            values[at] = Decimal(str(text))
    values[_FLAGS] = [bool(flag) for flag in values[_FLAGS]]
    verdict = Verdict(str(values[_VERDICT]))
    ends = record[-1]
    if verdict is Verdict.BENIGN and isinstance(ends, float) and ends <= now:
        verdict = Verdict.STALE
    values[_VERDICT] = verdict
    return TokenRow._make(values)

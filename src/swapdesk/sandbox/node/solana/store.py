"""The chain on disk: accounts as they are now, and every transaction that was executed."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from swapdesk.database_writing import durable
from swapdesk.paths import make_directories
from swapdesk.sandbox.node.evm.schema import ChainFileMismatch

VERSION = 2

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS accounts (
  address BLOB PRIMARY KEY, account BLOB NOT NULL,
  program BLOB, holder BLOB, mint BLOB
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS held_by ON accounts (holder, mint) WHERE holder IS NOT NULL;
CREATE TABLE IF NOT EXISTS transactions (
  id INTEGER PRIMARY KEY, signature BLOB NOT NULL UNIQUE, message BLOB NOT NULL UNIQUE,
  height INTEGER NOT NULL, seconds INTEGER NOT NULL, raw BLOB NOT NULL, meta TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS executed_at ON transactions (height);
CREATE TABLE IF NOT EXISTS named (
  address BLOB NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (address, id)
) WITHOUT ROWID;
"""


class StoredAccount(Struct, frozen=True):
    """``account`` is serialized; a token account also says its program, holder and mint."""

    address: bytes
    account: bytes
    program: bytes | None = None
    holder: bytes | None = None
    mint: bytes | None = None


class Record(Struct, frozen=True):
    """One executed transaction. ``message`` is the hash of what was signed, ``meta`` JSON."""

    signature: bytes
    message: bytes
    height: int
    seconds: int
    raw: bytes
    meta: str


def chain_path(directory: Path) -> Path:
    return directory / "chains" / "solana.db"


def require_same(path: Path, genesis: str) -> None:
    """Raises ChainFileMismatch unless the file is missing or holds the chain that began so."""
    if not path.exists():
        return
    connection = sqlite3.connect(path)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if not tables:
            return
        if version != VERSION:
            raise ChainFileMismatch(
                _refused(path, f"was made by another release (schema {version})")
            )
        found = connection.execute("SELECT value FROM meta WHERE name = 'genesis'").fetchone()
    finally:
        connection.close()
    if found is not None and found[0] != genesis:
        raise ChainFileMismatch(_refused(path, "was begun with other tokens or keys"))


def _refused(path: Path, problem: str) -> str:
    return f"{path} {problem}; choose another data directory, or remove it to begin a new world"


_RECORD = "signature, message, height, seconds, raw, meta"


class StoreReader:
    """What stands in the file; used by one thread, also beside the one that writes."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)

    def find(self, signature: bytes) -> Record | None:
        query = f"SELECT {_RECORD} FROM transactions WHERE signature = ?"  # noqa: S608 (ours)
        row = self._connection.execute(query, (signature,)).fetchone()
        return None if row is None else Record(*row)

    def between(self, first: int, last: int) -> list[Record]:
        """What was executed from one height to another, in that order."""
        query = (
            f"SELECT {_RECORD} FROM transactions"  # noqa: S608 (ours)
            " WHERE height BETWEEN ? AND ? ORDER BY height, id"
        )
        return [Record(*row) for row in self._connection.execute(query, (first, last))]

    def account(self, address: bytes) -> bytes | None:
        """Serialized, as it is now."""
        query = "SELECT account FROM accounts WHERE address = ?"
        row = self._connection.execute(query, (address,)).fetchone()
        return None if row is None else bytes(row[0])

    def close(self) -> None:
        self._connection.close()


class SolanaStore(StoreReader):
    """Opens the file with mode 0600; used by one thread. Every commit is durable."""

    def __init__(self, path: Path) -> None:
        make_directories(path.parent)
        self.path = path
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        durable(self._connection)
        self._connection.execute(f"PRAGMA user_version = {VERSION}")
        self._connection.executescript(_SCHEMA)

    def meta(self) -> dict[str, str]:
        """Empty for a chain that has not begun."""
        return dict(self._connection.execute("SELECT name, value FROM meta"))

    def begin(self, meta: Mapping[str, str], accounts: Iterable[StoredAccount]) -> None:
        """The first state, at once."""
        with self._transaction():
            self._put(accounts)
            self._connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())

    def accounts(self) -> Iterator[tuple[bytes, bytes]]:
        """Address and serialized account of all that are there."""
        yield from self._connection.execute("SELECT address, account FROM accounts")

    def append(
        self,
        record: Record,
        named: Iterable[bytes],
        changed: Iterable[StoredAccount],
        gone: Iterable[bytes],
    ) -> None:
        """A transaction with the addresses it names and everything it did. Raises sqlite3.Error,
        and then nothing is kept."""
        with self._transaction():
            added = self._connection.execute(
                "INSERT INTO transactions (signature, message, height, seconds, raw, meta)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    record.signature,
                    record.message,
                    record.height,
                    record.seconds,
                    record.raw,
                    record.meta,
                ),
            )
            self._connection.executemany(
                "INSERT OR IGNORE INTO named VALUES (?, ?)",
                [(address, added.lastrowid) for address in named],
            )
            self._put(changed)
            self._connection.executemany(
                "DELETE FROM accounts WHERE address = ?", [(address,) for address in gone]
            )

    def executed(self, signature: bytes, message: bytes) -> bool:
        """Whether this message was ever executed, under this signature or another one."""
        query = "SELECT 1 FROM transactions WHERE signature = ? OR message = ?"
        return self._connection.execute(query, (signature, message)).fetchone() is not None

    def reached(self) -> int:
        """Height of the newest transaction, 0 when there is none."""
        (height,) = self._connection.execute(
            "SELECT coalesce(max(height), 0) FROM transactions"
        ).fetchone()
        return int(height)

    def held(
        self, holder: bytes, *, mint: bytes | None = None, program: bytes | None = None
    ) -> list[tuple[bytes, bytes]]:
        """Token accounts of a holder: address and serialized account."""
        query = (
            "SELECT address, account FROM accounts WHERE holder = ?"
            " AND mint = coalesce(?, mint) AND program = coalesce(?, program) ORDER BY address"
        )
        return self._connection.execute(query, (holder, mint, program)).fetchall()

    def naming(
        self, address: bytes, *, at_most: int, before: bytes | None, until: bytes | None, limit: int
    ) -> list[Record]:
        """The newest transactions that name an address, newest first: not above a height, older
        than ``before``, newer than ``until`` (signatures; one that is unknown bounds nothing)."""
        query = (
            f"SELECT {_RECORD} FROM named JOIN transactions USING (id)"  # noqa: S608 (ours)
            " WHERE address = ? AND id < ? AND id > ? AND height <= ? ORDER BY id DESC LIMIT ?"
        )
        bounds = (self._place(before, (1 << 63) - 1), self._place(until, 0), at_most, limit)
        return [Record(*row) for row in self._connection.execute(query, (address, *bounds))]

    def _place(self, signature: bytes | None, otherwise: int) -> int:
        query = "SELECT id FROM transactions WHERE signature = ?"
        row = self._connection.execute(query, (signature,)).fetchone()
        return otherwise if row is None else int(row[0])

    def _put(self, accounts: Iterable[StoredAccount]) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO accounts VALUES (?, ?, ?, ?, ?)",
            [
                (each.address, each.account, each.program, each.holder, each.mint)
                for each in accounts
            ],
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

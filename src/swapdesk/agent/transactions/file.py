"""``transactions.db``: SQLite, WAL, ``synchronous=FULL``, mode 0600, written by one process."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from swapdesk.database_writing import durable
from swapdesk.paths import UnsafePlace, read_private
from swapdesk.wallet.protocol import RefusalCode, Refused

FILE = "transactions.db"
SCHEMA_VERSION = 5
_SCHEMA = """
CREATE TABLE IF NOT EXISTS chain(
  name TEXT PRIMARY KEY,
  chain_id INTEGER,
  genesis TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS tx(
  hash TEXT PRIMARY KEY,
  intent TEXT NOT NULL,
  purpose TEXT NOT NULL,
  chain TEXT NOT NULL,
  account TEXT NOT NULL,
  content BLOB NOT NULL,
  raw BLOB NOT NULL,
  nonce INTEGER,
  fee TEXT,
  priority TEXT,
  last_valid INTEGER,
  state TEXT NOT NULL,
  confirmations INTEGER NOT NULL DEFAULT 0,
  replaces TEXT REFERENCES tx(hash),
  problem TEXT,
  created TEXT NOT NULL,
  asked TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS tx_intent ON tx(intent);
CREATE INDEX IF NOT EXISTS tx_account ON tx(chain, account, nonce);
CREATE TABLE IF NOT EXISTS given(
  seq INTEGER PRIMARY KEY,
  intent TEXT NOT NULL,
  content BLOB NOT NULL,
  act TEXT NOT NULL,
  quote TEXT,
  chain_id INTEGER,
  owner TEXT NOT NULL,
  token TEXT,
  contract TEXT,
  key TEXT,
  step INTEGER,
  total INTEGER,
  complete INTEGER NOT NULL,
  hash TEXT REFERENCES tx(hash),
  at TEXT NOT NULL,
  taking TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS given_intent ON given(intent);
CREATE TABLE IF NOT EXISTS spent(
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  chain_id INTEGER,
  token TEXT,
  units TEXT,
  account TEXT NOT NULL,
  taker TEXT NOT NULL,
  grants INTEGER NOT NULL,
  once TEXT NOT NULL,
  content BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS spent_at ON spent(at);
CREATE INDEX IF NOT EXISTS spent_content ON spent(content);
CREATE TABLE IF NOT EXISTS paid_call(
  chain_id INTEGER,
  token TEXT,
  payee TEXT NOT NULL,
  UNIQUE(chain_id, token, payee)
) STRICT;
CREATE TABLE IF NOT EXISTS policy(digest BLOB PRIMARY KEY) STRICT;
"""


class RecordsFile:
    """One connection. Raises Refused (RECORDS) for a file that cannot be used, which is kept
    as it is. Without ``writable`` it is only read, and need not exist."""

    def __init__(self, directory: Path, *, writable: bool) -> None:
        path = directory / FILE
        try:
            self._connection = _opened(path, writable)
            self.version = _version(self._connection)
        except (OSError, sqlite3.Error) as error:
            raise Refused(RefusalCode.RECORDS, f"{FILE} cannot be used: {error}") from None

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and on disk at the end. Raises Refused."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise Refused(RefusalCode.RECORDS, f"{FILE} cannot be written: {error}") from None

    def read(self, sql: str, *values: object) -> list[sqlite3.Row]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise Refused(RefusalCode.RECORDS, f"{FILE} cannot be read: {error}") from None

    def close(self) -> None:
        self._connection.close()


def _opened(path: Path, writable: bool) -> sqlite3.Connection:
    exists = path.exists() or path.is_symlink()
    if not writable and not exists:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.executescript(_SCHEMA)
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        connection.row_factory = sqlite3.Row
        return connection
    if not exists:
        flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR
        os.close(os.open(path, flags, 0o600))
    # The size of a database is no reason to refuse it; mode, owner and links are.
    _check(path)
    mode = "rw" if writable else "ro"
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", timeout=0.5, isolation_level=None, uri=True
    )
    try:
        connection.row_factory = sqlite3.Row
        version = _version(connection)
        if version > SCHEMA_VERSION:
            raise UnsafePlace("it was written by a newer swapdesk")
        if writable:
            connection.execute("PRAGMA journal_mode=WAL")
            durable(connection)
            connection.execute("PRAGMA foreign_keys=ON")
            if connection.execute("PRAGMA quick_check").fetchone()[0] != "ok":
                raise UnsafePlace("it is damaged")
            connection.executescript(_SCHEMA)
            _take_on(connection, version)
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _take_on(connection: sqlite3.Connection, version: int) -> None:
    """A file of an earlier release, all at once: whoever is killed finds it as it was."""
    connection.execute("BEGIN IMMEDIATE")
    if version == 1:
        # What was asked for is not known of transactions of that time.
        connection.execute("ALTER TABLE tx ADD COLUMN asked TEXT")
    if version in (1, 2):
        # Nor what a signature lets be taken, so that each counts for all of it.
        connection.execute("ALTER TABLE given ADD COLUMN taking TEXT")
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    connection.execute("COMMIT")


def _check(path: Path) -> None:
    try:
        read_private(path, 0)
    except UnsafePlace as unsafe:
        if "larger than" not in str(unsafe):
            raise

"""Tables of one embedded chain: state as it grew, blocks with their transactions and logs."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from swapdesk.database_writing import durable

VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY, entries BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS blocks (
  number INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, header BLOB NOT NULL,
  slot INTEGER NOT NULL, awaited INTEGER NOT NULL, document TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS transactions (
  id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, number INTEGER NOT NULL,
  position INTEGER NOT NULL, sender BLOB NOT NULL, nonce INTEGER NOT NULL,
  raw BLOB NOT NULL, document TEXT NOT NULL, receipt TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS transaction_at ON transactions (number, position);
CREATE TABLE IF NOT EXISTS logs (
  number INTEGER NOT NULL, position INTEGER NOT NULL, address BLOB NOT NULL,
  topics BLOB NOT NULL, document TEXT NOT NULL, PRIMARY KEY (number, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS log_from ON logs (address, number, position);
"""


class ChainFileMismatch(Exception):
    """The file holds a chain of another release, another id or another genesis."""


def open_chain_file(path: Path) -> sqlite3.Connection:
    """A connection for the writer, mode 0600, every commit durable."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    durable(connection)
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.executescript(_SCHEMA)
    return connection


def read_chain_file(path: Path) -> sqlite3.Connection:
    """A connection that only reads; it sees what is committed."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA query_only=ON")
    return connection


def require_same(path: Path, chain_id: int, genesis: str) -> None:
    """Raises ChainFileMismatch unless the file is missing or holds the chain with this id that
    began with this genesis (Genesis.digest)."""
    if not path.exists():
        return
    connection = read_chain_file(path)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if not tables:
            return
        if version != VERSION:
            raise ChainFileMismatch(
                _refused(path, f"was made by another release (schema {version})")
            )
        found = dict(connection.execute("SELECT name, value FROM meta"))
    finally:
        connection.close()
    if not found:
        return
    if found["chain_id"] != str(chain_id):
        raise ChainFileMismatch(
            _refused(path, f"holds chain id {found['chain_id']}, not {chain_id}")
        )
    if found["genesis"] != genesis:
        raise ChainFileMismatch(_refused(path, "was begun with other contracts or keys"))


def _refused(path: Path, problem: str) -> str:
    return f"{path} {problem}; choose another data directory, or remove it to begin a new world"

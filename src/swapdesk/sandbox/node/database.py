"""The node's own database: one connection, one writer, every step one durable transaction."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

from swapdesk.database_writing import durable
from swapdesk.sandbox.node.world_clock import ClockRecord, Moment

VERSION = 4

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS issued (token TEXT PRIMARY KEY, units TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS balances (
  token TEXT NOT NULL, address TEXT NOT NULL, units TEXT NOT NULL,
  PRIMARY KEY (token, address)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS transfers (
  cause TEXT PRIMARY KEY, hash TEXT NOT NULL, chain TEXT NOT NULL, token TEXT NOT NULL,
  sender TEXT NOT NULL, receiver TEXT NOT NULL, tag TEXT, units TEXT NOT NULL,
  height INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS transfer_hash ON transfers (hash);
CREATE TABLE IF NOT EXISTS outgoing (
  id INTEGER PRIMARY KEY, cause TEXT NOT NULL UNIQUE, chain TEXT NOT NULL, wallet TEXT NOT NULL,
  number INTEGER NOT NULL, hash TEXT NOT NULL, raw BLOB NOT NULL, expires INTEGER,
  height INTEGER,
  succeeded INTEGER NOT NULL DEFAULT 0, final INTEGER NOT NULL DEFAULT 0,
  UNIQUE (chain, wallet, number)
);
CREATE UNIQUE INDEX IF NOT EXISTS outgoing_hash ON outgoing (chain, hash);
CREATE INDEX IF NOT EXISTS outgoing_open ON outgoing (chain, id) WHERE final = 0;
CREATE INDEX IF NOT EXISTS outgoing_waiting ON outgoing (chain, id)
  WHERE final = 0 AND height IS NULL;
CREATE TABLE IF NOT EXISTS accounts (
  id INTEGER PRIMARY KEY, venue TEXT NOT NULL, key TEXT NOT NULL, chain TEXT NOT NULL,
  address TEXT NOT NULL, tag TEXT, token_in TEXT NOT NULL, token_out TEXT NOT NULL,
  asked_in TEXT NOT NULL, asked_out TEXT NOT NULL, minimum TEXT NOT NULL,
  payout_address TEXT NOT NULL, payout_tag TEXT, refund_address TEXT, refund_tag TEXT,
  expires INTEGER NOT NULL, exchange_ms INTEGER NOT NULL, status INTEGER NOT NULL,
  arrived TEXT, paying TEXT, included INTEGER, deposit_hash TEXT, payout_hash TEXT,
  refund_hash TEXT, refunded TEXT, fixed INTEGER NOT NULL, payout_wallet INTEGER NOT NULL,
  declined INTEGER NOT NULL DEFAULT 0, fell_back INTEGER NOT NULL DEFAULT 0, fault TEXT,
  due_world INTEGER, due_now INTEGER,
  UNIQUE (venue, key)
);
CREATE INDEX IF NOT EXISTS accounts_at ON accounts (chain, address, coalesce(tag, ''));
CREATE UNIQUE INDEX IF NOT EXISTS open_account_at
  ON accounts (chain, address, coalesce(tag, '')) WHERE status IN (0, 1, 2, 3, 4, 8);
CREATE INDEX IF NOT EXISTS account_world ON accounts (due_world) WHERE due_world IS NOT NULL;
CREATE INDEX IF NOT EXISTS account_now ON accounts (due_now) WHERE due_now IS NOT NULL;
CREATE TABLE IF NOT EXISTS deposits (
  id TEXT PRIMARY KEY, account INTEGER NOT NULL REFERENCES accounts, units TEXT NOT NULL,
  late INTEGER NOT NULL, due_world INTEGER, due_now INTEGER,
  chain TEXT, height INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS deposit_unconfirmed ON deposits (chain, height)
  WHERE height IS NOT NULL;
CREATE INDEX IF NOT EXISTS deposits_of ON deposits (account);
CREATE INDEX IF NOT EXISTS deposit_world ON deposits (due_world) WHERE due_world IS NOT NULL;
CREATE INDEX IF NOT EXISTS deposit_now ON deposits (due_now) WHERE due_now IS NOT NULL;
"""


class OtherRelease(Exception):
    """The file was written by another release, whose world was another one."""

    def __init__(self, directory: Path, found: int) -> None:
        super().__init__(
            f"{directory} was made by another release (schema {found}, not {VERSION});"
            " choose another data directory, or remove it to begin a new world"
        )


class Database:
    """Opens ``path`` with mode 0600 and creates what is missing. Raises OtherRelease."""

    def __init__(self, path: Path) -> None:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        self.connection.execute("PRAGMA journal_mode=WAL")
        durable(self.connection)
        self._require_release(path.parent)
        self.connection.execute(f"PRAGMA user_version = {VERSION}")
        self.connection.executescript(SCHEMA)

    def _require_release(self, directory: Path) -> None:
        (found,) = self.connection.execute("PRAGMA user_version").fetchone()
        (tables,) = self.connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if found != VERSION and tables:
            self.connection.close()
            raise OtherRelease(directory, found)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; durable when it returns."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def get(self, name: str) -> str | None:
        row = self.connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row["value"])

    def put(self, name: str, value: str) -> None:
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def load_pace(self) -> ClockRecord | None:
        text = self.get("pace")
        if text is None:
            return None
        offset, speed, now, world, genesis, latest = text.split()
        return ClockRecord(
            int(offset), Decimal(speed), Moment(int(now), int(world)), int(genesis), int(latest)
        )

    def store_pace(self, pace: ClockRecord) -> None:
        anchor = pace.anchor
        parts = (pace.offset, pace.speed, anchor.now, anchor.world, pace.genesis, pace.latest)
        self.put("pace", " ".join(map(str, parts)))

    def close(self) -> None:
        self.connection.close()

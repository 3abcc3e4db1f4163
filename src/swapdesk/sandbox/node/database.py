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

VERSION = 5

SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS balances (
  token TEXT NOT NULL, address TEXT NOT NULL, units TEXT NOT NULL,
  PRIMARY KEY (token, address)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS payments (
  id INTEGER PRIMARY KEY, cause TEXT NOT NULL UNIQUE, chain TEXT NOT NULL, token TEXT NOT NULL,
  sender TEXT NOT NULL, receiver TEXT NOT NULL, tag TEXT, units TEXT NOT NULL,
  hash TEXT NOT NULL, height INTEGER,
  wallet TEXT, number INTEGER, raw BLOB, expires INTEGER,
  account INTEGER REFERENCES accounts, late INTEGER NOT NULL DEFAULT 0,
  counted INTEGER NOT NULL DEFAULT 0, due_world INTEGER, due_now INTEGER,
  UNIQUE (chain, wallet, number)
);
CREATE INDEX IF NOT EXISTS payment_hash ON payments (hash);
CREATE INDEX IF NOT EXISTS payment_waiting ON payments (chain) WHERE raw IS NOT NULL;
CREATE INDEX IF NOT EXISTS deposit ON payments (account) WHERE account IS NOT NULL;
CREATE INDEX IF NOT EXISTS deposit_uncounted ON payments (chain)
  WHERE account IS NOT NULL AND counted = 0;
CREATE INDEX IF NOT EXISTS payments_world ON payments (due_world) WHERE due_world IS NOT NULL;
CREATE INDEX IF NOT EXISTS payments_now ON payments (due_now) WHERE due_now IS NOT NULL;
CREATE TABLE IF NOT EXISTS accounts (
  id INTEGER PRIMARY KEY, venue TEXT NOT NULL, key TEXT NOT NULL, chain TEXT NOT NULL,
  address TEXT NOT NULL, tag TEXT, token_in TEXT NOT NULL, token_out TEXT NOT NULL,
  asked_in TEXT NOT NULL, asked_out TEXT NOT NULL, minimum TEXT NOT NULL,
  payout_address TEXT NOT NULL, payout_tag TEXT, refund_address TEXT, refund_tag TEXT,
  expires INTEGER NOT NULL, exchange_ms INTEGER NOT NULL, status INTEGER NOT NULL,
  arrived TEXT, paying TEXT, fixed INTEGER NOT NULL, payout_wallet INTEGER NOT NULL,
  declined INTEGER NOT NULL DEFAULT 0, fell_back INTEGER NOT NULL DEFAULT 0, fault TEXT,
  due_world INTEGER, due_now INTEGER,
  UNIQUE (venue, key)
);
CREATE INDEX IF NOT EXISTS accounts_at ON accounts (chain, address, coalesce(tag, ''));
CREATE UNIQUE INDEX IF NOT EXISTS open_account_at
  ON accounts (chain, address, coalesce(tag, '')) WHERE status IN (0, 1, 2, 3, 4, 8);
CREATE INDEX IF NOT EXISTS accounts_world ON accounts (due_world) WHERE due_world IS NOT NULL;
CREATE INDEX IF NOT EXISTS accounts_now ON accounts (due_now) WHERE due_now IS NOT NULL;
"""


class OtherWorld(Exception):
    """The directory holds the world of another release or of other tables."""


class Database:
    """Opens ``path`` with mode 0600 and creates what is missing. Raises OtherWorld."""

    def __init__(self, path: Path) -> None:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        self.connection.execute("PRAGMA journal_mode=WAL")
        durable(self.connection)
        self._require_release()
        self.connection.execute(f"PRAGMA user_version = {VERSION}")
        self.connection.executescript(SCHEMA)

    def _require_release(self) -> None:
        (found,) = self.connection.execute("PRAGMA user_version").fetchone()
        (tables,) = self.connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if found != VERSION and tables:
            self.connection.close()
            raise OtherWorld(f"its books have schema {found}, not {VERSION}")

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
        # Earlier releases noted one number more.
        offset, speed, now, world, *_, latest = text.split()
        return ClockRecord(int(offset), Decimal(speed), Moment(int(now), int(world)), int(latest))

    def store_pace(self, pace: ClockRecord) -> None:
        anchor = pace.anchor
        parts = (pace.offset, pace.speed, anchor.now, anchor.world, pace.latest)
        self.put("pace", " ".join(map(str, parts)))

    def close(self) -> None:
        self.connection.close()

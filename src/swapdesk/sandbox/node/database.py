"""The node's own database: one connection, one writer, and every step in one durable
transaction."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path

from swapdesk.database_writing import durable, transaction
from swapdesk.sandbox.node.world_clock import ClockRecord, Moment, WorldClock
from swapdesk.wire.orders import LegStatus

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
    """Raised if this release cannot use a data directory: its database has another schema, or its
    tokens come from other tables."""


class Database:
    """The node's SQLite database at ``path``, with mode 0600; missing tables are created. Raises
    OtherWorld."""

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
        (version,) = self.connection.execute("PRAGMA user_version").fetchone()
        (tables,) = self.connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        if version != VERSION and tables:
            self.connection.close()
            raise OtherWorld(f"its books have schema {version}, not {VERSION}")

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Returns a context whose changes are committed together or not at all; they are durable
        once it has ended."""
        return transaction(self.connection)

    def insert(self, table: str, columns: Mapping[str, object]) -> int | None:
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        query = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 (names are ours)
        return self.connection.execute(query, tuple(columns.values())).lastrowid

    def change(self, table: str, row: int, columns: Mapping[str, object]) -> None:
        changes = ", ".join(f"{name} = ?" for name in columns)
        query = f"UPDATE {table} SET {changes} WHERE id = ?"  # noqa: S608 (names are ours)
        self.connection.execute(query, (*columns.values(), row))

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


_DUE = (
    "SELECT * FROM {} WHERE due_world <= ? ORDER BY due_world LIMIT 1",
    "SELECT * FROM {} WHERE due_now <= ? ORDER BY due_now LIMIT 1",
)

_AT = "SELECT * FROM accounts WHERE chain = ? AND address = ? AND coalesce(tag, '') = ?"
_PAID_FOR_LEGS = ("payout", "refund", "send on", "excess")
_IS_OPEN = "status IN (0, 1, 2, 3, 4, 8)"


def faults_of(row: sqlite3.Row) -> frozenset[str]:
    """Returns the names of the faults that are set for the leg in ``row``."""
    return frozenset((row["fault"] or "").split())


def written(faults: Iterable[str]) -> str | None:
    """Returns the text that the column ``fault`` stores for these faults; None if there are
    none."""
    return " ".join(sorted(faults)) or None


_NOT_TOLD = frozenset({"fault", "expires", "due_world", "due_now"})
"""Columns of a leg whose change alone is not reported as news."""


class AccountRows:
    """The table ``accounts``, with a row for each leg at an exchange. Change rows only inside a
    transaction. ``on_change`` is called with the venue and key of each leg whose reported state
    changed."""

    def __init__(self, database: Database, clock: WorldClock) -> None:
        self.on_change: Callable[[str, str], None] = lambda venue, key: None
        self._database = database
        self._connection = database.connection
        self._clock = clock

    def by_key(self, venue: str, key: str) -> sqlite3.Row | None:
        return self._one("SELECT * FROM accounts WHERE venue = ? AND key = ?", venue, key)

    def by_id(self, account: int) -> sqlite3.Row | None:
        return self._one("SELECT * FROM accounts WHERE id = ?", account)

    def by_deposit(self, chain: str, address: str, tag: str | None) -> sqlite3.Row | None:
        """Returns the leg to which a payment to this address and tag belongs, or None. If no leg
        has the tag, a leg without a tag is taken. Among several legs, the open leg or otherwise the
        newest is taken."""
        row = self._one(f"{_AT} ORDER BY {_IS_OPEN} DESC, id DESC", chain, address, tag or "")
        if row is None and tag is not None:
            row = self._one(f"{_AT} ORDER BY {_IS_OPEN} DESC, id DESC", chain, address, "")
        return row

    def taken(self, chain: str, address: str, tag: str) -> bool:
        """Returns True if this address with this tag is or was the deposit address of any leg."""
        return self._one(_AT, chain, address, tag) is not None

    def held(self, chain: str, address: str) -> bool:
        return self._one(f"{_AT} AND {_IS_OPEN}", chain, address, "") is not None

    def legs_of(self, service_id: str, side: str | None = None) -> list[sqlite3.Row]:
        """Returns the legs of an order, the oldest first. If ``side`` is ``in`` or ``out``, returns
        only the leg on that side and the legs that replaced it on other routes (key
        ``<serviceId>:<side>#2``)."""
        key = f"{service_id}:" + (side or "")
        rows = self._connection.execute(
            "SELECT * FROM accounts WHERE substr(key, 1, ?) = ? ORDER BY id", (len(key), key)
        )
        return [row for row in rows if side is None or row["key"][len(key) :][:1] in ("", "#")]

    def any_on(self, chain: str) -> bool:
        return self._one("SELECT 1 FROM accounts WHERE chain = ?", chain) is not None

    def of_cause(self, cause: str) -> sqlite3.Row | None:
        """Returns the leg to which a payment by an exchange belongs. ``cause`` is the payment's
        cause, such as ``payout:7``. Returns None if the payment was not made for a leg."""
        kind, _, name = cause.partition(":")
        if kind == "late":
            query = "SELECT * FROM accounts WHERE id = (SELECT account FROM payments WHERE id = ?)"
            return self._one(query, name)
        return self.by_id(int(name)) if kind in _PAID_FOR_LEGS else None

    def count(self, deposit: sqlite3.Row) -> bool:
        """Marks a deposit as confirmed. Returns True if every deposit that arrived in time for the
        same leg is now confirmed."""
        self._connection.execute(
            "UPDATE payments SET counted = 1, due_world = NULL, due_now = NULL WHERE id = ?",
            (deposit["id"],),
        )
        query = "SELECT 1 FROM payments WHERE account = ? AND late = 0 AND counted = 0"
        return self._one(query, deposit["account"]) is None

    def held_at(self, venue: str) -> list[sqlite3.Row]:
        """Returns the legs whose deposits a venue holds for a check."""
        query = "SELECT * FROM accounts WHERE venue = ? AND status = ?"
        return self._connection.execute(query, (venue, LegStatus.VERIFYING)).fetchall()

    def settle(self, row: sqlite3.Row, **columns: object) -> None:
        """Writes ``columns`` of a leg at the end of a step. The leg's due times are set to None
        unless ``columns`` contains them."""
        self.change(row, **{"due_world": None, "due_now": None, **columns})

    def change(self, row: sqlite3.Row, **columns: object) -> None:
        self._database.change("accounts", row["id"], columns)
        if not columns.keys() <= _NOT_TOLD:
            self.tell(row)

    def tell(self, row: sqlite3.Row) -> None:
        """Reports a change of a leg's state that is stored outside the leg's own row."""
        self.on_change(row["venue"], row["key"])

    def credited(self, account: int) -> int:
        """Returns the sum, in smallest units, of a leg's deposits that arrived before the
        deadline."""
        rows = self._connection.execute(
            "SELECT units FROM payments WHERE account = ? AND late = 0", (account,)
        )
        return sum(int(row["units"]) for row in rows)

    def next_due(self, here: Moment) -> tuple[str, sqlite3.Row] | None:
        """Returns the table and row of the account or payment that has been due longest at the
        moment ``here``; None if nothing is due."""
        due = [
            (table, row)
            for table in ("accounts", "payments")
            for query, limit in zip(_DUE, (here.world, here.now), strict=True)
            if (row := self._one(query.format(table), limit)) is not None
        ]
        return min(due, key=lambda due_row: self.due_at(due_row[1]).now, default=None)

    def due_at(self, row: sqlite3.Row) -> Moment:
        return self._clock.at(row["due_world"], row["due_now"])

    def _one(self, query: str, *values: object) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self._connection.execute(query, values).fetchone()
        return row

"""The bundler's own rows: which operations it took, and the bundles that it sent them in.

Every change is by compare-and-set: an operation that waits is put into one bundle, and of one
sender's nonce one operation waits. Whole before anybody hears of it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from swapdesk.chain.user_operation.operation import UserOperation
from swapdesk.chain.user_operation.rpc_form import operation_json, read_operation

VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS bundles (
  id INTEGER PRIMARY KEY, chain TEXT NOT NULL, hash BLOB NOT NULL, raw BLOB NOT NULL,
  state TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS bundle_open ON bundles (chain, id) WHERE state = 'open';
CREATE TABLE IF NOT EXISTS operations (
  id INTEGER PRIMARY KEY, chain TEXT NOT NULL, hash BLOB NOT NULL, sender TEXT NOT NULL,
  nonce TEXT NOT NULL, document TEXT NOT NULL, state TEXT NOT NULL,
  bundle INTEGER REFERENCES bundles, reason TEXT NOT NULL DEFAULT '',
  UNIQUE (chain, hash)
);
CREATE UNIQUE INDEX IF NOT EXISTS operation_of_nonce ON operations (chain, sender, nonce)
  WHERE state IN ('waiting', 'sent');
CREATE INDEX IF NOT EXISTS operation_waiting ON operations (chain, id) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS operation_of_bundle ON operations (bundle);
"""


class State(StrEnum):
    """Of an operation."""

    WAITING = "waiting"
    SENT = "sent"
    """In a bundle that was signed."""
    LANDED = "landed"
    """In a block that counts."""
    DROPPED = "dropped"
    """It cannot be executed any more, or another took its nonce."""


class OperationNonceTaken(Exception):
    """Another operation with this sender and nonce waits or was sent: ``existing``."""

    def __init__(self, existing: OperationRow) -> None:
        super().__init__("another operation has this nonce")
        self.existing = existing


@dataclass(frozen=True)
class OperationRow:
    hash: bytes
    operation: UserOperation
    state: State
    reason: str


@dataclass(frozen=True)
class BundleRow:
    id: int
    hash: bytes
    raw: bytes


class OperationRows:
    """Opens ``path`` with mode 0600. One connection, used on the event loop."""

    def __init__(self, path: Path) -> None:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute(f"PRAGMA user_version = {VERSION}")
        self._connection.executescript(_SCHEMA)

    def close(self) -> None:
        self._connection.close()

    def find(self, chain: str, operation_hash: bytes) -> OperationRow | None:
        row = self._connection.execute(
            "SELECT * FROM operations WHERE chain = ? AND hash = ?", (chain, operation_hash)
        ).fetchone()
        return None if row is None else _row(row)

    def of_sender(self, chain: str, sender: str) -> list[OperationRow]:
        """Those that wait or were sent, oldest first."""
        rows = self._connection.execute(
            "SELECT * FROM operations WHERE chain = ? AND sender = ?"
            " AND state IN ('waiting', 'sent') ORDER BY id",
            (chain, sender),
        )
        return [_row(row) for row in rows]

    def busy(self, chain: str) -> bool:
        """Whether anything waits or was sent and does not count yet."""
        found = self._connection.execute(
            "SELECT EXISTS (SELECT 1 FROM operations WHERE chain = ? AND state = 'waiting')"
            " OR EXISTS (SELECT 1 FROM bundles WHERE chain = ? AND state = 'open')",
            (chain, chain),
        ).fetchone()
        return bool(found[0])

    def accept(
        self,
        chain: str,
        operation_hash: bytes,
        operation: UserOperation,
        replaces: bytes | None = None,
    ) -> None:
        """Take an operation; one that is taken already stays as it is. ``replaces`` is one that
        waits and gives way. Raises OperationNonceTaken."""
        with self._transaction() as connection:
            existing = self.find(chain, operation_hash)
            if existing is not None and existing.state is not State.DROPPED:
                return
            if replaces is not None:
                connection.execute(
                    "UPDATE operations SET state = 'dropped', reason = 'replaced'"
                    " WHERE chain = ? AND hash = ? AND state = 'waiting'",
                    (chain, replaces),
                )
            for other in self.of_sender(chain, operation.sender):
                if other.operation.nonce == operation.nonce:
                    raise OperationNonceTaken(other)
            connection.execute(
                "DELETE FROM operations WHERE chain = ? AND hash = ? AND state = 'dropped'",
                (chain, operation_hash),
            )
            connection.execute(
                "INSERT INTO operations (chain, hash, sender, nonce, document, state)"
                " VALUES (?, ?, ?, ?, ?, 'waiting')",
                (
                    chain,
                    operation_hash,
                    operation.sender,
                    hex(operation.nonce),
                    json.dumps(operation_json(operation)),
                ),
            )

    def waiting(self, chain: str) -> list[OperationRow]:
        rows = self._connection.execute(
            "SELECT * FROM operations WHERE chain = ? AND state = 'waiting' ORDER BY id", (chain,)
        )
        return [_row(row) for row in rows]

    def bundle(
        self, chain: str, transaction_hash: bytes, raw: bytes, operations: Sequence[bytes]
    ) -> bool:
        """Write a signed bundle down with all of its operations, or nothing: False when one of
        them does not wait any more, and then the bytes are thrown away."""
        try:
            with self._transaction() as connection:
                cursor = connection.execute(
                    "INSERT INTO bundles (chain, hash, raw, state) VALUES (?, ?, ?, 'open')",
                    (chain, transaction_hash, raw),
                )
                for operation_hash in operations:
                    taken = connection.execute(
                        "UPDATE operations SET state = 'sent', bundle = ?"
                        " WHERE chain = ? AND hash = ? AND state = 'waiting'",
                        (cursor.lastrowid, chain, operation_hash),
                    )
                    if taken.rowcount != 1:
                        raise _Overtaken
        except _Overtaken:
            return False
        return True

    def open_bundles(self, chain: str) -> list[BundleRow]:
        rows = self._connection.execute(
            "SELECT * FROM bundles WHERE chain = ? AND state = 'open' ORDER BY id", (chain,)
        )
        return [BundleRow(row["id"], bytes(row["hash"]), bytes(row["raw"])) for row in rows]

    def finish(self, bundle: BundleRow) -> None:
        """The bundle is in a block that counts."""
        with self._transaction() as connection:
            connection.execute("UPDATE bundles SET state = 'done' WHERE id = ?", (bundle.id,))
            connection.execute(
                "UPDATE operations SET state = 'landed' WHERE bundle = ? AND state = 'sent'",
                (bundle.id,),
            )

    def release(self, bundle: BundleRow) -> None:
        """Nothing of the bundle was executed, and nothing ever will be: its operations wait."""
        with self._transaction() as connection:
            connection.execute("UPDATE bundles SET state = 'failed' WHERE id = ?", (bundle.id,))
            connection.execute(
                "UPDATE operations SET state = 'waiting', bundle = NULL"
                " WHERE bundle = ? AND state = 'sent'",
                (bundle.id,),
            )

    def drop(self, chain: str, operation_hash: bytes, reason: str) -> None:
        """Give an operation up that waits."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE operations SET state = 'dropped', reason = ?"
                " WHERE chain = ? AND hash = ? AND state = 'waiting'",
                (reason, chain, operation_hash),
            )

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


class _Overtaken(Exception):
    """An operation of a bundle does not wait any more."""


def _row(row: sqlite3.Row) -> OperationRow:
    return OperationRow(
        bytes(row["hash"]),
        read_operation(json.loads(row["document"])),
        State(row["state"]),
        row["reason"],
    )

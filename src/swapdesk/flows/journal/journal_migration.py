"""The tables of the journal, and the migration of older files.

A file is migrated in one transaction, after a copy of it was written, so that a crash leaves either
the old or the new journal. The old tables are dropped: a running desk of an older version then
finds no table, cannot write, and therefore sends nothing. If two processes open the file, one
migrates it; the other waits and then finds it migrated.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from swapdesk.database_writing import durable, transaction
from swapdesk.flows.journal.journal_filling import OLD_TABLES, fill, tables_of
from swapdesk.paths import keep_names

PRESENT = (
    "(ended = 0 OR display IS NOT 'SWAP_COMPLETED' OR NOT json_valid(last)"
    " OR json_extract(last, '$.actionRequired') IS 1)"
)
"""SQL condition: the order may still change. Its text must equal that of the index in the
schema."""
OF_PAID = (
    "operation > '' AND standing = 'released' AND display = 'SWAP_COMPLETED' AND json_valid(last)"
)
"""SQL condition: a confirmed order with a released deposit address, whose recipient was paid."""
PAID_AT = (
    "coalesce(json_extract(last, '$.orderFinishedReceived'), json_extract(last, '$.modified'))"
)
"""SQL expression: the time of the payout; null if the service states none."""

_NAMES = (
    "depositAddress",
    "receiverAddress",
    "refundAddress",
    "intermediateRefundAddress",
    "inTransactionOutHash",
    "outTransactionOutHash",
    "refundHash",
    "hashUrl",
)
NAMED = (
    "lower("
    + " || ' ' || ".join(f"coalesce(json_extract(last, '$.{name}'), '')" for name in _NAMES)
    + " || ' ' || coalesce(deposit, ''))"
)
"""SQL expression: all addresses and hashes of an order, in lower case, separated by spaces."""


_LEDGER = """
CREATE TABLE operation (
    number       INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    kind         TEXT NOT NULL,
    parent       TEXT REFERENCES operation (id),
    subject      TEXT,
    claim        TEXT,
    state        TEXT NOT NULL,
    body         TEXT NOT NULL,
    result       TEXT NOT NULL DEFAULT '{}',
    code         TEXT,
    prepared_at  TEXT NOT NULL,
    sent_at      TEXT,
    server_at    TEXT,
    ended_at     TEXT,
    owner_pid    INTEGER NOT NULL,
    owner_start  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX operation_claim ON operation (claim) WHERE state <> 'refused';
CREATE INDEX operation_kind ON operation (kind, state);
CREATE INDEX operation_subject ON operation (subject);
CREATE INDEX operation_parent ON operation (parent);
"""

_ORDERS = f"""
CREATE TABLE orders (
    number       INTEGER PRIMARY KEY,
    service_id   TEXT NOT NULL UNIQUE,
    operation    TEXT,
    last         TEXT NOT NULL,
    display      TEXT,
    ended        INTEGER NOT NULL DEFAULT 0,
    standing     TEXT NOT NULL,
    withheld     TEXT,
    first_seen   TEXT NOT NULL,
    seen_at      TEXT NOT NULL,
    source       TEXT NOT NULL,
    accepted     TEXT,
    put_away     TEXT,
    deposit      TEXT,
    payments     TEXT
) STRICT;
CREATE INDEX orders_by_operation ON orders (operation);
CREATE INDEX orders_present ON orders (display, service_id) WHERE {PRESENT};
CREATE INDEX orders_unrepeated ON orders (operation, service_id) WHERE standing = 'unrepeated';
CREATE INDEX orders_paid ON orders (json_extract(last, '$.receiverAddress'), {PAID_AT})
    WHERE {OF_PAID};
CREATE INDEX orders_released ON orders (operation, json_extract(last, '$.depositAddress'))
    WHERE standing = 'released' AND json_valid(last);
CREATE INDEX orders_named ON orders ({NAMED}, service_id) WHERE json_valid(last);
CREATE INDEX orders_deposit ON orders (service_id, deposit) WHERE deposit IS NOT NULL;
CREATE INDEX orders_put_away ON orders (service_id, put_away) WHERE put_away IS NOT NULL;
CREATE INDEX orders_payments ON orders (service_id) WHERE payments IS NOT NULL;

CREATE TABLE events (
    number       INTEGER PRIMARY KEY,
    service_id   TEXT NOT NULL,
    at           TEXT NOT NULL,
    source       TEXT NOT NULL,
    raw          TEXT NOT NULL
) STRICT;
CREATE INDEX events_by_order ON events (service_id, number);
"""

SCHEMA_VERSION = 8


PATIENCE_SECONDS = 30.0
"""Seconds for which opening the file waits while another process has it locked."""


class JournalRefused(Exception):
    """Raised if this program must not use the journal, which stays untouched. The message says what
    to do; ``code`` is for scripts."""

    def __init__(self, code: str, words: str, next_: str) -> None:
        super().__init__(words)
        self.code = code
        self.next = next_


def refuse_others(db: sqlite3.Connection, name: str) -> None:
    """Raises JournalRefused if the file has a newer version or is not a journal. Writes nothing."""
    version = version_of(db)
    if version > SCHEMA_VERSION:
        raise JournalRefused(
            "JOURNAL_NEWER",
            f"{name} was written by a newer swapdesk (its version {version}, this one knows"
            f" {SCHEMA_VERSION}); start that swapdesk again: every order stands in the file, and"
            " nothing was changed.",
            "you: start the newer swapdesk",
        )
    tables = tables_of(db)
    # The first release gave a new file its number after its tables.
    if (
        version < 0
        or (version == 0 and not tables <= OLD_TABLES.keys())
        or (0 < version < SCHEMA_VERSION and not tables >= _ALWAYS)
    ):
        raise _unknown(name, version)


def bring_up(db: sqlite3.Connection, path: Path) -> None:
    """Migrates a journal to this version, or creates a new one. If that fails, the file stays as it
    was. May raise JournalRefused, and for a new file also OSError or sqlite3.Error."""
    before = version_of(db)
    if before == SCHEMA_VERSION:
        return
    try:
        with transaction(db):
            # Whoever had the lock may have done it, or gone further than this program knows.
            refuse_others(db, path.name)
            if version_of(db) < SCHEMA_VERSION:
                _make(db, path)
    except (OSError, sqlite3.Error) as error:
        if not before:
            raise
        raise JournalRefused(
            "JOURNAL_NOT_MOVED",
            f"{path.name} could not be brought up to this version ({error}); see to that and start"
            " again: every order stands in the file, which is as it was.",
            "you: make room, or end what holds the file, and start again",
        ) from error


def _make(db: sqlite3.Connection, path: Path) -> None:
    version = version_of(db)
    older = bool(tables_of(db))
    if older:
        _copy(path, version)
    _run(db, _LEDGER + _ORDERS)
    if older:
        try:
            fill(db)
        except sqlite3.Error as error:
            if error.sqlite_errorcode & 0xFF in _DOES_NOT_FIT:
                raise _unknown(path.name, version) from error
            raise
        db.execute("DROP VIEW IF EXISTS order_row")
        for table in OLD_TABLES:
            db.execute(f"DROP TABLE IF EXISTS {table}")
    db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")


_ALWAYS = {"intent", "step", "known_order", "event"}
"""Tables that every old version has."""
_DOES_NOT_FIT = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH)
"""SQLite's error codes for content that does not fit the new tables."""


def copy_name(path: Path, version: int) -> Path:
    """Returns the path for the copy of a journal of this older version, such as
    ``journal-version-1.db``."""
    return path.with_name(f"{path.stem}-version-{version}{path.suffix}")


def _run(db: sqlite3.Connection, statements: str) -> None:
    for statement in statements.split(";"):
        if statement.strip():
            db.execute(statement)


def _copy(path: Path, version: int) -> None:
    """Copies the journal's last committed state to a file beside it. The caller holds the write
    lock."""
    kept = copy_name(path, version)
    part = kept.with_name(f".{kept.name}.part")
    part.unlink(missing_ok=True)
    flags = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR
    handle = os.open(part, flags, 0o600)
    try:
        with closing(sqlite3.connect(path)) as now, closing(sqlite3.connect(part)) as copy:
            durable(copy)
            now.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")
        os.fsync(handle)
    finally:
        os.close(handle)
    part.replace(kept)
    keep_names(kept.parent)


def version_of(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _unknown(name: str, version: int) -> JournalRefused:
    return JournalRefused(
        "JOURNAL_UNKNOWN",
        f"{name} is not as any swapdesk writes it (its version {version}); move it to another"
        " place, or start the swapdesk that wrote it: whatever stands in the file is still there,"
        " and nothing was changed.",
        "you: find out who wrote the file before anything is paid",
    )

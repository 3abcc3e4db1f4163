"""The tables of the journal, and how one of an older version becomes one of this version.

The schema is the sum of its steps, of a new file and of an old one alike. A released step never
changes. Steps only add, because a desk of an older version may be writing to the same file; the
one thing that may go is an index that no statement names with ``INDEXED BY``. Orders and intents
are never deleted.

Before the first step the file is copied, beside it. A step and its number are one transaction, so
that a kill leaves the file before or after it. Of two processes one takes the write lock; the
other waits for it and finds nothing left to do.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path

from swapdesk.database_writing import durable

_FIRST = """
CREATE TABLE IF NOT EXISTS intent (
    id           TEXT PRIMARY KEY,
    kind         TEXT NOT NULL,
    created      TEXT NOT NULL,
    fingerprint  TEXT NOT NULL,
    frozen       TEXT NOT NULL,
    state        TEXT NOT NULL,
    owner_pid    INTEGER NOT NULL,
    owner_start  INTEGER NOT NULL,
    version      INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX IF NOT EXISTS intent_by_state ON intent (state, created);

CREATE TABLE IF NOT EXISTS step (
    intent_id    TEXT NOT NULL REFERENCES intent (id),
    seq          INTEGER NOT NULL,
    name         TEXT NOT NULL,
    state        TEXT NOT NULL,
    digest       TEXT NOT NULL,
    sent_at      TEXT,
    server_at    TEXT,
    status       INTEGER,
    request_id   TEXT,
    code         TEXT,
    result       TEXT,
    PRIMARY KEY (intent_id, seq)
) STRICT;

CREATE TABLE IF NOT EXISTS known_order (
    service_id   TEXT PRIMARY KEY,
    intent_id    TEXT,
    last         TEXT NOT NULL,
    display      TEXT,
    ended        INTEGER NOT NULL DEFAULT 0,
    standing     TEXT NOT NULL,
    withheld     TEXT,
    first_seen   TEXT NOT NULL,
    seen_at      TEXT NOT NULL,
    source       TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS known_order_by_intent ON known_order (intent_id);

CREATE TABLE IF NOT EXISTS accepted_output (
    service_id   TEXT PRIMARY KEY,
    out_amount   TEXT NOT NULL
) STRICT;
CREATE VIEW IF NOT EXISTS order_row AS
    SELECT known_order.rowid AS place, known_order.*, accepted_output.out_amount AS accepted
    FROM known_order LEFT JOIN accepted_output USING (service_id);

CREATE TABLE IF NOT EXISTS event (
    id           INTEGER PRIMARY KEY,
    service_id   TEXT NOT NULL,
    at           TEXT NOT NULL,
    source       TEXT NOT NULL,
    raw          TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS call (
    id           INTEGER PRIMARY KEY,
    method       TEXT NOT NULL,
    path         TEXT NOT NULL,
    body         TEXT NOT NULL,
    state        TEXT NOT NULL,
    sent_at      TEXT NOT NULL,
    status       INTEGER,
    request_id   TEXT,
    code         TEXT,
    service_id   TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS batch (
    id           TEXT PRIMARY KEY,
    created      TEXT NOT NULL,
    file         TEXT NOT NULL,
    digest       TEXT NOT NULL,
    owner_pid    INTEGER NOT NULL,
    owner_start  INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS batch_by_digest ON batch (digest);

CREATE TABLE IF NOT EXISTS batch_group (
    batch_id     TEXT NOT NULL REFERENCES batch (id),
    number       INTEGER NOT NULL,
    chain        TEXT NOT NULL,
    paid         TEXT NOT NULL,
    body         TEXT NOT NULL,
    state        TEXT NOT NULL,
    multi_id     TEXT UNIQUE,
    sent_at      TEXT,
    server_at    TEXT,
    status       INTEGER,
    request_id   TEXT,
    code         TEXT,
    PRIMARY KEY (batch_id, number)
) STRICT;

CREATE TABLE IF NOT EXISTS batch_row (
    batch_id     TEXT NOT NULL REFERENCES batch (id),
    number       INTEGER NOT NULL,
    line         INTEGER NOT NULL,
    group_number INTEGER NOT NULL,
    place        INTEGER NOT NULL,
    cells        TEXT NOT NULL,
    state        TEXT NOT NULL,
    service_id   TEXT,
    code         TEXT,
    reason       TEXT,
    PRIMARY KEY (batch_id, number),
    UNIQUE (batch_id, group_number, place)
) STRICT;

CREATE TABLE IF NOT EXISTS bundle (
    batch_id     TEXT NOT NULL REFERENCES batch (id),
    group_number INTEGER NOT NULL,
    number       INTEGER NOT NULL,
    built        TEXT NOT NULL,
    state        TEXT NOT NULL,
    created      TEXT NOT NULL,
    signatures   TEXT,
    sent_at      TEXT,
    server_at    TEXT,
    tx_hash      TEXT,
    code         TEXT,
    reason       TEXT,
    PRIMARY KEY (batch_id, group_number, number)
) STRICT;
CREATE INDEX IF NOT EXISTS bundle_by_state ON bundle (state);

CREATE TABLE IF NOT EXISTS bundle_payment (
    batch_id     TEXT NOT NULL REFERENCES batch (id),
    group_number INTEGER NOT NULL,
    number       INTEGER NOT NULL,
    paying       TEXT NOT NULL,
    intent_id    TEXT NOT NULL,
    service_ids  TEXT NOT NULL,
    symbol       TEXT NOT NULL,
    decimals     INTEGER NOT NULL,
    contract     TEXT,
    units        TEXT NOT NULL,
    state        TEXT NOT NULL,
    hash         TEXT,
    code         TEXT,
    PRIMARY KEY (batch_id, group_number, number)
) STRICT;

CREATE TABLE IF NOT EXISTS batch_payer (
    batch_id     TEXT PRIMARY KEY REFERENCES batch (id),
    account      TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS withdrawal (
    intent_id    TEXT PRIMARY KEY,
    account      TEXT NOT NULL,
    sender       TEXT NOT NULL,
    chain        TEXT NOT NULL,
    taken        TEXT NOT NULL,
    state        TEXT NOT NULL,
    hash         TEXT,
    moved        TEXT NOT NULL
) STRICT;

CREATE INDEX IF NOT EXISTS event_by_order ON event (service_id, id);
"""

_HASHES_OF_DEPOSITS = """
ALTER TABLE call ADD COLUMN hash TEXT;
CREATE INDEX call_by_order ON call (service_id);
CREATE INDEX batch_row_by_order ON batch_row (service_id);
CREATE TABLE told_deposit (
    service_id   TEXT PRIMARY KEY,
    hash         TEXT NOT NULL
) STRICT;
"""

PRESENT = (
    "(ended = 0 OR display IS NOT 'SWAP_COMPLETED' OR NOT json_valid(last)"
    " OR json_extract(last, '$.actionRequired') IS 1)"
)
"""Of ``known_order``: something may still become of it. An index answers a question only in its own
words, so that these are part of their step and change as little."""
OF_PAID = (
    "intent_id > '' AND standing = 'released' AND display = 'SWAP_COMPLETED' AND json_valid(last)"
)
"""Of ``known_order``: confirmed here, as confirmed to its end, and paid out."""
PAID_AT = (
    "coalesce(json_extract(last, '$.orderFinishedReceived'), json_extract(last, '$.modified'))"
)
"""Of ``known_order``: when it was paid out, as far as the service said."""

_ANSWERS_ABOUT_ALL = f"""
CREATE INDEX known_order_present ON known_order (display, service_id) WHERE {PRESENT};
CREATE INDEX known_order_unrepeated ON known_order (intent_id, service_id)
    WHERE standing = 'unrepeated';
CREATE INDEX known_order_paid ON known_order (json_extract(last, '$.receiverAddress'), {PAID_AT})
    WHERE {OF_PAID};
CREATE INDEX known_order_deposit ON known_order (json_extract(last, '$.depositAddress'))
    WHERE json_valid(last);
"""

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
    + ")"
)
"""Of ``known_order``: every address and hash that the service told, in small letters."""

_ORDERS_BY_NAME = f"""
CREATE INDEX known_order_named ON known_order ({NAMED}, service_id) WHERE json_valid(last);
"""

_PUT_AWAY = """
CREATE TABLE put_away (
    service_id   TEXT PRIMARY KEY,
    trouble      TEXT NOT NULL,
    at           TEXT NOT NULL
) STRICT;
"""

_RELEASED_DEPOSITS = """
DROP INDEX known_order_deposit;
CREATE INDEX known_order_released ON known_order
    (intent_id, json_extract(last, '$.depositAddress'))
    WHERE standing = 'released' AND json_valid(last);
"""

_CHAIN_PAYMENTS = """
CREATE TABLE chain_payment (
    service_id   TEXT NOT NULL,
    hash         TEXT NOT NULL,
    token        TEXT NOT NULL,
    raw          TEXT NOT NULL,
    PRIMARY KEY (service_id, hash, token)
) STRICT;
"""

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

_BATCHES = """
INSERT INTO operation (id, kind, claim, state, body, prepared_at, ended_at, owner_pid, owner_start)
SELECT id, 'batch', CASE WHEN row_number() OVER newest = 1 THEN 'batch:' || digest END, state,
    json_patch('{}', json_object('file', file, 'digest', digest, 'payer', account)),
    created, CASE WHEN state IN ('done', 'refused') THEN created END, owner_pid, owner_start
FROM (
    SELECT batch.*, batch.rowid AS place, account, CASE
        WHEN min(state IN ('REFUSED', 'RESOLVED_NO')) THEN 'refused'
        WHEN max(state IN ('PREPARED', 'SENT', 'UNKNOWN')) = 0 THEN 'done'
        WHEN min(state = 'PREPARED') THEN 'prepared' ELSE 'sent' END AS state
    FROM batch JOIN batch_group ON batch_id = batch.id LEFT JOIN batch_payer USING (batch_id)
    GROUP BY batch.id)
WINDOW newest AS (PARTITION BY digest, state = 'refused' ORDER BY place DESC)
ORDER BY place;
INSERT INTO operation (id, kind, parent, subject, state, body, result, code, prepared_at, sent_at,
    server_at, ended_at, owner_pid, owner_start)
SELECT batch_id || '-' || number, 'create_group', batch_id, multi_id, CASE state
        WHEN 'PREPARED' THEN 'prepared' WHEN 'SENT' THEN 'sent' WHEN 'UNKNOWN' THEN 'unknown'
        WHEN 'REFUSED' THEN 'refused' WHEN 'RESOLVED_NO' THEN 'refused' ELSE 'done' END,
    json_object('number', number, 'chain', chain, 'paid', paid, 'body', body),
    json_patch('{}', json_object('request_id', request_id, 'status', status)),
    CASE state WHEN 'ACKED' THEN NULL WHEN 'RESOLVED_YES' THEN coalesce(code, 'NO_ANSWER')
        ELSE code END,
    created, sent_at, server_at,
    CASE WHEN state NOT IN ('PREPARED', 'SENT', 'UNKNOWN') THEN coalesce(sent_at, created) END,
    owner_pid, owner_start
FROM batch_group JOIN batch ON batch.id = batch_id ORDER BY batch.rowid, number;
INSERT INTO operation (id, kind, parent, subject, state, body, result, code, prepared_at, sent_at,
    ended_at, owner_pid, owner_start)
SELECT asked.id || '-' || place, 'row', asked.id, service_id, CASE batch_row.state
        WHEN 'planned' THEN 'prepared' WHEN 'failed' THEN 'refused'
        WHEN 'unknown' THEN iif(asked.state = 'sent', 'sent', 'unknown') ELSE 'done' END,
    json_object('number', batch_row.number, 'line', line, 'place', place, 'cells', json(cells)),
    json_patch('{}', json_object('reason', reason)), batch_row.code, prepared_at, sent_at,
    CASE WHEN batch_row.state NOT IN ('planned', 'unknown') THEN ended_at END,
    owner_pid, owner_start
FROM operation AS asked JOIN batch_row ON batch_id = asked.parent
    AND group_number = json_extract(asked.body, '$.number')
WHERE asked.kind = 'create_group' ORDER BY asked.number, place;
"""

STEPS: tuple[str, ...] = (
    _FIRST,
    _FIRST + _HASHES_OF_DEPOSITS,
    _ANSWERS_ABOUT_ALL,
    _ORDERS_BY_NAME,
    _PUT_AWAY,
    _RELEASED_DEPOSITS,
    _CHAIN_PAYMENTS,
    _LEDGER + _BATCHES,
)
"""Statements without a semicolon inside; step 1 makes version 1 (``PRAGMA user_version``) of an
empty file. Version 1 grew by tables without another number, so step 2 makes up for them."""

SCHEMA_VERSION = len(STEPS)


PATIENCE_SECONDS = 30.0
"""How long another process may hold the file before this one gives up."""


class JournalRefused(Exception):
    """The journal is of a kind that this program must not use, and was left as it is. The text
    is one sentence: what is wrong, and what to do. ``code`` is for scripts."""

    def __init__(self, code: str, words: str, next_: str) -> None:
        super().__init__(words)
        self.code = code
        self.next = next_


def refuse_others(db: sqlite3.Connection, name: str) -> None:
    """Raise JournalRefused for a file of a newer version, or for one that is no journal. Nothing
    is written to it."""
    version = version_of(db)
    if version > SCHEMA_VERSION:
        raise JournalRefused(
            "JOURNAL_NEWER",
            f"{name} was written by a newer swapdesk (its version {version}, this one knows"
            f" {SCHEMA_VERSION}); start that swapdesk again: every order stands in the file, and"
            " nothing was changed.",
            "you: start the newer swapdesk",
        )
    strange = version == 0 and not _shape(db).keys() <= _shape_of(SCHEMA_VERSION).keys()
    if version < 0 or strange:
        raise _unknown(name, version)


def bring_up(db: sqlite3.Connection, path: Path) -> None:
    """Make the file behind ``db`` one of this version. Raises JournalRefused where that fails,
    then it is of the version that the last whole step made; of a new file also sqlite3.Error."""
    before = version_of(db)
    try:
        while version_of(db) < SCHEMA_VERSION:
            _next_step(db, path, before)
    except (OSError, sqlite3.Error) as error:
        if not before:
            raise
        raise JournalRefused(
            "JOURNAL_NOT_MOVED",
            f"{path.name} could not be brought up to this version ({error}); see to that and start"
            " again: every order stands in the file, which is as it was.",
            "you: make room, or end what holds the file, and start again",
        ) from error


def _next_step(db: sqlite3.Connection, path: Path, before: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        # Whoever had the lock may have done it, or gone further than this program knows.
        refuse_others(db, path.name)
        version = version_of(db)
        if version < SCHEMA_VERSION:
            if version == before and _shape(db):
                _copy(path, version)
            _run(db, STEPS[version])
            # Whatever stood there under these names, no statement may fail on it later.
            if not _shape_of(version + 1).items() <= _shape(db).items():
                raise _unknown(path.name, version)
            db.execute(f"PRAGMA user_version={version + 1}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def copy_name(path: Path, version: int) -> Path:
    """Where the file stands as it was in ``version``: ``journal-version-1.db``."""
    return path.with_name(f"{path.stem}-version-{version}{path.suffix}")


def _run(db: sqlite3.Connection, step: str) -> None:
    for statement in step.split(";"):
        if statement.strip():
            db.execute(statement)


def _copy(path: Path, version: int) -> None:
    """Write the last commit beside the file, whole or not at all; the caller has the lock, so
    that nothing is written after it."""
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
    folder = os.open(kept.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def version_of(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _shape(db: sqlite3.Connection) -> dict[str, str]:
    """What was created in the file, by name."""
    rows = db.execute("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite%'")
    return dict(rows)


@cache
def _shape_of(version: int) -> Mapping[str, str]:
    """The same of a new file of a version."""
    with closing(sqlite3.connect(":memory:")) as db:
        for step in STEPS[:version]:
            _run(db, step)
        return _shape(db)


def _unknown(name: str, version: int) -> JournalRefused:
    return JournalRefused(
        "JOURNAL_UNKNOWN",
        f"{name} is not as any swapdesk writes it (its version {version}); move it to another"
        " place, or start the swapdesk that wrote it: whatever stands in the file is still there,"
        " and nothing was changed.",
        "you: find out who wrote the file before anything is paid",
    )

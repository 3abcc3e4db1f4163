"""Tables of the embedded store, written once for a new file.

Times are integers, microseconds since 1970 UTC. Amounts are exact decimal text;
``amount_key`` is the same amount at fixed width, so that text order is numeric order.
"""

from __future__ import annotations

import sqlite3

VERSION = 1

TABLES = """
CREATE TABLE quotes (
    quote_id        TEXT PRIMARY KEY,
    partner_id      TEXT NOT NULL,
    purpose         TEXT NOT NULL,
    route           TEXT NOT NULL,
    created         INTEGER NOT NULL,
    expires         INTEGER NOT NULL,
    token_in_id     TEXT NOT NULL,
    token_out_id    TEXT NOT NULL,
    amount_in       TEXT NOT NULL,
    amount_out      TEXT NOT NULL,
    amount_in_usd   TEXT,
    amount_out_usd  TEXT,
    minutes         TEXT NOT NULL,
    legs            TEXT NOT NULL,
    middle_token_id TEXT,
    middle_amount   TEXT,
    consumed_by     TEXT
) WITHOUT ROWID;
CREATE INDEX quotes_by_expiry ON quotes (expires);

CREATE TABLE orders (
    service_id       TEXT PRIMARY KEY,
    record_id        TEXT NOT NULL UNIQUE,
    partner_id       TEXT NOT NULL,
    quote_id         TEXT NOT NULL,
    request_digest   TEXT NOT NULL,
    route            TEXT NOT NULL,
    created          INTEGER NOT NULL,
    modified         INTEGER NOT NULL,
    expires          INTEGER NOT NULL,
    status           INTEGER NOT NULL,
    display_status   TEXT NOT NULL,
    rank             INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    due_at           INTEGER,
    in_status        INTEGER NOT NULL,
    out_status       INTEGER,
    token_in_id      TEXT NOT NULL,
    token_out_id     TEXT NOT NULL,
    amount_in        TEXT NOT NULL,
    amount_out       TEXT NOT NULL,
    amount_in_usd    TEXT,
    amount_out_usd   TEXT,
    minutes          TEXT NOT NULL,
    receiver_address TEXT NOT NULL,
    receiver_tag     TEXT,
    refund_address   TEXT,
    refund_tag       TEXT,
    deposit_address  TEXT,
    deposit_tag      TEXT,
    legs             TEXT NOT NULL,
    middle_token_id  TEXT,
    middle_amount    TEXT,
    failure_code     TEXT,
    attempt          INTEGER NOT NULL,
    detail           TEXT NOT NULL,
    amount_key       TEXT NOT NULL,
    lease_owner      TEXT,
    lease_until      INTEGER
);
CREATE UNIQUE INDEX one_order_per_quote ON orders (partner_id, quote_id);
CREATE INDEX orders_by_creation ON orders (partner_id, created);
CREATE INDEX orders_by_status ON orders (partner_id, status, created);
CREATE INDEX orders_due ON orders (lease_until, due_at) WHERE due_at IS NOT NULL;

CREATE TABLE outbox (
    sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
    service_id TEXT NOT NULL,
    partner_id TEXT NOT NULL,
    version    INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    rank       INTEGER NOT NULL,
    committed  INTEGER NOT NULL
);

CREATE TABLE requests (
    partner_id TEXT NOT NULL,
    month      TEXT NOT NULL,
    count      INTEGER NOT NULL,
    PRIMARY KEY (partner_id, month)
) WITHOUT ROWID;
"""


class SchemaError(Exception):
    """The file is damaged, or was written by a newer release."""


def configure(connection: sqlite3.Connection, *, writes: bool) -> None:
    """Durability and waiting: WAL with a flush at every commit."""
    connection.execute("PRAGMA busy_timeout = 5000")
    if writes:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    else:
        connection.execute("PRAGMA query_only = ON")


def prepare(connection: sqlite3.Connection) -> None:
    """Create the tables in a new file, or check an old one. Raises SchemaError."""
    try:
        _prepare(connection)
    except sqlite3.DatabaseError as error:
        raise SchemaError(f"the file cannot be used: {error}") from error


def _prepare(connection: sqlite3.Connection) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise SchemaError(f"the file has schema {version}, this release knows {VERSION}")
    if version == 0:
        connection.executescript(f"BEGIN IMMEDIATE;{TABLES}PRAGMA user_version = {VERSION};COMMIT;")
        return
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise SchemaError(f"the file is damaged: {verdict}")

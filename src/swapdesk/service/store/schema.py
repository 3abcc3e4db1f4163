"""Tables of the embedded store, written for a new file; an older file is brought up to date.

Times are integers, microseconds since 1970 UTC. Amounts are exact decimal text;
``amount_key`` is the same amount at fixed width, so that text order is numeric order.
"""

from __future__ import annotations

import sqlite3

VERSION = 5

_USAGE = """
CREATE TABLE usage (
    partner_id TEXT NOT NULL,
    rate_class TEXT NOT NULL,
    seconds    INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    used       INTEGER NOT NULL,
    PRIMARY KEY (partner_id, rate_class, seconds)
) WITHOUT ROWID;
"""

_SCANS = """
CREATE TABLE scans (
    token_id TEXT PRIMARY KEY,
    verdict  BLOB NOT NULL
) WITHOUT ROWID;
"""

_TRANSACTIONS = """
CREATE UNIQUE INDEX one_order_per_transaction ON orders
    (json_extract(detail, '$.sourceChain'), json_extract(detail, '$.confirmedHash'))
    WHERE json_extract(detail, '$.confirmedHash') IS NOT NULL;
"""

_GROUPS = """
CREATE INDEX orders_of_group ON orders (multi_id) WHERE multi_id IS NOT NULL;

CREATE TABLE groups (
    multi_id   TEXT PRIMARY KEY,
    partner_id TEXT NOT NULL,
    created    INTEGER NOT NULL,
    chain      TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE bundles (
    number         INTEGER PRIMARY KEY AUTOINCREMENT,
    multi_id       TEXT NOT NULL,
    partner_id     TEXT NOT NULL,
    chain          TEXT NOT NULL,
    created        INTEGER NOT NULL,
    modified       INTEGER NOT NULL,
    expires        INTEGER NOT NULL,
    state          TEXT NOT NULL,
    owner          TEXT NOT NULL,
    batches        TEXT NOT NULL,
    tx_hash        TEXT,
    failure_reason TEXT
);
CREATE INDEX bundles_of_group ON bundles (multi_id, number);
CREATE INDEX bundles_under_way ON bundles (number) WHERE state = 'submitted';
"""

TABLES = (
    """
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
    consumed_by     TEXT,
    fixed           INTEGER NOT NULL DEFAULT 0,
    receive         INTEGER NOT NULL DEFAULT 0,
    markup          TEXT NOT NULL DEFAULT '0',
    rates           TEXT NOT NULL DEFAULT '[]',
    payout_wallet   INTEGER,
    requires_refund_address INTEGER NOT NULL DEFAULT 0,
    filtered        INTEGER NOT NULL DEFAULT 0,
    choice          TEXT NOT NULL DEFAULT '{}',
    plan            TEXT NOT NULL DEFAULT '{}'
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
    fixed            INTEGER NOT NULL DEFAULT 0,
    receive          INTEGER NOT NULL DEFAULT 0,
    markup           TEXT NOT NULL DEFAULT '0',
    rates            TEXT NOT NULL DEFAULT '[]',
    payout_wallet    INTEGER,
    choice           TEXT NOT NULL DEFAULT '{}',
    plan             TEXT NOT NULL DEFAULT '{}',
    multi_id         TEXT,
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
    + _USAGE
    + _SCANS
    + _TRANSACTIONS
    + _GROUPS
)

_TERMS = (
    "fixed INTEGER NOT NULL DEFAULT 0",
    "receive INTEGER NOT NULL DEFAULT 0",
    "markup TEXT NOT NULL DEFAULT '0'",
    "rates TEXT NOT NULL DEFAULT '[]'",
    "payout_wallet INTEGER",
    "choice TEXT NOT NULL DEFAULT '{}'",
)
_OF_QUOTES = (
    "requires_refund_address INTEGER NOT NULL DEFAULT 0",
    "filtered INTEGER NOT NULL DEFAULT 0",
)
UPDATES: dict[int, str] = {
    1: "".join(
        f"ALTER TABLE {table} ADD COLUMN {column};"
        for table, columns in (("quotes", (*_TERMS, *_OF_QUOTES)), ("orders", _TERMS))
        for column in columns
    )
    + _USAGE,
    2: _SCANS,
    3: "".join(
        f"ALTER TABLE {table} ADD COLUMN plan TEXT NOT NULL DEFAULT '{{}}';"
        for table in ("quotes", "orders")
    )
    + _TRANSACTIONS,
    4: "ALTER TABLE orders ADD COLUMN multi_id TEXT;" + _GROUPS,
}
"""What takes a file from a version to the next one."""


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
    """Create the tables in a new file, or check an old one and bring it up to date.

    Raises SchemaError.
    """
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
    for before in range(version, VERSION):
        connection.executescript(
            f"BEGIN IMMEDIATE;{UPDATES[before]}PRAGMA user_version = {before + 1};COMMIT;"
        )

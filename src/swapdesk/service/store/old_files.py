"""Migrates SQLite files of schema 1 to 12 to this release's schema. PostgreSQL begins with schema
13."""

from __future__ import annotations

import sqlite3

LAST = 12

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
    token_id      TEXT PRIMARY KEY,
    verdict       BLOB,
    expires       INTEGER NOT NULL DEFAULT 0,
    claimed_until INTEGER NOT NULL DEFAULT 0
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

_BOOKS = """
CREATE INDEX orders_finished ON orders (partner_id, json_extract(detail, '$.finished'))
    WHERE status = 4;

CREATE TABLE day_sums (
    partner_id TEXT NOT NULL,
    day        TEXT NOT NULL,
    orders     INTEGER NOT NULL,
    private    INTEGER NOT NULL,
    volume     TEXT NOT NULL,
    commission TEXT NOT NULL,
    entries    INTEGER NOT NULL,
    PRIMARY KEY (partner_id, day)
) WITHOUT ROWID;

CREATE TABLE commissions (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    partner_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    month      TEXT NOT NULL,
    booked     INTEGER NOT NULL,
    amount     TEXT NOT NULL,
    service_id TEXT
);
CREATE UNIQUE INDEX one_entry_per_order ON commissions (service_id, kind)
    WHERE service_id IS NOT NULL;
CREATE INDEX commissions_of_month ON commissions (partner_id, kind, month);
CREATE TRIGGER commissions_are_not_changed BEFORE UPDATE ON commissions
    BEGIN SELECT RAISE(ABORT, 'a commission is reversed by an entry, never changed'); END;
CREATE TRIGGER commissions_are_not_deleted BEFORE DELETE ON commissions
    BEGIN SELECT RAISE(ABORT, 'a commission is reversed by an entry, never deleted'); END;
"""

_PAYMENTS = """
CREATE TABLE payments (
    payment     TEXT PRIMARY KEY,
    ends        INTEGER NOT NULL,
    transaction_hash TEXT
) WITHOUT ROWID;
CREATE INDEX payments_by_end ON payments (ends);
"""

_PAID_CREATES = """
ALTER TABLE payments ADD COLUMN opened TEXT;
ALTER TABLE payments ADD COLUMN sent TEXT;
ALTER TABLE groups ADD COLUMN told INTEGER NOT NULL DEFAULT 1;
ALTER TABLE orders ADD COLUMN told INTEGER NOT NULL DEFAULT 1;
DROP INDEX orders_by_creation;
DROP INDEX orders_by_status;
CREATE INDEX orders_by_creation ON orders (partner_id, created, told);
CREATE INDEX orders_by_status ON orders (partner_id, status, created, told);
"""
# ``opened`` is the order or the group that the call of a payment began; ``sent`` is the transaction
# that was to bring it to a chain, and ``transaction_hash`` the one that did.

_DEPOSIT_ACCOUNTS = """
ALTER TABLE orders ADD COLUMN deposit_account TEXT;
CREATE INDEX orders_by_deposit ON orders (deposit_account, created)
    WHERE deposit_account IS NOT NULL;
"""

_WEBHOOKS = """
CREATE TABLE webhooks (
    source   TEXT NOT NULL,
    event_id TEXT NOT NULL,
    ends     INTEGER NOT NULL,
    PRIMARY KEY (source, event_id)
) WITHOUT ROWID;
CREATE INDEX webhooks_by_end ON webhooks (ends);
"""

_FINISHED = "json_extract(detail, '$.finished')"
_FILL_BOOKS = f"""
INSERT INTO commissions (partner_id, kind, month, booked, amount, service_id)
    SELECT partner_id, 'earned', substr({_FINISHED}, 1, 7),
        CAST(strftime('%s', {_FINISHED}) AS INTEGER) * 1000000
        + CAST(substr({_FINISHED}, 21, 3) AS INTEGER) * 1000,
        COALESCE(commission, '0'), service_id
    FROM orders AS ended WHERE status = 4 AND NOT EXISTS (
        SELECT 1 FROM commissions
        WHERE commissions.service_id = ended.service_id AND kind = 'earned');
INSERT INTO day_sums (partner_id, day, orders, private, volume, commission, entries)
    SELECT partner_id, substr({_FINISHED}, 1, 10) AS day, COUNT(*), SUM(route = 'private'),
        exact_sum(COALESCE(amount_in_usd, '0')), exact_sum(COALESCE(commission, '0')),
        SUM(COALESCE(commission, '0') GLOB '*[1-9]*')
    FROM orders WHERE status = 4 GROUP BY partner_id, day;
"""  # noqa: S608 - our own names

_COUNTED = "".join(
    f"CREATE TRIGGER {table}_{action.lower()} AFTER {action} ON {table}"  # noqa: S608 - our own
    " BEGIN UPDATE partner_changes SET number = number + 1; END;"
    for table in ("partners", "api_keys")
    for action in ("INSERT", "UPDATE", "DELETE")
)

_ACCOUNTS = """
CREATE TABLE partners (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    partner_id TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    tier       TEXT NOT NULL,
    created    INTEGER NOT NULL,
    suspended  INTEGER NOT NULL,
    overrides  TEXT NOT NULL,
    origins    TEXT NOT NULL
);

CREATE TABLE api_keys (
    number        INTEGER PRIMARY KEY AUTOINCREMENT,
    api_key       TEXT NOT NULL UNIQUE,
    partner_id    TEXT NOT NULL,
    secret_digest BLOB NOT NULL,
    scope         TEXT NOT NULL,
    dialect       TEXT,
    created       INTEGER NOT NULL,
    revoked       INTEGER
);
CREATE INDEX api_keys_of_partner ON api_keys (partner_id);

CREATE TABLE partner_changes (number INTEGER NOT NULL);
INSERT INTO partner_changes (number) VALUES (0);
"""

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
    5: "ALTER TABLE quotes ADD COLUMN fee_usd TEXT;"
    "ALTER TABLE orders ADD COLUMN fee_usd TEXT;"
    "ALTER TABLE orders ADD COLUMN commission TEXT;" + _BOOKS + _FILL_BOOKS,
    6: _ACCOUNTS + _COUNTED,
    7: _PAYMENTS,
    8: _WEBHOOKS,
    9: "ALTER TABLE scans RENAME TO old_scans;"  # noqa: S608 - a constant
    + _SCANS
    + "INSERT INTO scans (token_id, verdict) SELECT token_id, verdict FROM old_scans;"
    + "DROP TABLE old_scans;",
    10: _PAID_CREATES,
    11: _DEPOSIT_ACCOUNTS,
}

_TABLES = (
    *("quotes", "orders", "groups", "bundles", "outbox", "requests", "usage", "scans", "day_sums"),
    *("commissions", "partners", "api_keys", "partner_changes", "payments", "webhooks"),
)
_FILLED = {
    ("orders", "number"): "rowid",
    ("orders", "source_chain"): "json_extract(detail, '$.sourceChain')",
    ("orders", "confirmed_hash"): "json_extract(detail, '$.confirmedHash')",
    ("orders", "finished_day"): f"substr({_FINISHED}, 1, 10)",
    ("commissions", "day"): "strftime('%Y-%m-%d', booked / 1000000, 'unixepoch')",
}


def to_last(connection: sqlite3.Connection, version: int) -> None:
    """Migrates a file of schema ``version`` to schema 12, each step in a transaction of its own."""
    for before in range(version, LAST):
        connection.executescript(
            f"BEGIN IMMEDIATE;{UPDATES[before]}PRAGMA user_version = {before + 1};COMMIT;"
        )


def to_newest(connection: sqlite3.Connection, tables: str, version: int) -> None:
    """Moves all rows of a file of schema 12 into new tables in one transaction. ``tables`` holds
    the SQL statements that create the new tables."""
    named = "SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL AND type IN (%s)"
    script = ["BEGIN IMMEDIATE;"]
    for kind, name in connection.execute(named % "'index', 'trigger'"):
        script.append(f"DROP {kind} {name};")
    script += [f"ALTER TABLE {table} RENAME TO old_{table};" for table in _TABLES]
    script += [tables, "DELETE FROM partner_changes;"]
    for table in _TABLES:
        there = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        more = {column: expression for (of, column), expression in _FILLED.items() if of == table}
        columns, values = ", ".join([*there, *more]), ", ".join([*there, *more.values()])
        script.append(
            f"INSERT INTO {table} ({columns}) SELECT {values} FROM old_{table};"  # noqa: S608 - ours
        )
    # A number of the outbox is never given twice, also after its row was dropped.
    script += [
        "DELETE FROM sqlite_sequence WHERE name = 'outbox';",
        "INSERT INTO sqlite_sequence SELECT 'outbox', seq FROM sqlite_sequence"
        " WHERE name = 'old_outbox';",
    ]
    script += [f"DROP TABLE old_{table};" for table in _TABLES]
    script += [
        f"INSERT INTO schema_version (number, serves_from) VALUES ({version}, {version});",  # noqa: S608
        f"PRAGMA user_version = {version};",
    ]
    try:
        connection.executescript("".join(script) + "COMMIT;")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise

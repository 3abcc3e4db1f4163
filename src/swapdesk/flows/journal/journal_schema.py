"""Tables of the journal. Orders and intents are never deleted by the desk: the service forgets
an order after 48 hours, the person who paid it does not. Of the states an order was seen in,
the first and the newest are kept (``order_log``).

The schema is what the steps make one after the other, of a new file and of an old one alike
(``journal_migration``). A step that was released never changes: what is to be another is a
step more. Steps only add (tables, columns that may be empty, indexes), because a desk of an
older version may be writing to the same file while this one brings it up. The one thing that may
go is an index: whoever asks without it waits longer. One that a statement names with ``INDEXED
BY`` stays, since that statement fails without it.
"""

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

STEPS: tuple[str, ...] = (
    _FIRST,
    _FIRST + _HASHES_OF_DEPOSITS,
    _ANSWERS_ABOUT_ALL,
    _ORDERS_BY_NAME,
    _PUT_AWAY,
    _RELEASED_DEPOSITS,
)
"""Statements without a semicolon inside; step 1 makes version 1 (``PRAGMA user_version``) of an
empty file. Version 1 grew by tables without another number, so step 2 makes up for them."""

SCHEMA_VERSION = len(STEPS)

-- What each version of the journal added to the one before.
-- a version
CREATE TABLE intent (
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
CREATE INDEX intent_by_state ON intent (state, created);

CREATE TABLE step (
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

CREATE TABLE known_order (
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
CREATE INDEX known_order_by_intent ON known_order (intent_id);

CREATE TABLE accepted_output (
    service_id   TEXT PRIMARY KEY,
    out_amount   TEXT NOT NULL
) STRICT;
CREATE VIEW order_row AS
    SELECT known_order.rowid AS place, known_order.*, accepted_output.out_amount AS accepted
    FROM known_order LEFT JOIN accepted_output USING (service_id);

CREATE TABLE event (
    id           INTEGER PRIMARY KEY,
    service_id   TEXT NOT NULL,
    at           TEXT NOT NULL,
    source       TEXT NOT NULL,
    raw          TEXT NOT NULL
) STRICT;
CREATE TABLE call (
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

CREATE TABLE batch (
    id           TEXT PRIMARY KEY,
    created      TEXT NOT NULL,
    file         TEXT NOT NULL,
    digest       TEXT NOT NULL,
    owner_pid    INTEGER NOT NULL,
    owner_start  INTEGER NOT NULL
) STRICT;
CREATE INDEX batch_by_digest ON batch (digest);

CREATE TABLE batch_group (
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

CREATE TABLE batch_row (
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

CREATE TABLE bundle (
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
CREATE INDEX bundle_by_state ON bundle (state);

CREATE TABLE bundle_payment (
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

CREATE TABLE batch_payer (
    batch_id     TEXT PRIMARY KEY REFERENCES batch (id),
    account      TEXT NOT NULL
) STRICT;

CREATE TABLE withdrawal (
    intent_id    TEXT PRIMARY KEY,
    account      TEXT NOT NULL,
    sender       TEXT NOT NULL,
    chain        TEXT NOT NULL,
    taken        TEXT NOT NULL,
    state        TEXT NOT NULL,
    hash         TEXT,
    moved        TEXT NOT NULL
) STRICT;

CREATE INDEX event_by_order ON event (service_id, id);
-- a version
ALTER TABLE call ADD COLUMN hash TEXT;
CREATE INDEX call_by_order ON call (service_id);
CREATE INDEX batch_row_by_order ON batch_row (service_id);
CREATE TABLE told_deposit (
    service_id   TEXT PRIMARY KEY,
    hash         TEXT NOT NULL
) STRICT;
-- a version
CREATE INDEX known_order_present ON known_order (display, service_id) WHERE (ended = 0 OR display IS NOT 'SWAP_COMPLETED' OR NOT json_valid(last) OR json_extract(last, '$.actionRequired') IS 1);
CREATE INDEX known_order_unrepeated ON known_order (intent_id, service_id)
    WHERE standing = 'unrepeated';
CREATE INDEX known_order_paid ON known_order (json_extract(last, '$.receiverAddress'), coalesce(json_extract(last, '$.orderFinishedReceived'), json_extract(last, '$.modified')))
    WHERE intent_id > '' AND standing = 'released' AND display = 'SWAP_COMPLETED' AND json_valid(last);
CREATE INDEX known_order_deposit ON known_order (json_extract(last, '$.depositAddress'))
    WHERE json_valid(last);
-- a version
CREATE INDEX known_order_named ON known_order (lower(coalesce(json_extract(last, '$.depositAddress'), '') || ' ' || coalesce(json_extract(last, '$.receiverAddress'), '') || ' ' || coalesce(json_extract(last, '$.refundAddress'), '') || ' ' || coalesce(json_extract(last, '$.intermediateRefundAddress'), '') || ' ' || coalesce(json_extract(last, '$.inTransactionOutHash'), '') || ' ' || coalesce(json_extract(last, '$.outTransactionOutHash'), '') || ' ' || coalesce(json_extract(last, '$.refundHash'), '') || ' ' || coalesce(json_extract(last, '$.hashUrl'), '')), service_id) WHERE json_valid(last);
-- a version
CREATE TABLE put_away (
    service_id   TEXT PRIMARY KEY,
    trouble      TEXT NOT NULL,
    at           TEXT NOT NULL
) STRICT;
-- a version
DROP INDEX known_order_deposit;
CREATE INDEX known_order_released ON known_order
    (intent_id, json_extract(last, '$.depositAddress'))
    WHERE standing = 'released' AND json_valid(last);
-- a version
CREATE TABLE chain_payment (
    service_id   TEXT NOT NULL,
    hash         TEXT NOT NULL,
    token        TEXT NOT NULL,
    raw          TEXT NOT NULL,
    PRIMARY KEY (service_id, hash, token)
) STRICT;

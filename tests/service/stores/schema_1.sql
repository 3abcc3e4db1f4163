BEGIN TRANSACTION;
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
INSERT INTO "orders" VALUES('order00001','000000000000000000000001','partner-alice','000000000000000000000001','digest','standard',1795183331000000,1795183331000000,1795185131000000,-2,'WAITING_FOR_DEPOSIT',0,1,1795183343000000,0,NULL,'0000000000000000000a0015','0000000000000000000a0016','0.5','0.0166','1500.00',NULL,'5','someone',NULL,NULL,NULL,NULL,NULL,'aa',NULL,NULL,NULL,0,'{"note":"\u00e9 \ud83d\ude00 \u0000","rerouted":true}','0000000000000000000000000000000000000000.5000000000000000000000000000000000000000',NULL,NULL);
INSERT INTO "orders" VALUES('order00002','000000000000000000000002','partner-alice','000000000000000000000002','digest','standard',1795183331000000,1795183331000000,1795185131000000,4,'WAITING_FOR_DEPOSIT',9,2,1795183343000000,0,NULL,'0000000000000000000a0015','0000000000000000000a0016','0.5','0.0166','1500.00',NULL,'5','someone',NULL,NULL,NULL,NULL,NULL,'aa',NULL,NULL,NULL,0,'{"finished":"2026-11-20T23:59:59.999Z"}','0000000000000000000000000000000000000000.5000000000000000000000000000000000000000',NULL,NULL);
CREATE TABLE outbox (
    sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
    service_id TEXT NOT NULL,
    partner_id TEXT NOT NULL,
    version    INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    rank       INTEGER NOT NULL,
    committed  INTEGER NOT NULL
);
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
    consumed_by     TEXT) WITHOUT ROWID;
INSERT INTO "quotes" VALUES('000000000000000000000001','partner-alice','exchange','private',1795183331000000,1795183391000000,'0000000000000000000a0015','0000000000000000000a0016','0.500000000000000001','0.0166',NULL,'1494.00','12.5','aa,bb','0000000000000000000a0016','8.3','order00001');
INSERT INTO "quotes" VALUES('000000000000000000000002','partner-alice','exchange','private',1795183331000000,1795183391000000,'0000000000000000000a0015','0000000000000000000a0016','0.500000000000000001','0.0166',NULL,'1494.00','12.5','aa,bb','0000000000000000000a0016','8.3','order00002');
INSERT INTO "quotes" VALUES('000000000000000000000003','partner-alice','exchange','private',1795183331000000,1795183391000000,'0000000000000000000a0015','0000000000000000000a0016','0.500000000000000001','0.0166',NULL,'1494.00','12.5','aa,bb','0000000000000000000a0016','8.3','order00003');
CREATE TABLE requests (
    partner_id TEXT NOT NULL,
    month      TEXT NOT NULL,
    count      INTEGER NOT NULL,
    PRIMARY KEY (partner_id, month)
) WITHOUT ROWID;
INSERT INTO "requests" VALUES('partner-alice','2026-11',7);
CREATE INDEX quotes_by_expiry ON quotes (expires);
CREATE UNIQUE INDEX one_order_per_quote ON orders (partner_id, quote_id);
CREATE INDEX orders_due ON orders (lease_until, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX orders_by_creation ON orders (partner_id, created);
CREATE INDEX orders_by_status ON orders (partner_id, status, created);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('outbox',2);
COMMIT;
PRAGMA user_version = 1;

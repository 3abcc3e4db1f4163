BEGIN TRANSACTION;
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
INSERT INTO "api_keys" VALUES(1,'k','partner-alice',X'043A718774C572BD8A25ADBEB1BFCD5C0256AE11CECF9F9C3F925D0E52BEAF89','full',NULL,1795183331000000,NULL);
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
INSERT INTO "bundles" VALUES(1,'group-1','partner-alice','ethereum',1795183331000000,1795183331000000,1795185131000000,'pending','0x00','[{"service_ids":["order00004"],"operation":{"sender":"0x00","nonce":"0x0"},"hash":"0x0000000000000000000000000000000000000000000000000000000000000001","entry_point":"0x00","version":"0.7","signature":null,"paid":false}]',NULL,NULL);
CREATE TABLE commissions (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    partner_id TEXT NOT NULL,
    kind       TEXT NOT NULL,
    month      TEXT NOT NULL,
    booked     INTEGER NOT NULL,
    amount     TEXT NOT NULL,
    service_id TEXT
);
INSERT INTO "commissions" VALUES(1,'partner-alice','earned','2026-11',1795219199999000,'0.3','order00002');
INSERT INTO "commissions" VALUES(2,'partner-alice','reversal','2026-11',1795219200000000,'-0.3','order00002');
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
INSERT INTO "day_sums" VALUES('partner-alice','2026-11-20',1,0,'1500.00','0.3',1);
INSERT INTO "day_sums" VALUES('partner-alice','2026-11-21',0,0,'0','-0.3',0);
CREATE TABLE groups (
    multi_id   TEXT PRIMARY KEY,
    partner_id TEXT NOT NULL,
    created    INTEGER NOT NULL,
    chain      TEXT NOT NULL
, told INTEGER NOT NULL DEFAULT 1) WITHOUT ROWID;
INSERT INTO "groups" VALUES('group-1','partner-alice',1795183331000000,'ethereum',1);
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
    fee_usd          TEXT,
    commission       TEXT,
    amount_key       TEXT NOT NULL,
    lease_owner      TEXT,
    lease_until      INTEGER
, told INTEGER NOT NULL DEFAULT 1, deposit_account TEXT);
INSERT INTO "orders" VALUES('order00001','000000000000000000000001','partner-alice','000000000000000000000001','digest','standard',1795183331000000,1795183331000000,1795185131000000,-2,'WAITING_FOR_DEPOSIT',0,1,1795183343000000,0,NULL,'0000000000000000000a0015','0000000000000000000a0016','0.5','0.0166','1500.00',NULL,'5','someone',NULL,NULL,NULL,NULL,NULL,'aa',NULL,NULL,NULL,0,'{"note":"\u00e9 \ud83d\ude00 \u0000","rerouted":true}',0,0,'0','[]',NULL,'{}','{}',NULL,NULL,NULL,'0000000000000000000000000000000000000000.5000000000000000000000000000000000000000',NULL,NULL,1,NULL);
INSERT INTO "orders" VALUES('order00002','000000000000000000000002','partner-alice','000000000000000000000002','digest','standard',1795183331000000,1795183331000000,1795185131000000,4,'WAITING_FOR_DEPOSIT',9,2,1795183343000000,0,NULL,'0000000000000000000a0015','0000000000000000000a0016','0.5','0.0166','1500.00',NULL,'5','someone',NULL,NULL,NULL,NULL,NULL,'aa',NULL,NULL,NULL,0,'{"finished":"2026-11-20T23:59:59.999Z"}',0,0,'0','[]',NULL,'{}','{}',NULL,NULL,'0.3','0000000000000000000000000000000000000000.5000000000000000000000000000000000000000',NULL,NULL,1,NULL);
INSERT INTO "orders" VALUES('order00003','000000000000000000000003','partner-alice','000000000000000000000003','digest','dex',1795183331000000,1795183331000000,1795185131000000,-2,'WAITING_FOR_DEPOSIT',0,2,1795183343000000,0,NULL,'0000000000000000000a0015','0000000000000000000a0016','0.5','0.0166','1500.00',NULL,'5','someone',NULL,NULL,NULL,NULL,NULL,'aa',NULL,NULL,NULL,0,'{"confirmedHash":"0xab","sourceChain":"base"}',0,0,'0','[]',NULL,'{}','{}',NULL,NULL,NULL,'0000000000000000000000000000000000000000.5000000000000000000000000000000000000000',NULL,NULL,1,NULL);
INSERT INTO "orders" VALUES('order00004','000000000000000000000004','partner-alice','4','digest','standard',1795183331000000,1795183331000000,1795185131000000,-2,'WAITING_FOR_DEPOSIT',0,1,1795183343000000,0,NULL,'0000000000000000000a0015','0000000000000000000a0016','0.5','0.0166','1500.00',NULL,'5','someone',NULL,NULL,NULL,NULL,NULL,'aa',NULL,NULL,NULL,0,'{"note":"\u00e9 \ud83d\ude00 \u0000","rerouted":true}',0,0,'0','[]',NULL,'{}','{}','group-1',NULL,NULL,'0000000000000000000000000000000000000000.5000000000000000000000000000000000000000',NULL,NULL,1,NULL);
CREATE TABLE outbox (
    sequence   INTEGER PRIMARY KEY AUTOINCREMENT,
    service_id TEXT NOT NULL,
    partner_id TEXT NOT NULL,
    version    INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    rank       INTEGER NOT NULL,
    committed  INTEGER NOT NULL
);
CREATE TABLE partner_changes (number INTEGER NOT NULL);
INSERT INTO "partner_changes" VALUES(2);
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
INSERT INTO "partners" VALUES(1,'partner-alice','alice','PRO',1795183331000000,0,'{}','[]');
CREATE TABLE payments (
    payment     TEXT PRIMARY KEY,
    ends        INTEGER NOT NULL,
    transaction_hash TEXT
, opened TEXT, sent TEXT) WITHOUT ROWID;
INSERT INTO "payments" VALUES('paid',1795183331000000,NULL,NULL,NULL);
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
    plan            TEXT NOT NULL DEFAULT '{}',
    fee_usd         TEXT
) WITHOUT ROWID;
INSERT INTO "quotes" VALUES('000000000000000000000001','partner-alice','exchange','private',1795183331000000,1795183391000000,'0000000000000000000a0015','0000000000000000000a0016','0.500000000000000001','0.0166',NULL,'1494.00','12.5','aa,bb','0000000000000000000a0016','8.3','order00001',0,0,'0','[]',NULL,0,0,'{}','{}',NULL);
INSERT INTO "quotes" VALUES('000000000000000000000002','partner-alice','exchange','private',1795183331000000,1795183391000000,'0000000000000000000a0015','0000000000000000000a0016','0.500000000000000001','0.0166',NULL,'1494.00','12.5','aa,bb','0000000000000000000a0016','8.3','order00002',0,0,'0','[]',NULL,0,0,'{}','{}',NULL);
INSERT INTO "quotes" VALUES('000000000000000000000003','partner-alice','exchange','private',1795183331000000,1795183391000000,'0000000000000000000a0015','0000000000000000000a0016','0.500000000000000001','0.0166',NULL,'1494.00','12.5','aa,bb','0000000000000000000a0016','8.3','order00003',0,0,'0','[]',NULL,0,0,'{}','{}',NULL);
CREATE TABLE requests (
    partner_id TEXT NOT NULL,
    month      TEXT NOT NULL,
    count      INTEGER NOT NULL,
    PRIMARY KEY (partner_id, month)
) WITHOUT ROWID;
INSERT INTO "requests" VALUES('partner-alice','2026-11',7);
CREATE TABLE scans (
    token_id      TEXT PRIMARY KEY,
    verdict       BLOB,
    expires       INTEGER NOT NULL DEFAULT 0,
    claimed_until INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
INSERT INTO "scans" VALUES('token',X'7B7D',1795183331000000,0);
CREATE TABLE usage (
    partner_id TEXT NOT NULL,
    rate_class TEXT NOT NULL,
    seconds    INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    used       INTEGER NOT NULL,
    PRIMARY KEY (partner_id, rate_class, seconds)
) WITHOUT ROWID;
INSERT INTO "usage" VALUES('partner-alice','read',60,5,3);
CREATE TABLE webhooks (
    source   TEXT NOT NULL,
    event_id TEXT NOT NULL,
    ends     INTEGER NOT NULL,
    PRIMARY KEY (source, event_id)
) WITHOUT ROWID;
INSERT INTO "webhooks" VALUES('source','event',1795183331000000);
CREATE INDEX quotes_by_expiry ON quotes (expires);
CREATE UNIQUE INDEX one_order_per_quote ON orders (partner_id, quote_id);
CREATE INDEX orders_due ON orders (lease_until, due_at) WHERE due_at IS NOT NULL;
CREATE UNIQUE INDEX one_order_per_transaction ON orders
    (json_extract(detail, '$.sourceChain'), json_extract(detail, '$.confirmedHash'))
    WHERE json_extract(detail, '$.confirmedHash') IS NOT NULL;
CREATE INDEX orders_of_group ON orders (multi_id) WHERE multi_id IS NOT NULL;
CREATE INDEX bundles_of_group ON bundles (multi_id, number);
CREATE INDEX bundles_under_way ON bundles (number) WHERE state = 'submitted';
CREATE INDEX orders_finished ON orders (partner_id, json_extract(detail, '$.finished'))
    WHERE status = 4;
CREATE UNIQUE INDEX one_entry_per_order ON commissions (service_id, kind)
    WHERE service_id IS NOT NULL;
CREATE INDEX commissions_of_month ON commissions (partner_id, kind, month);
CREATE TRIGGER commissions_are_not_changed BEFORE UPDATE ON commissions
    BEGIN SELECT RAISE(ABORT, 'a commission is reversed by an entry, never changed'); END;
CREATE TRIGGER commissions_are_not_deleted BEFORE DELETE ON commissions
    BEGIN SELECT RAISE(ABORT, 'a commission is reversed by an entry, never deleted'); END;
CREATE INDEX api_keys_of_partner ON api_keys (partner_id);
CREATE TRIGGER partners_insert AFTER INSERT ON partners BEGIN UPDATE partner_changes SET number = number + 1; END;
CREATE TRIGGER partners_update AFTER UPDATE ON partners BEGIN UPDATE partner_changes SET number = number + 1; END;
CREATE TRIGGER partners_delete AFTER DELETE ON partners BEGIN UPDATE partner_changes SET number = number + 1; END;
CREATE TRIGGER api_keys_insert AFTER INSERT ON api_keys BEGIN UPDATE partner_changes SET number = number + 1; END;
CREATE TRIGGER api_keys_update AFTER UPDATE ON api_keys BEGIN UPDATE partner_changes SET number = number + 1; END;
CREATE TRIGGER api_keys_delete AFTER DELETE ON api_keys BEGIN UPDATE partner_changes SET number = number + 1; END;
CREATE INDEX payments_by_end ON payments (ends);
CREATE INDEX webhooks_by_end ON webhooks (ends);
CREATE INDEX orders_by_creation ON orders (partner_id, created, told);
CREATE INDEX orders_by_status ON orders (partner_id, status, created, told);
CREATE INDEX orders_by_deposit ON orders (deposit_account, created)
    WHERE deposit_account IS NOT NULL;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('outbox',2);
INSERT INTO "sqlite_sequence" VALUES('commissions',2);
INSERT INTO "sqlite_sequence" VALUES('bundles',1);
INSERT INTO "sqlite_sequence" VALUES('partners',1);
INSERT INTO "sqlite_sequence" VALUES('api_keys',1);
COMMIT;
PRAGMA user_version = 12;

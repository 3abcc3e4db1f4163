-- A journal of version 1 as commit c822d44 brought it to version 2 and wrote on in it, by its own
-- code: sqlite3.Connection.iterdump.
BEGIN TRANSACTION;
CREATE TABLE accepted_output (
    service_id   TEXT PRIMARY KEY,
    out_amount   TEXT NOT NULL
) STRICT;
INSERT INTO "accepted_output" VALUES('oldAcceptedLess','14.1');
CREATE TABLE batch (
    id           TEXT PRIMARY KEY,
    created      TEXT NOT NULL,
    file         TEXT NOT NULL,
    digest       TEXT NOT NULL,
    owner_pid    INTEGER NOT NULL,
    owner_start  INTEGER NOT NULL
) STRICT;
INSERT INTO "batch" VALUES('abababababababababababababababab','2026-11-20T14:05:11.000Z','pay.csv','6666666666666666666666666666666666666666666666666666666666666666',25502,7488125);
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
INSERT INTO "batch_group" VALUES('abababababababababababababababab',1,'ethereum','ETH','{"orders":[]}','ACKED','multiEvm12345','2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z',NULL,NULL,NULL);
INSERT INTO "batch_group" VALUES('abababababababababababababababab',2,'solana','SOL','{"orders":[]}','ACKED','multiSol12345','2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z',NULL,NULL,NULL);
CREATE TABLE batch_payer (
    batch_id     TEXT PRIMARY KEY REFERENCES batch (id),
    account      TEXT NOT NULL
) STRICT;
INSERT INTO "batch_payer" VALUES('abababababababababababababababab','trading');
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
INSERT INTO "batch_row" VALUES('abababababababababababababababab',1,2,1,0,'{"to": "0x0000000000000000000000000000000000000001", "amount": "1", "token": "ETH", "chain": "ethereum"}','created','oldBatchRow0001',NULL,NULL);
INSERT INTO "batch_row" VALUES('abababababababababababababababab',2,3,1,1,'{"to": "0x0000000000000000000000000000000000000002", "amount": "1", "token": "ETH", "chain": "ethereum"}','created','oldBatchRow0002',NULL,NULL);
INSERT INTO "batch_row" VALUES('abababababababababababababababab',3,4,2,0,'{"to": "s", "amount": "1", "token": "SOL", "chain": "solana"}','created','oldBatchRow0003',NULL,NULL);
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
INSERT INTO "bundle" VALUES('abababababababababababababababab',1,1,'{"kind": "evm", "chain": "ethereum", "account": "0x1111111111111111111111111111111111111111", "sender": "0x2222222222222222222222222222222222222222", "items": [{"token_id": "6689b73ec90e45f3b3e51566", "symbol": "ETH", "decimals": 18, "contract": null, "part": 0, "deposits": [{"row": 1, "service_id": "oldBatchRow0001", "address": "0x7Bfc7c7F4DE49591c65B6820EF1535191051AF3A", "units": 1000000000000000000, "expires": "2026-11-20T14:32:11.000Z"}, {"row": 2, "service_id": "oldBatchRow0002", "address": "0xE2f082B0499811C075Bfac0E6310C40776416Edb", "units": 1000000000000000000, "expires": "2026-11-20T14:32:11.000Z"}], "confirmed": 2000000000000000000, "document": {"userOpHash": "0x0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"}}], "needs": [{"symbol": "ETH", "decimals": 18, "contract": null, "units": 1000000000000000000}], "gas_units": 1000000000000000, "held": 0}','confirmed','2026-11-20T14:05:11.000Z','["0x9999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999999"]','2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z','0xd4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4',NULL,NULL);
INSERT INTO "bundle" VALUES('abababababababababababababababab',2,1,'{"kind": "solana", "chain": "solana", "account": "acct", "sender": "acct", "items": [{"token_id": "6689b73ec90e45f3b3e51599", "symbol": "SOL", "decimals": 9, "contract": null, "part": 0, "deposits": [{"row": 3, "service_id": "oldBatchRow0003", "address": "0x8802146860Ffa1782C99aB492329821cf6C6d8C7", "units": 1000000000000000000, "expires": "2026-11-20T14:32:11.000Z"}], "confirmed": 1000000000, "document": {}}], "needs": [], "gas_units": 0, "held": 0}','built','2026-11-20T14:05:11.000Z',NULL,NULL,NULL,NULL,NULL,NULL);
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
INSERT INTO "bundle_payment" VALUES('abababababababababababababababab',1,1,'fund','fund-1','[]','ETH',18,NULL,'1000000000000000000','ACKED','0xc3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3',NULL);
INSERT INTO "bundle_payment" VALUES('abababababababababababababababab',2,1,'part','part-1','["oldBatchRow0003"]','SOL',9,NULL,'1000000000','SENT','5555555555555555555555555555555555555555555555555555555555555555555555555555555555555555',NULL);
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
, hash TEXT) STRICT;
INSERT INTO "call" VALUES(1,'POST','/sandbox/deposits','{"serviceId":"oldPaidByFaucet1"}','ACKED','2026-11-20T14:02:11.000Z',200,'r-1',NULL,'oldPaidByFaucet1',NULL);
INSERT INTO "call" VALUES(2,'POST','/wallet/deposits','{"serviceId":"oldWalletPays12","account":"0x1"}','SENT','2026-11-20T14:05:11.000Z',NULL,NULL,NULL,'oldWalletPays12','0xefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefef');
INSERT INTO "call" VALUES(3,'POST','/wallet/bundles','','ACKED','2026-11-20T14:05:11.000Z',NULL,NULL,NULL,'oldBatchRow0001',NULL);
INSERT INTO "call" VALUES(4,'POST','/wallet/bundles','','ACKED','2026-11-20T14:05:11.000Z',NULL,NULL,NULL,'oldBatchRow0002',NULL);
INSERT INTO "call" VALUES(5,'POST','/wallet/bundles','','SENT','2026-11-20T14:05:11.000Z',NULL,NULL,NULL,'oldBatchRow0003',NULL);
INSERT INTO "call" VALUES(6,'POST','/dex/confirmTx','{"id":"x"}','UNKNOWN','2026-11-20T14:05:11.000Z',NULL,NULL,'NO_ANSWER',NULL,NULL);
CREATE TABLE event (
    id           INTEGER PRIMARY KEY,
    service_id   TEXT NOT NULL,
    at           TEXT NOT NULL,
    source       TEXT NOT NULL,
    raw          TEXT NOT NULL
) STRICT;
INSERT INTO "event" VALUES(1,'oldPaidByFaucet1','2026-11-20T14:02:11.000Z','create','{"serviceId":"oldPaidByFaucet1","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"depositAddress":"bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju","depositTag":"4711","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14}');
INSERT INTO "event" VALUES(2,'oldPaidByFaucet1','2026-11-20T14:03:11.000Z','stream','{"serviceId":"oldPaidByFaucet1","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:03:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"depositAddress":"bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju","depositTag":"4711","status":1,"displayStatus":"DEPOSIT_DETECTED","inStatus":2,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"hashUrl":"https://mempool.space/tx/8f2c91d04b1e77ab8f2c91d04b1e77ab8f2c91d04b1e77ab8f2c91d04b1e77ab"}');
INSERT INTO "event" VALUES(3,'oldPaidByFaucet1','2026-11-20T14:04:11.000Z','stream','{"serviceId":"oldPaidByFaucet1","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:04:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"depositAddress":"bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju","depositTag":"4711","status":2,"displayStatus":"EXCHANGE_IN_PROGRESS","inStatus":3,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"hashUrl":"https://mempool.space/tx/8f2c91d04b1e77ab8f2c91d04b1e77ab8f2c91d04b1e77ab8f2c91d04b1e77ab"}');
INSERT INTO "event" VALUES(4,'oldPaidByFaucet1','2026-11-20T14:05:11.000Z','stream','{"serviceId":"oldPaidByFaucet1","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:05:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"depositAddress":"bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju","depositTag":"4711","status":4,"displayStatus":"SWAP_COMPLETED","inStatus":5,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"hashUrl":"https://etherscan.io/tx/0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","inTransactionOutHash":"0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"}');
INSERT INTO "event" VALUES(5,'oldWalletPays12','2026-11-20T14:05:11.000Z','create','{"serviceId":"oldWalletPays12","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"depositAddress":"bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.6,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14}');
INSERT INTO "event" VALUES(6,'oldAcceptedLess','2026-11-20T14:05:11.000Z','create','{"serviceId":"oldAcceptedLess","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":"7","depositAddress":"bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.7,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14}');
INSERT INTO "event" VALUES(7,'oldForeignOrder','2026-11-20T14:05:11.000Z','list','{"serviceId":"oldForeignOrder","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"depositAddress":"bc1qdsl3qfc05rzrfzmyglfcps9y68ya0xvpqgj5pe","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14}');
INSERT INTO "event" VALUES(8,'oldDexSwap12345','2026-11-20T14:05:11.000Z','create','{"serviceId":"oldDexSwap12345","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":true,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":2,"inSymbol":"ETH","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51566","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"metadata":"{\"to\":\"0x1\"}"}');
INSERT INTO "event" VALUES(9,'oldBatchRow0001','2026-11-20T14:05:11.000Z','list','{"serviceId":"oldBatchRow0001","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0000000000000000000000000000000000000001","receiverTag":null,"depositAddress":"0x7Bfc7c7F4DE49591c65B6820EF1535191051AF3A","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"multiId":"multiEvm12345"}');
INSERT INTO "event" VALUES(10,'oldBatchRow0002','2026-11-20T14:05:11.000Z','list','{"serviceId":"oldBatchRow0002","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0000000000000000000000000000000000000002","receiverTag":null,"depositAddress":"0xE2f082B0499811C075Bfac0E6310C40776416Edb","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"multiId":"multiEvm12345"}');
INSERT INTO "event" VALUES(11,'oldBatchRow0003','2026-11-20T14:05:11.000Z','list','{"serviceId":"oldBatchRow0003","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0000000000000000000000000000000000000003","receiverTag":null,"depositAddress":"0x8802146860Ffa1782C99aB492329821cf6C6d8C7","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"multiId":"multiSol12345"}');
INSERT INTO "event" VALUES(12,'oldForeignSeen1','2026-11-20T14:02:11.000Z','list','{"serviceId":"oldForeignSeen1","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"depositAddress":"bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju","status":0,"displayStatus":"EXCHANGE_IN_PROGRESS","inStatus":3,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"hashUrl":"https://mempool.space/tx/8f2c91d04b1e77ab8f2c91d04b1e77ab8f2c91d04b1e77ab8f2c91d04b1e77ab"}');
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
INSERT INTO "intent" VALUES('00000000000000000000000000000001','exchange','2026-11-20T14:02:11.000Z','ebdd4cc3873bfb64','{"id": "00000000000000000000000000000001", "kind": "exchange", "frozen_at": "2026-11-20T14:02:11.000Z", "token_in": {"id": "6689b73ec90e45f3b3e51500", "symbol": "BTC", "chain": "bitcoin", "chain_name": "Bitcoin", "kind": "bitcoin", "contract": null, "decimals": 8, "chain_id": null}, "token_out": {"id": "6689b73ec90e45f3b3e51566", "symbol": "ETH", "chain": "ethereum", "chain_name": "Ethereum", "kind": "evm", "contract": null, "decimals": 18, "chain_id": null}, "amount_in": "0.5", "amount_out": "14.524108", "net_amount_out": "14.524108", "route": "standard", "provider": "hy", "provider_name": "Halyard", "quote_id": "aaaaaaaaaaaaaaaaaaaaaaaa", "valid_until": "2026-11-20T14:03:11.000Z", "minutes": "14", "recipient": "0x0cBa206F90097bD97f33FC9482a2912F970E6550", "recipient_label": "alice", "memo": null, "memo_waived": false, "refund_address": null, "refund_memo": null, "fixed": false, "receive": false, "markup": null, "intermediate_refund": null, "dex": null}','created',25502,7488125,1);
INSERT INTO "intent" VALUES('00000000000000000000000000000002','exchange','2026-11-20T14:05:11.000Z','339919dd05d6e683','{"id": "00000000000000000000000000000002", "kind": "exchange", "frozen_at": "2026-11-20T14:02:11.000Z", "token_in": {"id": "6689b73ec90e45f3b3e51500", "symbol": "BTC", "chain": "bitcoin", "chain_name": "Bitcoin", "kind": "bitcoin", "contract": null, "decimals": 8, "chain_id": null}, "token_out": {"id": "6689b73ec90e45f3b3e51566", "symbol": "ETH", "chain": "ethereum", "chain_name": "Ethereum", "kind": "evm", "contract": null, "decimals": 18, "chain_id": null}, "amount_in": "0.6", "amount_out": "14.524108", "net_amount_out": "14.524108", "route": "standard", "provider": "hy", "provider_name": "Halyard", "quote_id": "aaaaaaaaaaaaaaaaaaaaaaaa", "valid_until": "2026-11-20T14:03:11.000Z", "minutes": "14", "recipient": "0x0cBa206F90097bD97f33FC9482a2912F970E6550", "recipient_label": null, "memo": null, "memo_waived": false, "refund_address": null, "refund_memo": null, "fixed": false, "receive": false, "markup": null, "intermediate_refund": null, "dex": null}','created',25502,7488125,1);
INSERT INTO "intent" VALUES('00000000000000000000000000000003','exchange','2026-11-20T14:05:11.000Z','43ad3742dcdf9b2a','{"id": "00000000000000000000000000000003", "kind": "exchange", "frozen_at": "2026-11-20T14:02:11.000Z", "token_in": {"id": "6689b73ec90e45f3b3e51500", "symbol": "BTC", "chain": "bitcoin", "chain_name": "Bitcoin", "kind": "bitcoin", "contract": null, "decimals": 8, "chain_id": null}, "token_out": {"id": "6689b73ec90e45f3b3e51566", "symbol": "ETH", "chain": "ethereum", "chain_name": "Ethereum", "kind": "evm", "contract": null, "decimals": 18, "chain_id": null}, "amount_in": "0.7", "amount_out": "14.524108", "net_amount_out": "14.524108", "route": "standard", "provider": "hy", "provider_name": "Halyard", "quote_id": "aaaaaaaaaaaaaaaaaaaaaaaa", "valid_until": "2026-11-20T14:03:11.000Z", "minutes": "14", "recipient": "0x0cBa206F90097bD97f33FC9482a2912F970E6550", "recipient_label": null, "memo": "7", "memo_waived": false, "refund_address": null, "refund_memo": null, "fixed": false, "receive": false, "markup": null, "intermediate_refund": null, "dex": null}','created',25502,7488125,1);
INSERT INTO "intent" VALUES('00000000000000000000000000000004','exchange','2026-11-20T14:05:11.000Z','f27f2c90ee00f281','{"id": "00000000000000000000000000000004", "kind": "exchange", "frozen_at": "2026-11-20T14:02:11.000Z", "token_in": {"id": "6689b73ec90e45f3b3e51500", "symbol": "BTC", "chain": "bitcoin", "chain_name": "Bitcoin", "kind": "bitcoin", "contract": null, "decimals": 8, "chain_id": null}, "token_out": {"id": "6689b73ec90e45f3b3e51566", "symbol": "ETH", "chain": "ethereum", "chain_name": "Ethereum", "kind": "evm", "contract": null, "decimals": 18, "chain_id": null}, "amount_in": "0.8", "amount_out": "14.524108", "net_amount_out": "14.524108", "route": "standard", "provider": "hy", "provider_name": "Halyard", "quote_id": "aaaaaaaaaaaaaaaaaaaaaaaa", "valid_until": "2026-11-20T14:03:11.000Z", "minutes": "14", "recipient": "0x0cBa206F90097bD97f33FC9482a2912F970E6550", "recipient_label": null, "memo": null, "memo_waived": false, "refund_address": null, "refund_memo": null, "fixed": false, "receive": false, "markup": null, "intermediate_refund": null, "dex": null}','unknown',25502,7488125,1);
INSERT INTO "intent" VALUES('00000000000000000000000000000005','exchange','2026-11-20T14:05:11.000Z','e299ddb9455e95f0','{"id": "00000000000000000000000000000005", "kind": "exchange", "frozen_at": "2026-11-20T14:02:11.000Z", "token_in": {"id": "6689b73ec90e45f3b3e51500", "symbol": "BTC", "chain": "bitcoin", "chain_name": "Bitcoin", "kind": "bitcoin", "contract": null, "decimals": 8, "chain_id": null}, "token_out": {"id": "6689b73ec90e45f3b3e51566", "symbol": "ETH", "chain": "ethereum", "chain_name": "Ethereum", "kind": "evm", "contract": null, "decimals": 18, "chain_id": null}, "amount_in": "0.9", "amount_out": "14.524108", "net_amount_out": "14.524108", "route": "standard", "provider": "hy", "provider_name": "Halyard", "quote_id": "aaaaaaaaaaaaaaaaaaaaaaaa", "valid_until": "2026-11-20T14:03:11.000Z", "minutes": "14", "recipient": "0x0cBa206F90097bD97f33FC9482a2912F970E6550", "recipient_label": null, "memo": null, "memo_waived": false, "refund_address": null, "refund_memo": null, "fixed": false, "receive": false, "markup": null, "intermediate_refund": null, "dex": null}','refused',25502,7488125,1);
INSERT INTO "intent" VALUES('00000000000000000000000000000006','exchange','2026-11-20T14:05:11.000Z','cdb623dd140890bc','{"id": "00000000000000000000000000000006", "kind": "exchange", "frozen_at": "2026-11-20T14:02:11.000Z", "token_in": {"id": "6689b73ec90e45f3b3e51566", "symbol": "ETH", "chain": "ethereum", "chain_name": "Ethereum", "kind": "evm", "contract": null, "decimals": 18, "chain_id": null}, "token_out": {"id": "6689b73ec90e45f3b3e51566", "symbol": "ETH", "chain": "ethereum", "chain_name": "Ethereum", "kind": "evm", "contract": null, "decimals": 18, "chain_id": null}, "amount_in": "2", "amount_out": "14.524108", "net_amount_out": "14.524108", "route": "dex", "provider": "hy", "provider_name": "Halyard", "quote_id": "aaaaaaaaaaaaaaaaaaaaaaaa", "valid_until": "2026-11-20T14:03:11.000Z", "minutes": "14", "recipient": "0x0cBa206F90097bD97f33FC9482a2912F970E6550", "recipient_label": null, "memo": null, "memo_waived": false, "refund_address": null, "refund_memo": null, "fixed": false, "receive": false, "markup": null, "intermediate_refund": null, "dex": {"sender": "0x1111111111111111111111111111111111111111", "slippage": "0.5", "gas_units": "10000000000000000", "fee_units": "0"}}','created',25502,7488125,1);
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
INSERT INTO "known_order" VALUES('oldPaidByFaucet1','00000000000000000000000000000001','{"serviceId":"oldPaidByFaucet1","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:05:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"depositAddress":"bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju","depositTag":"4711","status":4,"displayStatus":"SWAP_COMPLETED","inStatus":5,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"hashUrl":"https://etherscan.io/tx/0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","inTransactionOutHash":"0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd","inToken":{"id":"6689b73ec90e45f3b3e51500","icon":"","address":null,"chain":"bitcoin","chainData":{"id":"1","name":"Bitcoin","shortName":"bitcoin","icon":"","addressValidation":"","tokenAddressValidation":"","memoNeeded":null,"explorerUrl":"https://mempool.space/tx/{txHash}","addressUrl":"","priority":99999,"kind":"bitcoin","chainId":null,"enabled":true},"decimals":8,"symbol":"BTC","name":"","description":null,"mainnet":false,"enabled":true,"unverified":false,"hasDex":false,"hasCex":false,"hasBundler":false,"hasSelfPrivate":false,"cexTokenId":"","rank":null,"cgId":null,"price":null,"marketCap":null,"volume":null,"fdv":null,"change":null,"priority":null},"outToken":{"id":"6689b73ec90e45f3b3e51566","icon":"","address":null,"chain":"ethereum","chainData":{"id":"1","name":"Ethereum","shortName":"ethereum","icon":"","addressValidation":"","tokenAddressValidation":"","memoNeeded":null,"explorerUrl":"https://etherscan.io/tx/{txHash}","addressUrl":"","priority":99999,"kind":"evm","chainId":null,"enabled":true},"decimals":18,"symbol":"ETH","name":"","description":null,"mainnet":false,"enabled":true,"unverified":false,"hasDex":false,"hasCex":false,"hasBundler":false,"hasSelfPrivate":false,"cexTokenId":"","rank":null,"cgId":null,"price":null,"marketCap":null,"volume":null,"fdv":null,"change":null,"priority":null}}','SWAP_COMPLETED',1,'released',NULL,'2026-11-20T14:02:11.000Z','2026-11-20T14:05:11.000Z','stream');
INSERT INTO "known_order" VALUES('oldWalletPays12','00000000000000000000000000000002','{"serviceId":"oldWalletPays12","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"depositAddress":"bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.6,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"inToken":{"id":"6689b73ec90e45f3b3e51500","icon":"","address":null,"chain":"bitcoin","chainData":{"id":"1","name":"Bitcoin","shortName":"bitcoin","icon":"","addressValidation":"","tokenAddressValidation":"","memoNeeded":null,"explorerUrl":"https://mempool.space/tx/{txHash}","addressUrl":"","priority":99999,"kind":"bitcoin","chainId":null,"enabled":true},"decimals":8,"symbol":"BTC","name":"","description":null,"mainnet":false,"enabled":true,"unverified":false,"hasDex":false,"hasCex":false,"hasBundler":false,"hasSelfPrivate":false,"cexTokenId":"","rank":null,"cgId":null,"price":null,"marketCap":null,"volume":null,"fdv":null,"change":null,"priority":null},"outToken":{"id":"6689b73ec90e45f3b3e51566","icon":"","address":null,"chain":"ethereum","chainData":{"id":"1","name":"Ethereum","shortName":"ethereum","icon":"","addressValidation":"","tokenAddressValidation":"","memoNeeded":null,"explorerUrl":"https://etherscan.io/tx/{txHash}","addressUrl":"","priority":99999,"kind":"evm","chainId":null,"enabled":true},"decimals":18,"symbol":"ETH","name":"","description":null,"mainnet":false,"enabled":true,"unverified":false,"hasDex":false,"hasCex":false,"hasBundler":false,"hasSelfPrivate":false,"cexTokenId":"","rank":null,"cgId":null,"price":null,"marketCap":null,"volume":null,"fdv":null,"change":null,"priority":null}}','WAITING_FOR_DEPOSIT',0,'released',NULL,'2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z','create');
INSERT INTO "known_order" VALUES('oldAcceptedLess','00000000000000000000000000000003','{"serviceId":"oldAcceptedLess","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":"7","depositAddress":"bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.7,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"inToken":{"id":"6689b73ec90e45f3b3e51500","icon":"","address":null,"chain":"bitcoin","chainData":{"id":"1","name":"Bitcoin","shortName":"bitcoin","icon":"","addressValidation":"","tokenAddressValidation":"","memoNeeded":null,"explorerUrl":"https://mempool.space/tx/{txHash}","addressUrl":"","priority":99999,"kind":"bitcoin","chainId":null,"enabled":true},"decimals":8,"symbol":"BTC","name":"","description":null,"mainnet":false,"enabled":true,"unverified":false,"hasDex":false,"hasCex":false,"hasBundler":false,"hasSelfPrivate":false,"cexTokenId":"","rank":null,"cgId":null,"price":null,"marketCap":null,"volume":null,"fdv":null,"change":null,"priority":null},"outToken":{"id":"6689b73ec90e45f3b3e51566","icon":"","address":null,"chain":"ethereum","chainData":{"id":"1","name":"Ethereum","shortName":"ethereum","icon":"","addressValidation":"","tokenAddressValidation":"","memoNeeded":null,"explorerUrl":"https://etherscan.io/tx/{txHash}","addressUrl":"","priority":99999,"kind":"evm","chainId":null,"enabled":true},"decimals":18,"symbol":"ETH","name":"","description":null,"mainnet":false,"enabled":true,"unverified":false,"hasDex":false,"hasCex":false,"hasBundler":false,"hasSelfPrivate":false,"cexTokenId":"","rank":null,"cgId":null,"price":null,"marketCap":null,"volume":null,"fdv":null,"change":null,"priority":null}}','WAITING_FOR_DEPOSIT',0,'released',NULL,'2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z','create');
INSERT INTO "known_order" VALUES('oldForeignOrder',NULL,'{"serviceId":"oldForeignOrder","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"depositAddress":"bc1qdsl3qfc05rzrfzmyglfcps9y68ya0xvpqgj5pe","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14}','WAITING_FOR_DEPOSIT',0,'foreign','This order was not confirmed at this desk; its deposit address stays hidden.','2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z','list');
INSERT INTO "known_order" VALUES('oldDexSwap12345','00000000000000000000000000000006','{"serviceId":"oldDexSwap12345","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":true,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":2,"inSymbol":"ETH","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51566","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"metadata":"{\"to\":\"0x1\"}"}','WAITING_FOR_DEPOSIT',0,'released',NULL,'2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z','create');
INSERT INTO "known_order" VALUES('oldBatchRow0001',NULL,'{"serviceId":"oldBatchRow0001","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0000000000000000000000000000000000000001","receiverTag":null,"depositAddress":"0x7Bfc7c7F4DE49591c65B6820EF1535191051AF3A","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"multiId":"multiEvm12345"}','WAITING_FOR_DEPOSIT',0,'foreign','This order was not confirmed at this desk; its deposit address stays hidden.','2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z','list');
INSERT INTO "known_order" VALUES('oldBatchRow0002',NULL,'{"serviceId":"oldBatchRow0002","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0000000000000000000000000000000000000002","receiverTag":null,"depositAddress":"0xE2f082B0499811C075Bfac0E6310C40776416Edb","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"multiId":"multiEvm12345"}','WAITING_FOR_DEPOSIT',0,'foreign','This order was not confirmed at this desk; its deposit address stays hidden.','2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z','list');
INSERT INTO "known_order" VALUES('oldBatchRow0003',NULL,'{"serviceId":"oldBatchRow0003","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0000000000000000000000000000000000000003","receiverTag":null,"depositAddress":"0x8802146860Ffa1782C99aB492329821cf6C6d8C7","status":0,"displayStatus":"WAITING_FOR_DEPOSIT","inStatus":1,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"multiId":"multiSol12345"}','WAITING_FOR_DEPOSIT',0,'foreign','This order was not confirmed at this desk; its deposit address stays hidden.','2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z','list');
INSERT INTO "known_order" VALUES('oldForeignSeen1',NULL,'{"serviceId":"oldForeignSeen1","created":"2026-11-20T14:02:11.000Z","modified":"2026-11-20T14:02:11.000Z","expires":"2026-11-20T14:32:11.000Z","receiverAddress":"0x0cBa206F90097bD97f33FC9482a2912F970E6550","receiverTag":null,"depositAddress":"bc1qada86ux7xwsghskfzcmsalxg72rpmwj7ay3yju","status":0,"displayStatus":"EXCHANGE_IN_PROGRESS","inStatus":3,"anonymous":false,"isDex":false,"fixed":false,"in":"hy","swapName":"Halyard","inAmount":0.5,"inSymbol":"BTC","outAmount":14.524108,"outSymbol":"ETH","inTokenId":"6689b73ec90e45f3b3e51500","outTokenId":"6689b73ec90e45f3b3e51566","eta":14,"hashUrl":"https://mempool.space/tx/8f2c91d04b1e77ab8f2c91d04b1e77ab8f2c91d04b1e77ab8f2c91d04b1e77ab","inToken":{"id":"6689b73ec90e45f3b3e51500","icon":"","address":null,"chain":"bitcoin","chainData":{"id":"1","name":"bitcoin","shortName":"bitcoin","icon":"","addressValidation":"","tokenAddressValidation":"","memoNeeded":null,"explorerUrl":"https://mempool.space/tx/{txHash}","addressUrl":"","priority":99999,"kind":"bitcoin","chainId":null,"enabled":true},"decimals":8,"symbol":"BTC","name":"","description":null,"mainnet":false,"enabled":true,"unverified":false,"hasDex":false,"hasCex":false,"hasBundler":false,"hasSelfPrivate":false,"cexTokenId":"","rank":null,"cgId":null,"price":null,"marketCap":null,"volume":null,"fdv":null,"change":null,"priority":null},"outToken":{"id":"6689b73ec90e45f3b3e51566","icon":"","address":null,"chain":"ethereum","chainData":{"id":"1","name":"ethereum","shortName":"ethereum","icon":"","addressValidation":"","tokenAddressValidation":"","memoNeeded":null,"explorerUrl":"https://etherscan.io/tx/{txHash}","addressUrl":"","priority":99999,"kind":"evm","chainId":null,"enabled":true},"decimals":8,"symbol":"ETH","name":"","description":null,"mainnet":false,"enabled":true,"unverified":false,"hasDex":false,"hasCex":false,"hasBundler":false,"hasSelfPrivate":false,"cexTokenId":"","rank":null,"cgId":null,"price":null,"marketCap":null,"volume":null,"fdv":null,"change":null,"priority":null}}','EXCHANGE_IN_PROGRESS',0,'foreign','This order was not confirmed at this desk; its deposit address stays hidden.','2026-11-20T14:02:11.000Z','2026-11-20T14:02:11.000Z','list');
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
INSERT INTO "step" VALUES('00000000000000000000000000000001',1,'create','ACKED','0000000000000000000000000000000000000000000000000000000000000000','2026-11-20T14:02:11.000Z','2026-11-20T14:02:11.000Z',NULL,NULL,NULL,'oldPaidByFaucet1');
INSERT INTO "step" VALUES('00000000000000000000000000000002',1,'create','ACKED','0000000000000000000000000000000000000000000000000000000000000000','2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z',NULL,NULL,NULL,'oldWalletPays12');
INSERT INTO "step" VALUES('00000000000000000000000000000003',1,'create','ACKED','0000000000000000000000000000000000000000000000000000000000000000','2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z',NULL,NULL,NULL,'oldAcceptedLess');
INSERT INTO "step" VALUES('00000000000000000000000000000004',1,'create','UNKNOWN','1111111111111111111111111111111111111111111111111111111111111111','2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z',NULL,NULL,'NO_ANSWER',NULL);
INSERT INTO "step" VALUES('00000000000000000000000000000005',1,'create','REFUSED','1111111111111111111111111111111111111111111111111111111111111111','2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z',422,'r-2','INVALID_SWAP',NULL);
INSERT INTO "step" VALUES('00000000000000000000000000000006',1,'permission','PREPARED','2222222222222222222222222222222222222222222222222222222222222222',NULL,NULL,NULL,NULL,NULL,'{"plan": {"approvals": 1}}');
INSERT INTO "step" VALUES('00000000000000000000000000000006',2,'approve','ACKED','3333333333333333333333333333333333333333333333333333333333333333','2026-11-20T14:05:11.000Z',NULL,NULL,NULL,NULL,'{"hash": "0xa1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"}');
INSERT INTO "step" VALUES('00000000000000000000000000000006',3,'create','ACKED','3333333333333333333333333333333333333333333333333333333333333333','2026-11-20T14:05:11.000Z','2026-11-20T14:05:11.000Z',NULL,NULL,NULL,'oldDexSwap12345');
INSERT INTO "step" VALUES('00000000000000000000000000000006',4,'swap','ACKED','4444444444444444444444444444444444444444444444444444444444444444','2026-11-20T14:05:11.000Z',NULL,NULL,NULL,NULL,'{"hash": "0xb2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2"}');
INSERT INTO "step" VALUES('00000000000000000000000000000006',5,'confirm','ACKED','5555555555555555555555555555555555555555555555555555555555555555','2026-11-20T14:05:11.000Z',NULL,NULL,NULL,NULL,NULL);
CREATE TABLE told_deposit (
    service_id   TEXT PRIMARY KEY,
    hash         TEXT NOT NULL
) STRICT;
INSERT INTO "told_deposit" VALUES('oldForeignSeen1','8f2c91d04b1e77ab8f2c91d04b1e77ab8f2c91d04b1e77ab8f2c91d04b1e77ab');
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
INSERT INTO "withdrawal" VALUES('wd-1','0x1111111111111111111111111111111111111111','0x2222222222222222222222222222222222222222','ethereum','[{"symbol": "ETH", "decimals": 18, "contract": null, "units": 100000000000000000, "prepaid": false}, {"symbol": "ETH", "decimals": 18, "contract": null, "units": 1000000000000000, "prepaid": true}]','ACKED','0xe5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5','2026-11-20T14:05:11.000Z');
CREATE INDEX intent_by_state ON intent (state, created);
CREATE INDEX known_order_by_intent ON known_order (intent_id);
CREATE VIEW order_row AS
    SELECT known_order.rowid AS place, known_order.*, accepted_output.out_amount AS accepted
    FROM known_order LEFT JOIN accepted_output USING (service_id);
CREATE INDEX batch_by_digest ON batch (digest);
CREATE INDEX bundle_by_state ON bundle (state);
CREATE INDEX event_by_order ON event (service_id, id);
CREATE INDEX call_by_order ON call (service_id);
CREATE INDEX batch_row_by_order ON batch_row (service_id);
COMMIT;
PRAGMA user_version=2;

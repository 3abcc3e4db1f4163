"""Converts the content of a journal of version 1 to 7 into the tables of operations, orders and
events. The old versions had one table for each kind of operation and for each fact about an order.

Some tables and columns were added to version 1 without a new version number, so a missing table or
column counts as empty. Content that no swapdesk wrote (an unknown state, a renamed column, invalid
JSON) fails with SQLite's error code for a wrong statement or a broken constraint.
"""

from __future__ import annotations

import sqlite3

OLD_TABLES = {
    "intent": "id,kind,created,fingerprint,frozen,state,owner_pid,owner_start",
    "step": "intent_id, seq, name, state, digest, sent_at, server_at, status, request_id, code,"
    " result",
    "known_order": "service_id, intent_id, last, display, ended, standing, withheld, first_seen,"
    " seen_at, source",
    "event": "id, service_id, at, source, raw",
    "accepted_output": "service_id, out_amount",
    "told_deposit": "service_id, hash",
    "put_away": "service_id, trouble",
    "chain_payment": "service_id, hash, token, raw",
    "call": "id, method, path, body, state, sent_at, status, request_id, code, service_id, hash",
    "batch": "id, created, file, digest, owner_pid, owner_start",
    "batch_payer": "batch_id, account",
    "batch_group": "batch_id, number, chain, paid, body, state, multi_id, sent_at, server_at,"
    " status, request_id, code",
    "batch_row": "batch_id, number, line, group_number, place, cells, state, service_id, code,"
    " reason",
    "bundle": "batch_id, group_number, number, built, state, created, signatures, sent_at,"
    " server_at, tx_hash, code, reason",
    "bundle_payment": "batch_id, group_number, number, paying, intent_id, service_ids, symbol,"
    " decimals, contract, units, state, hash, code",
    "withdrawal": "intent_id, account, sender, chain, taken, state, hash, moved",
}
"""The tables of the old versions, each with its columns."""


def fill(db: sqlite3.Connection) -> None:
    """Copies the contents of a journal's old tables into the new ones, in the caller's transaction.
    Raises sqlite3.Error."""
    there = tables_of(db)
    missing = {name: columns for name, columns in OLD_TABLES.items() if name not in there}
    for name, columns in missing.items():
        db.execute(f"CREATE TEMP TABLE {name} ({columns})")
    if "hash" not in [row[1] for row in db.execute("PRAGMA table_info(call)")]:
        db.execute("ALTER TABLE call ADD COLUMN hash TEXT")
    for statement in (_WORDS + _CREATES + _BATCHES + _PAYMENTS + _CLAIMS + _ORDERS).split(";"):
        db.execute(statement)
    for name in ("word", "act", "payer", *missing):
        db.execute(f"DROP TABLE temp.{name}")


def tables_of(db: sqlite3.Connection) -> set[str]:
    rows = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in rows if not name.startswith("sqlite_")}


_WORDS = """
CREATE TEMP TABLE word (word TEXT PRIMARY KEY, state TEXT NOT NULL);
INSERT INTO word VALUES
  ('PREPARED', 'prepared'), ('SENT', 'sent'), ('UNKNOWN', 'unknown'), ('ACKED', 'done'),
  ('RESOLVED_YES', 'done'), ('REFUSED', 'refused'), ('RESOLVED_NO', 'refused'),
  ('ABANDONED_BY_USER', 'refused'),
  ('created', 'done'), ('not_created', 'refused'), ('abandoned', 'refused'),
  ('built', 'prepared'), ('signed', 'prepared'), ('sent', 'sent'), ('submitted', 'sent'),
  ('unknown', 'unknown'), ('confirmed', 'done'), ('failed', 'refused'), ('withdrawn', 'refused'),
  ('refused', 'refused'), ('replaced', 'refused'), ('planned', 'prepared'), ('differs', 'done');
CREATE TEMP TABLE act AS SELECT id, kind, parent, subject, claim, state, body, result, code,
  prepared_at, sent_at, server_at, ended_at, owner_pid, owner_start FROM operation;
"""

_CREATES = """
INSERT INTO act SELECT intent.id, 'create', NULL,
  (SELECT service_id FROM known_order WHERE intent_id = intent.id), 'twin:' || fingerprint,
  -- Of an intent without an end its request says how it stands.
  CASE WHEN intent.state <> 'open' THEN ended.state WHEN request.seq IS NULL THEN 'prepared'
    WHEN asked.state = 'done' THEN 'sent' ELSE asked.state END,
  json_object('intent', json(frozen), 'digest', coalesce(request.digest, first.digest, '')),
  json_patch(
    iif(first.result LIKE '{%"plan"%', json_object('plan', json_extract(first.result, '$.plan')),
      '{}'),
    json_object('request_id', request.request_id, 'status', request.status)),
  CASE WHEN intent.state IN ('not_created', 'abandoned') THEN upper(intent.state)
    WHEN intent.state = 'refused' THEN last.code ELSE request.code END,
  created, request.sent_at, request.server_at, NULL, owner_pid, owner_start
FROM intent
LEFT JOIN step AS first ON first.intent_id = intent.id
  AND first.seq = (SELECT min(seq) FROM step WHERE intent_id = intent.id)
LEFT JOIN step AS last ON last.intent_id = intent.id
  AND last.seq = (SELECT max(seq) FROM step WHERE intent_id = intent.id)
LEFT JOIN step AS request ON request.intent_id = intent.id
  AND request.seq = (SELECT max(seq) FROM step WHERE intent_id = intent.id AND name = 'create')
LEFT JOIN word AS ended ON ended.word = intent.state
LEFT JOIN word AS asked ON asked.word = request.state
ORDER BY intent.rowid;
INSERT INTO act SELECT intent_id || '/' || seq, substr(name, 1, instr(name || ' ', ' ') - 1),
  intent_id, NULL, NULL, word.state,
  json_patch(json_object('digest', digest),
    json_object('name', iif(name LIKE 'sign %', name, NULL))),
  json_patch(iif(result LIKE '{%', result, '{}'),
    json_object('request_id', request_id, 'status', status)),
  CASE step.state WHEN 'RESOLVED_NO' THEN 'NOT_CREATED' WHEN 'ABANDONED_BY_USER' THEN 'ABANDONED'
    ELSE code END,
  max(created, coalesce(max(sent_at) OVER (PARTITION BY intent_id ORDER BY seq), created)),
  sent_at, server_at, NULL, owner_pid, owner_start
FROM step JOIN intent ON intent.id = intent_id LEFT JOIN word ON word.word = step.state
WHERE name NOT IN ('create', 'permission') ORDER BY intent_id, seq;
"""

_BATCHES = """
INSERT INTO act SELECT batch.id, 'batch', NULL, NULL, 'batch:' || digest,
  CASE WHEN min(word.state = 'refused') THEN 'refused'
    WHEN min(word.state IN ('done', 'refused')) THEN 'done'
    WHEN min(word.state = 'prepared') THEN 'prepared'
    WHEN min(word.state IS NOT NULL) THEN 'sent' END,
  json_patch(json_object('file', file, 'digest', digest), json_object('payer', account)),
  '{}', NULL, created, NULL, NULL, NULL, owner_pid, owner_start
FROM batch JOIN batch_group ON batch_group.batch_id = batch.id
LEFT JOIN batch_payer ON batch_payer.batch_id = batch.id
LEFT JOIN word ON word.word = batch_group.state
GROUP BY batch.id ORDER BY batch.rowid;
INSERT INTO act SELECT batch_id || '/' || number, 'create_group', batch_id, multi_id, NULL,
  word.state, json_object('number', number, 'chain', chain, 'paid', paid, 'body', body),
  json_patch('{}', json_object('request_id', request_id, 'status', status)),
  -- Of one that was found by a look, how its answer was lost.
  iif(batch_group.state = 'RESOLVED_YES', coalesce(code, 'NO_ANSWER'), code),
  created, sent_at, server_at, NULL, owner_pid, owner_start
FROM batch_group JOIN batch ON batch.id = batch_id
LEFT JOIN word ON word.word = batch_group.state
ORDER BY batch.rowid, number;
INSERT INTO act SELECT batch_row.batch_id || '/' || group_number || '/' || batch_row.number,
  'row', batch_row.batch_id || '/' || group_number, service_id, NULL,
  iif(batch_row.state = 'unknown' AND asked.state = 'SENT', 'sent', word.state),
  json_object('number', batch_row.number, 'line', line, 'place', place, 'cells', json(cells)),
  json_patch('{}', json_object('reason', reason)), batch_row.code,
  created, NULL, NULL, NULL, owner_pid, owner_start
FROM batch_row JOIN batch ON batch.id = batch_row.batch_id
JOIN batch_group AS asked ON asked.batch_id = batch.id AND asked.number = group_number
LEFT JOIN word ON word.word = batch_row.state
ORDER BY batch.rowid, group_number, place;
"""

_PAYMENTS = """
INSERT INTO act SELECT bundle.batch_id || '/' || group_number || '/bundle-' || bundle.number,
  'bundle', bundle.batch_id || '/' || group_number, multi_id,
  'bundle:' || bundle.batch_id || '/' || group_number, word.state,
  json_set(built, '$.number', bundle.number),
  json_patch('{}', json_object('signatures', json(signatures),
    'accepted', iif(bundle.state = 'submitted', json('true'), NULL), 'hash', tx_hash,
    'said', bundle.code, 'reason', reason)),
  iif(word.state = 'refused', upper(bundle.state), NULL),
  bundle.created, bundle.sent_at, bundle.server_at, NULL, owner_pid, owner_start
FROM bundle JOIN batch ON batch.id = bundle.batch_id
JOIN batch_group ON batch_group.batch_id = batch.id AND batch_group.number = group_number
LEFT JOIN word ON word.word = bundle.state
ORDER BY bundle.rowid;
-- What was refused may have been begun once more under the same intent.
INSERT INTO act SELECT batch_id || '/' || group_number || '/' || paying || '-' || number, paying,
  batch_id || '/' || group_number, NULL,
  iif(paying = 'fund',
    'fund:' || batch_id || '/' || group_number || ':' || coalesce(contract, 'coin'), NULL),
  word.state,
  json_object('number', number, 'symbol', symbol, 'decimals', decimals, 'contract', contract,
    'units', units, 'intent', intent_id, 'service_ids', json(service_ids)),
  json_patch('{}', json_object('hash', hash)), code,
  created, NULL, NULL, NULL, owner_pid, owner_start
FROM bundle_payment JOIN batch ON batch.id = batch_id
LEFT JOIN word ON word.word = bundle_payment.state
ORDER BY bundle_payment.rowid;
CREATE TEMP TABLE payer AS
SELECT json_extract(deposit.value, '$.service_id') AS service_id,
  batch_id || '/' || group_number || '/bundle-' || number AS id, state = 'confirmed' AS paid
FROM bundle, json_each(built, '$.items') AS item, json_each(item.value, '$.deposits') AS deposit
WHERE json_extract(built, '$.kind') = 'evm' AND sent_at IS NOT NULL
UNION ALL SELECT part.value,
  batch_id || '/' || group_number || '/' || paying || '-' || number, state = 'ACKED'
FROM bundle_payment, json_each(service_ids) AS part;
CREATE INDEX temp.payer_of ON payer (service_id);
INSERT INTO act SELECT 'call/' || call.id, iif(means IS NULL, 'call', 'deposit'),
  -- The one that paid, or the last that was to.
  iif(means = 'bundle', (SELECT payer.id FROM payer WHERE payer.service_id = call.service_id
    ORDER BY paid DESC, payer.rowid DESC LIMIT 1), NULL),
  service_id, iif(means IS NULL, NULL, 'deposit:' || service_id), word.state,
  iif(means IS NULL, json_object('method', method, 'path', path, 'body', body),
    json_object('by', means, 'body', body)),
  json_patch('{}', json_object('hash', hash, 'request_id', request_id, 'status', status)), code,
  -- Nobody owned it: no process of Linux has this number.
  sent_at, iif(word.state = 'prepared', NULL, sent_at), NULL, NULL, 4194304, 0
FROM (SELECT *, CASE path WHEN '/sandbox/deposits' THEN 'faucet'
  WHEN '/wallet/deposits' THEN 'wallet' WHEN '/wallet/bundles' THEN 'bundle' END AS means
  FROM call) AS call
LEFT JOIN word ON word.word = call.state
ORDER BY call.id;
INSERT INTO act SELECT intent_id, 'withdraw', NULL, NULL, 'withdraw:' || chain || ':' || sender,
  word.state,
  json_object('account', account, 'sender', sender, 'chain', chain, 'taken', json(taken)),
  json_patch('{}', json_object('hash', hash)), NULL, moved,
  iif(word.state = 'sent', moved, NULL), NULL, iif(word.state IN ('done', 'refused'), moved, NULL),
  4194304, 0
FROM withdrawal LEFT JOIN word ON word.word = withdrawal.state
ORDER BY withdrawal.rowid;
"""

_CLAIMS = """
-- A payment that was made holds its claim before one that may have been. A batch under way does
-- before those that are done, and of these the newest: only what is done may be done again.
UPDATE act SET claim = NULL
WHERE state = 'done' AND kind IN ('create', 'bundle', 'fund', 'part', 'withdraw');
UPDATE act SET claim = NULL WHERE rowid IN (
  SELECT rowid FROM (
    SELECT rowid, row_number() OVER (PARTITION BY claim
      ORDER BY (state = 'done') = (kind = 'batch'), iif(kind = 'batch', -rowid, rowid)) AS place
    FROM act WHERE claim IS NOT NULL AND state <> 'refused')
  WHERE place > 1);
INSERT INTO operation SELECT row_number() OVER (ORDER BY prepared_at, rowid), * FROM act;
"""

_ORDERS = """
INSERT INTO orders SELECT known_order.rowid, service_id, nullif(intent_id, ''), last, display,
  ended, standing, withheld, first_seen, seen_at, source, out_amount, trouble, told_deposit.hash,
  nullif((SELECT json_group_object(hash || ' ' || token, json(raw)) FROM (
    SELECT * FROM chain_payment AS paid WHERE paid.service_id = known_order.service_id
    ORDER BY rowid)), '{}')
FROM known_order LEFT JOIN accepted_output USING (service_id)
LEFT JOIN told_deposit USING (service_id) LEFT JOIN put_away USING (service_id);
INSERT INTO events SELECT id, service_id, at, source, raw FROM event
"""

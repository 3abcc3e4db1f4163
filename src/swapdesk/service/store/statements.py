"""The longer SQL statements of the embedded store."""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.service.store.rows import ORDER_COLUMNS, QUOTE_COLUMNS

# Identity of an order, which no later write may change.
_FIXED = frozenset({"service_id", "record_id", "partner_id", "quote_id", "request_digest"})
_CHANGING = (*(name for name in ORDER_COLUMNS if name not in _FIXED), "amount_key")


def _insert(table: str, columns: Sequence[str]) -> str:
    names = ", ".join(columns)
    marks = ", ".join(f":{name}" for name in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - our own names


INSERT_QUOTE = _insert("quotes", QUOTE_COLUMNS)
INSERT_ORDER = _insert("orders", (*ORDER_COLUMNS, "amount_key"))
ADVANCE = (
    "UPDATE orders SET "  # noqa: S608 - column names are ours
    + ", ".join(f"{name} = :{name}" for name in _CHANGING)
    + ", lease_owner = NULL, lease_until = NULL"
    + " WHERE service_id = :service_id AND version = :expected AND rank <= :rank"
)
ANNOUNCE = (
    "INSERT INTO outbox (service_id, partner_id, version, status, rank, committed)"
    " VALUES (:service_id, :partner_id, :version, :status, :rank, :modified)"
)
# Free rows and leased ones apart, so that each half is a walk along the index.
CLAIM = (
    "UPDATE orders SET lease_owner = :owner, lease_until = :until WHERE service_id IN ("
    " SELECT service_id FROM ("
    "  SELECT service_id, due_at FROM orders WHERE lease_until IS NULL AND due_at <= :now"
    "  UNION ALL"
    "  SELECT service_id, due_at FROM orders WHERE lease_until <= :now AND due_at <= :now"
    " ) ORDER BY due_at LIMIT :limit) RETURNING *"
)
NEXT_DUE = (
    "SELECT MIN(due) FROM ("
    " SELECT * FROM (SELECT due_at AS due FROM orders"
    "  WHERE lease_until IS NULL AND due_at IS NOT NULL ORDER BY due_at LIMIT 1)"
    " UNION ALL"
    " SELECT MIN(MAX(due_at, lease_until)) FROM orders"
    "  WHERE lease_until IS NOT NULL AND due_at IS NOT NULL)"
)
ORDER_VERSION = "SELECT version, created FROM orders WHERE partner_id = ? AND service_id = ?"
ORDER_OF_TRANSACTION = (
    "SELECT service_id FROM orders WHERE json_extract(detail, '$.sourceChain') = ?"
    " AND json_extract(detail, '$.confirmedHash') = ?"
)
RECENT_PAYOUTS = (
    "SELECT legs, payout_wallet FROM orders WHERE partner_id = ? AND created >= ?"
    " AND route = 'private' ORDER BY created DESC, rowid DESC LIMIT ?"
)

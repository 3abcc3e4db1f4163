"""One page of ``GET /orders`` out of the table of orders (contract 8.21)."""

from __future__ import annotations

import sqlite3

from swapdesk.service.store.records import OrderFilter, StoredOrder
from swapdesk.service.store.rows import micros, order_of

_SORT_COLUMNS = {"created": "created", "updated": "modified", "amount": "amount_key"}


def page_of(db: sqlite3.Connection, wanted: OrderFilter) -> tuple[list[StoredOrder], int]:
    """The rows of the page and the number of rows on all pages, from one snapshot."""
    where, values = _where(wanted)
    direction = "DESC" if wanted.descending else "ASC"
    order_by = f"{_SORT_COLUMNS[wanted.sort]} {direction}, rowid {direction}"
    db.execute("BEGIN")
    try:
        (total,) = db.execute(
            f"SELECT COUNT(*) FROM orders WHERE {where}",  # noqa: S608 - columns are ours
            values,
        ).fetchone()
        rows = db.execute(
            f"SELECT * FROM orders WHERE {where}"  # noqa: S608 - columns are ours
            f" ORDER BY {order_by} LIMIT ? OFFSET ?",
            [*values, wanted.limit, wanted.offset],
        ).fetchall()
    finally:
        db.execute("COMMIT")
    return [order_of(row) for row in rows], total


def _where(wanted: OrderFilter) -> tuple[str, list[str | int]]:
    terms = ["partner_id = ?", "created >= ?"]
    values: list[str | int] = [wanted.partner_id, micros(wanted.since)]
    if wanted.until is not None:
        terms.append("created <= ?")
        values.append(micros(wanted.until))
    if wanted.statuses:
        terms.append(f"status IN ({', '.join('?' * len(wanted.statuses))})")
        values.extend(wanted.statuses)
    if wanted.private is not None:
        terms.append("route = 'private'" if wanted.private else "route <> 'private'")
    for column in ("token_in_id", "token_out_id", "multi_id"):
        value = getattr(wanted, column)
        if value is not None:
            terms.append(f"{column} = ?")
            values.append(value)
    return " AND ".join(terms), values

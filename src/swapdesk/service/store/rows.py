"""Records as rows of SQLite and back, with the statements that read and write them.

A bundle moves by compare-and-set on its state alone, so that of any number who submit it one
does (contract 17.2).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Literal

from msgspec.structs import asdict

from swapdesk.service.store.records import (
    EVERY_ROUTE,
    BundleState,
    BundleUnderWay,
    ListedOrder,
    OrderFilter,
    OutboxRow,
    RouteChoice,
    StoredBatch,
    StoredBundle,
    StoredGroup,
    StoredOrder,
    StoredQuote,
)


@contextmanager
def transaction(
    db: sqlite3.Connection, kind: Literal["DEFERRED", "IMMEDIATE"] = "IMMEDIATE"
) -> Iterator[None]:
    """All of it or nothing; ``DEFERRED`` for what only reads, from one snapshot."""
    db.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_TIMES = frozenset({"created", "modified", "expires", "due_at"})
_AMOUNTS = frozenset(
    {
        "amount_in",
        "amount_out",
        "amount_in_usd",
        "amount_out_usd",
        "minutes",
        "middle_amount",
        "markup",
        "fee_usd",
        "commission",
    }
)
_FLAGS = frozenset({"fixed", "receive", "requires_refund_address", "filtered", "told"})

QUOTE_COLUMNS = StoredQuote.__struct_fields__
ORDER_COLUMNS = StoredOrder.__struct_fields__
_CHOICES = RouteChoice.__struct_fields__


def micros(moment: datetime) -> int:
    """Microseconds since 1970 UTC, exact."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(value: int) -> datetime:
    return _EPOCH + value * _MICROSECOND


def amount_key(amount: Decimal) -> str:
    """An amount as 81 characters whose text order is the order of the numbers."""
    return format(amount, "081.40f")


def values_of(record: StoredQuote | StoredOrder) -> dict[str, Any]:
    """Column values of a record, by name."""
    values = asdict(record)
    for name, write in _WRITTEN.items():
        value = values.get(name)
        if value is not None:
            values[name] = write(value)
    if isinstance(record, StoredOrder):
        values["amount_key"] = amount_key(record.amount_in)
    return values


def quote_of(row: sqlite3.Row) -> StoredQuote:
    return StoredQuote(**_members(row, QUOTE_COLUMNS))


def order_of(row: sqlite3.Row) -> StoredOrder:
    return StoredOrder(**_members(row, ORDER_COLUMNS))


def _members(row: sqlite3.Row, columns: tuple[str, ...]) -> dict[str, Any]:
    """Members of a record, by name: what ``values_of`` wrote."""
    # By position: to look a column up by its name is slow in a row of fifty.
    values = dict(zip(row.keys(), row, strict=True))
    members: dict[str, Any] = {}
    for name in columns:
        value, read = values[name], _READ.get(name)
        members[name] = value if value is None or read is None else read(value)
    return members


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _plain_choice(choice: RouteChoice) -> dict[str, Any]:
    """What was asked, and nothing that was not."""
    values = ((name, getattr(choice, name)) for name in _CHOICES)
    asked = {name: value for name, value in values if value != getattr(EVERY_ROUTE, name)}
    if "deviation_threshold" in asked:
        asked["deviation_threshold"] = format(asked["deviation_threshold"], "f")
    return asked


def _choice(asked: dict[str, Any]) -> RouteChoice:
    if not asked:
        return EVERY_ROUTE
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in asked.items()
    }
    if "deviation_threshold" in values:
        values["deviation_threshold"] = Decimal(values["deviation_threshold"])
    return RouteChoice(**values)


_WRITTEN: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_TIMES, micros),
    **dict.fromkeys(_AMOUNTS, lambda amount: format(amount, "f")),
    **dict.fromkeys(("detail", "rates", "plan"), _json),
    "legs": ",".join,
    "choice": lambda choice: _json(_plain_choice(choice)),
}
"""How the columns are written that SQLite does not take as they are."""

_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_TIMES, moment_of),
    **dict.fromkeys(_AMOUNTS, Decimal),
    **dict.fromkeys(_FLAGS, bool),
    **dict.fromkeys(("detail", "plan"), json.loads),
    "rates": lambda text: tuple(json.loads(text)),
    "legs": lambda text: tuple(text.split(",")),
    "choice": lambda text: _choice(json.loads(text)),
}
"""How they are read."""


GROUP = "SELECT * FROM groups WHERE partner_id = ? AND multi_id = ? AND told"
ORDERS_OF_GROUP = "SELECT * FROM orders WHERE partner_id = ? AND multi_id = ? ORDER BY rowid"


def insert_group(db: sqlite3.Connection, group: StoredGroup, *, told: bool) -> None:
    db.execute(
        "INSERT INTO groups (multi_id, partner_id, created, chain, told) VALUES (?, ?, ?, ?, ?)",
        (group.multi_id, group.partner_id, micros(group.created), group.chain, told),
    )


def group_of(row: sqlite3.Row) -> StoredGroup:
    return StoredGroup(row["multi_id"], row["partner_id"], moment_of(row["created"]), row["chain"])


def replace_pending(db: sqlite3.Connection, bundle: StoredBundle) -> None:
    """Store it instead of what was pending. Raises BundleUnderWay."""
    for other in of_group(db, bundle.partner_id, bundle.multi_id):
        if other.claimed & bundle.service_ids:
            raise BundleUnderWay(bundle.multi_id)
    db.execute(
        "DELETE FROM bundles WHERE partner_id = ? AND multi_id = ? AND state = 'pending'",
        (bundle.partner_id, bundle.multi_id),
    )
    db.execute(
        "INSERT INTO bundles (multi_id, partner_id, chain, created, modified, expires, state,"
        " owner, batches, tx_hash, failure_reason) VALUES (:multi_id, :partner_id, :chain,"
        " :created, :modified, :expires, :state, :owner, :batches, :tx_hash, :failure_reason)",
        _values(bundle)
        | {
            "multi_id": bundle.multi_id,
            "chain": bundle.chain,
            "created": micros(bundle.created),
            "expires": micros(bundle.expires),
        },
    )


def of_group(db: sqlite3.Connection, partner_id: str, multi_id: str) -> list[StoredBundle]:
    """Newest first."""
    rows = db.execute(
        "SELECT * FROM bundles WHERE partner_id = ? AND multi_id = ? ORDER BY number DESC",
        (partner_id, multi_id),
    )
    return [_bundle_of(row) for row in rows]


def under_way(db: sqlite3.Connection) -> list[StoredBundle]:
    rows = db.execute("SELECT * FROM bundles WHERE state = 'submitted' ORDER BY number")
    return [_bundle_of(row) for row in rows]


def move(db: sqlite3.Connection, bundle: StoredBundle, expected: BundleState) -> bool:
    moved = db.execute(
        "UPDATE bundles SET state = :state, modified = :modified, batches = :batches,"
        " tx_hash = :tx_hash, failure_reason = :failure_reason"
        " WHERE number = :number AND partner_id = :partner_id AND state = :expected",
        _values(bundle) | {"number": bundle.number, "expected": expected},
    )
    return moved.rowcount == 1


def _values(bundle: StoredBundle) -> dict[str, Any]:
    return {
        "partner_id": bundle.partner_id,
        "modified": micros(bundle.modified),
        "state": bundle.state,
        "owner": bundle.owner,
        "batches": json.dumps([asdict(batch) for batch in bundle.batches], separators=(",", ":")),
        "tx_hash": bundle.tx_hash,
        "failure_reason": bundle.failure_reason,
    }


def _bundle_of(row: sqlite3.Row) -> StoredBundle:
    batches = (
        StoredBatch(**{**each, "service_ids": tuple(each["service_ids"])})
        for each in json.loads(row["batches"])
    )
    return StoredBundle(
        number=row["number"],
        multi_id=row["multi_id"],
        partner_id=row["partner_id"],
        chain=row["chain"],
        created=moment_of(row["created"]),
        modified=moment_of(row["modified"]),
        expires=moment_of(row["expires"]),
        state=row["state"],
        owner=row["owner"],
        batches=tuple(batches),
        tx_hash=row["tx_hash"],
        failure_reason=row["failure_reason"],
    )


# Identity of an order, and whether it is told: what no step of its own may change.
_FIXED = frozenset({"service_id", "record_id", "partner_id", "quote_id", "request_digest", "told"})
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
    " SELECT service_id, partner_id, version, status, rank, modified FROM orders"
    " WHERE service_id = :service_id AND told"
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
TOLD_ORDER = "SELECT * FROM orders WHERE partner_id = ? AND service_id = ? AND told"
ORDER_VERSION = (
    "SELECT version, created FROM orders WHERE partner_id = ? AND service_id = ? AND told"
)
GAVE_OUT = "SELECT 1 FROM orders WHERE deposit_account = ? AND created >= ? LIMIT 1"
TELL_GROUP = "UPDATE groups SET told = 1 WHERE multi_id = :opened"
TELL_ORDERS = (
    "UPDATE orders SET told = 1"
    " WHERE (service_id = :opened OR multi_id = :opened) AND told = 0 RETURNING *"
)
ORDER_OF_TRANSACTION = (
    "SELECT service_id FROM orders WHERE json_extract(detail, '$.sourceChain') = ?"
    " AND json_extract(detail, '$.confirmedHash') = ?"
)
RECENT_PAYOUTS = (
    "SELECT legs, payout_wallet FROM orders WHERE partner_id = ? AND created >= ?"
    " AND route = 'private' ORDER BY created DESC, rowid DESC LIMIT ?"
)


_SORT_COLUMNS = {"created": "created", "updated": "modified", "amount": "amount_key"}


def page_of(db: sqlite3.Connection, wanted: OrderFilter) -> tuple[list[ListedOrder], int]:
    """The rows of the page and the number of rows on all pages, from one snapshot."""
    where, values = _where(wanted)
    direction = "DESC" if wanted.descending else "ASC"
    order_by = f"{_SORT_COLUMNS[wanted.sort]} {direction}, rowid {direction}"
    with transaction(db, "DEFERRED"):
        (total,) = db.execute(
            f"SELECT COUNT(*) FROM orders WHERE {where}",  # noqa: S608 - columns are ours
            values,
        ).fetchone()
        rows = db.execute(
            f"SELECT * FROM orders WHERE {where}"  # noqa: S608 - columns are ours
            f" ORDER BY {order_by} LIMIT ? OFFSET ?",
            [*values, wanted.limit, wanted.offset],
        ).fetchall()
    page = [ListedOrder(row["service_id"], row["version"], partial(order_of, row)) for row in rows]
    return page, total


def _where(wanted: OrderFilter) -> tuple[str, list[str | int]]:
    terms = ["partner_id = ?", "told = 1", "created >= ?"]
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


def rows_after(db: sqlite3.Connection, sequence: int, limit: int) -> list[OutboxRow]:
    rows = db.execute(
        "SELECT sequence, service_id, partner_id, version, status, rank FROM outbox"
        " WHERE sequence > ? ORDER BY sequence LIMIT ?",
        (sequence, limit),
    )
    return [OutboxRow(*row) for row in rows]


def last_sequence(db: sqlite3.Connection) -> int:
    """The highest number ever given, also after its row was dropped."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'").fetchone()
    return 0 if row is None else int(row["seq"])

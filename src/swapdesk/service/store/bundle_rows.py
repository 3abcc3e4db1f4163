"""Groups of orders and their bundles in the embedded store.

A bundle moves by compare-and-set on its state alone, so that of any number who submit it one
does (contract 17.2).
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict
from typing import Any

from swapdesk.service.store.bundles import (
    BundleState,
    BundleUnderWay,
    StoredBatch,
    StoredBundle,
    StoredGroup,
)
from swapdesk.service.store.rows import micros, moment_of

GROUP = "SELECT * FROM groups WHERE partner_id = ? AND multi_id = ?"
ORDERS_OF_GROUP = "SELECT * FROM orders WHERE partner_id = ? AND multi_id = ? ORDER BY rowid"


def insert_group(db: sqlite3.Connection, group: StoredGroup) -> None:
    db.execute(
        "INSERT INTO groups (multi_id, partner_id, created, chain) VALUES (?, ?, ?, ?)",
        (group.multi_id, group.partner_id, micros(group.created), group.chain),
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

"""Counters of the embedded store: requests of a month and the windows of rate limits."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime

from swapdesk.service.store.records import Usage


def add_requests(db: sqlite3.Connection, month: str, counts: Mapping[str, int]) -> None:
    db.executemany(
        "INSERT INTO requests (partner_id, month, count) VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET count = count + excluded.count",
        [(partner_id, month, count) for partner_id, count in counts.items()],
    )


def requests_in_month(db: sqlite3.Connection, partner_id: str, month: str) -> int:
    row = db.execute(
        "SELECT count FROM requests WHERE partner_id = ? AND month = ?", (partner_id, month)
    ).fetchone()
    return 0 if row is None else int(row["count"])


def save_usage(db: sqlite3.Connection, rows: Sequence[Usage]) -> None:
    """Counts only grow within a window, so a batch that arrives late changes nothing."""
    db.executemany(
        "INSERT INTO usage (partner_id, rate_class, seconds, number, used) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET number = excluded.number, used = excluded.used"
        " WHERE (excluded.number, excluded.used) > (usage.number, usage.used)",
        [(row.partner_id, row.rate_class, row.seconds, row.number, row.used) for row in rows],
    )


def load_usage(db: sqlite3.Connection, since: datetime) -> list[Usage]:
    found = db.execute(
        "SELECT * FROM usage WHERE (number + 1) * seconds > ?", (since.timestamp(),)
    ).fetchall()
    return [
        Usage(row["partner_id"], row["rate_class"], row["seconds"], row["number"], row["used"])
        for row in found
    ]

"""The outbox of the embedded store as its tailers read it."""

from __future__ import annotations

import sqlite3

from swapdesk.service.store.records import OutboxRow


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

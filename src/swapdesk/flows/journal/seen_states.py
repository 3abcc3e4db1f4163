"""The different states that each order was seen in: when, from where, and the order then.

Of one order the first and the newest are kept: what happened to it, and what happened last.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime

from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.journal_records import Source
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.orders import Order

FIRST_EVENTS = 20
NEWEST_EVENTS = 180
"""States kept of one order; those between the first and the newest go."""
_SLACK = 20


class SeenStates:
    def __init__(self, file: JournalFile) -> None:
        self._file = file
        self._counts: dict[str, int] = {}

    def add(
        self, db: sqlite3.Connection, service_id: str, lean: str, now: str, source: Source
    ) -> None:
        """Write one more inside a transaction of the caller; ``lean``: the order as JSON, without
        its tokens."""
        db.execute(
            "INSERT INTO event (service_id, at, source, raw) VALUES (?, ?, ?, ?)",
            (service_id, now, source, lean),
        )
        count = self._counts.get(service_id)
        if count is None:
            (count,) = db.execute(
                "SELECT count(*) FROM event WHERE service_id = ?", (service_id,)
            ).fetchone()
        else:
            count += 1
        if count > FIRST_EVENTS + NEWEST_EVENTS + _SLACK:
            db.execute(
                "DELETE FROM event WHERE service_id = ?1"
                " AND id NOT IN (SELECT id FROM event WHERE service_id = ?1 ORDER BY id LIMIT ?2)"
                " AND id NOT IN (SELECT id FROM event WHERE service_id = ?1"
                " ORDER BY id DESC LIMIT ?3)",
                (service_id, FIRST_EVENTS, NEWEST_EVENTS),
            )
            count = FIRST_EVENTS + NEWEST_EVENTS
        self._counts[service_id] = count

    def of(self, service_id: str) -> list[tuple[datetime, str, Order]]:
        """Those of one order, oldest first."""
        return [
            (datetime.fromisoformat(row["at"]), row["source"], _order_of(row))
            for row in self._file.read(
                "SELECT at, source, raw FROM event WHERE service_id = ? ORDER BY id", (service_id,)
            )
        ]

    def latest(self, count: int) -> list[tuple[datetime, Order]]:
        """The newest of any order, newest first."""
        rows = self._file.read("SELECT at, raw FROM event ORDER BY id DESC LIMIT ?", (count,))
        return [(datetime.fromisoformat(row["at"]), _order_of(row)) for row in rows]


def _order_of(row: sqlite3.Row) -> Order:
    return decode(Order, row["raw"].encode(), side="client")

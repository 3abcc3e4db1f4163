"""Faults of legs: of one order, or of the next legs opened at an exchange.

A key of a leg reads ``<serviceId>:<in|out>``, with ``#2`` and so on after a fallback.
"""

from __future__ import annotations

import sqlite3

from swapdesk.sandbox.node.account_rows import AccountRows
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.params import FaultAdd
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.wire.orders import LegStatus


class LegFaults:
    """Faults that wait for a leg, kept on disk, and marks on legs that exist."""

    def __init__(self, database: Database, rows: AccountRows, clock: WorldClock) -> None:
        self._database = database
        self._rows = rows
        self._clock = clock

    def add(self, fault: FaultAdd) -> None:
        """Mark the legs that exist, else wait for the next ``times`` legs opened."""
        with self._database.transaction() as connection:
            legs = []
            if fault.service_id is not None:
                legs = self._rows.legs_of(fault.service_id, fault.leg or "in")
            for row in legs:
                self._mark(row, fault.fault)
            if not legs:
                connection.execute(
                    "INSERT INTO faults (fault, service_id, venue, leg, times)"
                    " VALUES (?, ?, ?, ?, ?)",
                    (fault.fault, fault.service_id, fault.venue, fault.leg, fault.times),
                )

    def waiting(self) -> list[dict[str, object]]:
        rows = self._database.connection.execute("SELECT * FROM faults ORDER BY id")
        return [
            {
                "fault": row["fault"],
                "serviceId": row["service_id"],
                "venue": row["venue"],
                "leg": row["leg"],
                "times": row["times"],
            }
            for row in rows
        ]

    def clear(self) -> None:
        """Forget all faults; a leg that has not yet failed will not."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM faults")
            connection.execute("UPDATE accounts SET fault = NULL WHERE fault IS NOT NULL")

    def take(self, venue: str, key: str) -> str | None:
        """The fault a leg is opened with; runs inside a transaction of the caller."""
        service_id, _, name = key.partition(":")
        connection = self._database.connection
        row = connection.execute(
            "SELECT * FROM faults WHERE (service_id = ? OR venue = ?)"
            " AND (leg IS NULL OR leg = ?) ORDER BY id LIMIT 1",
            (service_id, venue, name.partition("#")[0]),
        ).fetchone()
        if row is None:
            return None
        connection.execute("UPDATE faults SET times = times - 1 WHERE id = ?", (row["id"],))
        connection.execute("DELETE FROM faults WHERE times <= 0")
        return str(row["fault"])

    def _mark(self, row: sqlite3.Row, fault: str) -> None:
        status = LegStatus(row["status"])
        if fault == "fail_after_deposit":
            if status is LegStatus.EXCHANGING:
                self._rows.settle(row, status=LegStatus.FAILED)
            else:
                self._rows.change(row, fault=fault)
        elif status is LegStatus.WAITING:
            now = self._clock.moment().now
            self._rows.change(row, fault=fault, expires=now, due_now=now)

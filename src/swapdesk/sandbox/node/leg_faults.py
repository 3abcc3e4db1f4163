"""Faults of legs: of one order, or of the next legs opened at an exchange.

A key of a leg reads ``<serviceId>:<in|out>``, with ``#2`` and so on after a fallback.
"""

from __future__ import annotations

import sqlite3

from swapdesk.sandbox.node.account_rows import AccountRows, faults_of, written
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.ledger import LedgerRefusal
from swapdesk.sandbox.node.params import FaultAdd
from swapdesk.sandbox.node.settlement import Settlement
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.wire.orders import LegStatus

_MAY_YET = (
    LegStatus.NEW,
    LegStatus.WAITING,
    LegStatus.CONFIRMING,
    LegStatus.EXCHANGING,
    LegStatus.VERIFYING,
)
"""A leg in one of these has not paid out yet."""


class LegFaults:
    """Faults that wait for a leg, kept on disk, and marks on legs that exist."""

    def __init__(
        self,
        database: Database,
        rows: AccountRows,
        settlement: Settlement,
        clock: WorldClock,
    ) -> None:
        self._database = database
        self._rows = rows
        self._settlement = settlement
        self._clock = clock

    def add(self, fault: FaultAdd) -> None:
        """Mark the leg that exists, else wait for the next ``times`` legs opened.

        Raises LedgerRefusal when the order or the exchange has nothing the fault could meet.
        """
        with self._database.transaction():
            if fault.fault == "release":
                self._release(fault)
            elif fault.service_id is None:
                self._wait(fault)
            elif (row := self._leg(fault.service_id, fault.leg or "in")) is not None:
                self._mark(row, fault.fault)
            else:
                self._wait(fault)

    def waiting(self) -> list[dict[str, object]]:
        rows = self._database.connection.execute("SELECT * FROM faults ORDER BY id")
        return [
            {
                "fault": row["fault"],
                "serviceId": row["service_id"],
                "venue": row["venue"],
                "chain": row["chain"],
                "leg": row["leg"],
                "times": row["times"],
            }
            for row in rows
        ]

    def clear(self) -> None:
        """Forget all faults: a leg that has not yet failed will not, and no hold goes on."""
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM faults")
            connection.execute("UPDATE accounts SET fault = NULL WHERE fault IS NOT NULL")
            query = "SELECT * FROM accounts WHERE status = ?"
            for row in connection.execute(query, (LegStatus.VERIFYING,)).fetchall():
                self._go_on(row)

    def take(self, venue: str, key: str) -> frozenset[str]:
        """The faults a leg is opened with; runs inside a transaction of the caller."""
        service_id, _, name = key.partition(":")
        connection = self._database.connection
        rows = connection.execute(
            "SELECT * FROM faults WHERE (service_id = ? OR venue = ?)"
            " AND (leg IS NULL OR leg = ?) ORDER BY id",
            (service_id, venue, name.partition("#")[0]),
        ).fetchall()
        first = {row["fault"]: row["id"] for row in reversed(rows)}
        for number in first.values():
            connection.execute("UPDATE faults SET times = times - 1 WHERE id = ?", (number,))
        connection.execute("DELETE FROM faults WHERE times <= 0")
        return frozenset(first)

    def _wait(self, fault: FaultAdd) -> None:
        self._database.connection.execute(
            "INSERT INTO faults (fault, service_id, venue, leg, times) VALUES (?, ?, ?, ?, ?)",
            (fault.fault, fault.service_id, fault.venue, fault.leg, fault.times or 1),
        )

    def _leg(self, service_id: str, side: str) -> sqlite3.Row | None:
        """The newest leg on a side of an order; None before the order has any."""
        legs = self._rows.legs_of(service_id, side)
        if legs:
            return legs[-1]
        if self._rows.legs_of(service_id):
            raise LedgerRefusal(f"this order has no {side} leg")
        return None

    def _mark(self, row: sqlite3.Row, fault: str) -> None:
        status = LegStatus(row["status"])
        if status not in _MAY_YET:
            raise LedgerRefusal(f"too late: this leg is {status.name}")
        here = self._clock.moment()
        if fault == "expire":
            if status is not LegStatus.WAITING:
                raise LedgerRefusal("the deposit has arrived: this leg no longer expires")
            self._rows.change(row, expires=here.now, due_now=here.now)
        elif fault == "fallback" or status in (LegStatus.WAITING, LegStatus.CONFIRMING):
            self._rows.change(row, fault=written({*faults_of(row), fault}))
        elif fault == "fail_after_deposit":
            self._settlement.fail(row)
        elif fault == "reroute":
            self._settlement.decline(row)
        elif fault == "refund":
            self._settlement.give_back(row, int(row["arrived"]), here)
        else:
            self._rows.settle(row, status=LegStatus.VERIFYING)

    def _release(self, fault: FaultAdd) -> None:
        """End the holds of an order or of an exchange, also those that have not begun."""
        ended = 0
        if fault.service_id is not None:
            rows = self._rows.legs_of(fault.service_id, fault.leg)
            column, value = "service_id", fault.service_id
        else:
            rows = self._rows.held_at(fault.venue or "")
            column, value = "venue", fault.venue or ""
        for row in rows:
            on_hold, marked = row["status"] == LegStatus.VERIFYING, "hold" in faults_of(row)
            if marked:
                self._rows.change(row, fault=written(faults_of(row) - {"hold"}))
            if on_hold:
                self._go_on(row)
            ended += on_hold or marked
        ended += self._database.connection.execute(
            f"DELETE FROM faults WHERE fault = 'hold' AND {column} = ?",  # noqa: S608 (ours)
            (value,),
        ).rowcount
        if not ended:
            raise LedgerRefusal("nothing is on hold here")

    def _go_on(self, row: sqlite3.Row) -> None:
        """A check has passed: the exchange begins, or begins anew."""
        here = self._clock.moment()
        if row["paying"] is None:
            self._settlement.exchange(row, int(row["arrived"]), here)
            return
        due = here.world + row["exchange_ms"]
        self._rows.settle(row, status=LegStatus.EXCHANGING, due_world=due)

"""Faults of orders: of one leg, or of the next legs opened at an exchange.

A row of ORDER_FAULTS says what happens: to a leg when it is opened, to its deposit once that
counts, or to its payout. Faults wait on disk; those of a leg that exists stand in its row.
A key of a leg reads ``<serviceId>:<in|out>``, with ``#2`` and so on after a fallback.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from swapdesk.sandbox.faults import FaultKind
from swapdesk.sandbox.node.account_rows import AccountRows, faults_of, written
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.ledger import LedgerRefusal
from swapdesk.sandbox.node.params import FaultAdd
from swapdesk.sandbox.node.settlement import Settlement
from swapdesk.sandbox.node.world_clock import Moment, WorldClock
from swapdesk.wire.orders import LegStatus

_NOT_CREDITED = (LegStatus.NEW, LegStatus.WAITING, LegStatus.CONFIRMING)
_MAY_YET = (*_NOT_CREDITED, LegStatus.EXCHANGING, LegStatus.VERIFYING)
"""A leg in one of these has not paid out yet."""

OnDeposit = Callable[[Settlement, sqlite3.Row, int, Moment], None]


@dataclass(frozen=True, eq=False)
class OrderFault(FaultKind):
    """What happens to a leg. Where nothing of it is said, everything goes on as usual."""

    selectors: tuple[str, ...] = ("service_id", "venue")
    takes: frozenset[str] = frozenset({"leg", "times"})
    expires: bool = False
    """The deadline of the leg is now."""
    on_deposit: OnDeposit | None = None
    """In place of the exchange, with the base units that arrived in time; at once where they
    have arrived already."""
    skipped_wallets: int = 0
    """So many of the wallets that should pay out do not."""
    at_once: Callable[[OrderFaults, FaultAdd], None] | None = None
    """In place of all that: it waits for nothing and marks nothing."""


def _hold(settlement: Settlement, row: sqlite3.Row, arrived: int, at: Moment) -> None:
    if settlement.too_little(row, arrived):
        settlement.give_back(row, arrived, at)
    else:
        settlement.verify(row, arrived)


class OrderFaults:
    """The faults that wait for legs, and those of legs that exist."""

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
        """Apply it to the leg that exists, else wait for the next ``times`` legs opened.

        Raises LedgerRefusal when the order or the exchange has nothing the fault could meet.
        """
        kind = ORDER_FAULTS[fault.fault]
        with self._database.transaction() as connection:
            if kind.at_once is not None:
                kind.at_once(self, fault)
                return
            row = None if fault.service_id is None else self._leg(fault.service_id, fault.leg)
            if row is not None:
                self._apply(kind, row)
            else:
                connection.execute(
                    "INSERT INTO faults (fault, service_id, venue, leg, times)"
                    " VALUES (?, ?, ?, ?, ?)",
                    (fault.fault, fault.service_id, fault.venue, fault.leg, fault.times or 1),
                )

    def waiting(self) -> list[dict[str, object]]:
        """Every stored fault, those of chains too."""
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

    def open_leg(self, venue: str, key: str) -> dict[str, object]:
        """Spend the faults that wait for this leg: what its row says because of them. Runs
        inside a transaction of the caller."""
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
        columns: dict[str, object] = {"fault": written(first)}
        if any(kind.expires for kind in _kinds(first)):
            now = self._clock.moment().now
            columns |= {"expires": now, "due_now": now}
        return columns

    def confirmed(self, row: sqlite3.Row, at: Moment) -> None:
        """The deposit of a leg counts: the first fault of the table that it has decides."""
        arrived = self._rows.credited(row["id"])
        for kind in _kinds(faults_of(row)):
            if kind.on_deposit is not None:
                kind.on_deposit(self._settlement, row, arrived, at)
                return
        self._settlement.accept(row, arrived, at)

    def skipped_wallets(self, row: sqlite3.Row) -> int:
        """How many wallets do not pay the leg out though they should."""
        return max((kind.skipped_wallets for kind in _kinds(faults_of(row))), default=0)

    def _leg(self, service_id: str, side: str | None) -> sqlite3.Row | None:
        """The newest leg on a side of an order; None before the order has any."""
        side = side or "in"
        legs = self._rows.legs_of(service_id, side)
        if legs:
            return legs[-1]
        if self._rows.legs_of(service_id):
            raise LedgerRefusal(f"this order has no {side} leg")
        return None

    def _apply(self, kind: OrderFault, row: sqlite3.Row) -> None:
        """To a leg that exists."""
        status = LegStatus(row["status"])
        if status not in _MAY_YET:
            raise LedgerRefusal(f"too late: this leg is {status.name}")
        here = self._clock.moment()
        if kind.expires:
            if status is not LegStatus.WAITING:
                raise LedgerRefusal("the deposit has arrived: this leg no longer expires")
            self._rows.change(row, expires=here.now, due_now=here.now)
        elif kind.on_deposit is None or status in _NOT_CREDITED:
            self._rows.change(row, fault=written({*faults_of(row), kind.name}))
        else:
            kind.on_deposit(self._settlement, row, int(row["arrived"]), here)

    def release(self, fault: FaultAdd) -> None:
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


ORDER_FAULTS = {
    kind.name: kind
    for kind in (
        OrderFault(
            "fail_after_deposit",
            "The exchange fails and keeps the deposit.",
            on_deposit=lambda settlement, row, arrived, at: settlement.fail(row, arrived),
        ),
        OrderFault(
            "reroute",
            "The exchange declines the deposit, and another exchange carries the order out.",
            on_deposit=lambda settlement, row, arrived, at: settlement.decline(row, arrived),
        ),
        OrderFault(
            "refund",
            "The exchange sends the deposit back.",
            on_deposit=Settlement.give_back,
        ),
        OrderFault(
            "hold",
            "The exchange holds the deposit until a release.",
            on_deposit=_hold,
        ),
        OrderFault(
            "release",
            "Ends the holds of an order or of an exchange.",
            at_once=OrderFaults.release,
            takes=frozenset({"leg"}),
        ),
        OrderFault(
            "fallback",
            "Another hot wallet of the exchange pays out.",
            skipped_wallets=1,
        ),
        OrderFault(
            "expire",
            "The leg expires now. Only before its deposit has arrived.",
            expires=True,
        ),
    )
}
"""By name. Where a leg has several, the first of them decides what becomes of its deposit."""


def _kinds(names: frozenset[str] | dict[str, int]) -> list[OrderFault]:
    """Faults in the order of the table."""
    return [kind for name, kind in ORDER_FAULTS.items() if name in names]

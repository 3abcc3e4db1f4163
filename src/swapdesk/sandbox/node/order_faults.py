"""Faults of orders: of one leg, or of the next legs opened at an exchange.

Faults that wait for a leg end with the process; those of a leg that exists stand in its row.
A key of a leg reads ``<serviceId>:<in|out>``, with ``#2`` and so on after a fallback.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from swapdesk.sandbox.faults import About, ActiveFaults
from swapdesk.sandbox.node.account_rows import AccountRows, faults_of, written
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.ledger import LedgerRefusal
from swapdesk.sandbox.node.params import FaultAdd
from swapdesk.sandbox.node.settlement import Settlement
from swapdesk.sandbox.node.world_clock import Moment, WorldClock
from swapdesk.wire.orders import LegStatus

HOLD, RELEASE, EXPIRE, FALLBACK = "hold", "release", "expire", "fallback"
_NOT_CREDITED = (LegStatus.NEW, LegStatus.WAITING, LegStatus.CONFIRMING)
_MAY_YET = (*_NOT_CREDITED, LegStatus.EXCHANGING, LegStatus.VERIFYING)
"""A leg in one of these has not paid out yet."""


def _hold(settlement: Settlement, row: sqlite3.Row, arrived: int, at: Moment) -> None:
    if settlement.too_little(row, arrived):
        settlement.give_back(row, arrived, at)
    else:
        settlement.verify(row, arrived)


ON_DEPOSIT: dict[str, Callable[[Settlement, sqlite3.Row, int, Moment], None]] = {
    "fail_after_deposit": lambda settlement, row, arrived, at: settlement.fail(row, arrived),
    "reroute": lambda settlement, row, arrived, at: settlement.decline(row, arrived),
    "refund": Settlement.give_back,
    HOLD: _hold,
}
"""What the exchange does with the base units that arrived in time, in place of swapping them; at
once where they have arrived already. The first one that a leg has decides."""


class OrderFaults:
    """The faults that wait for legs, and those of legs that exist."""

    def __init__(
        self,
        database: Database,
        rows: AccountRows,
        settlement: Settlement,
        clock: WorldClock,
    ) -> None:
        self.waiting = ActiveFaults()
        self._database = database
        self._rows = rows
        self._settlement = settlement
        self._clock = clock

    def add(self, fault: FaultAdd) -> None:
        """Apply it to the leg that exists, else wait for the next ``times`` legs opened.

        Raises LedgerRefusal when the order or the exchange has nothing the fault could meet.
        """
        with self._database.transaction():
            if fault.fault == RELEASE:
                self._release(fault)
                return
            row = None if fault.service_id is None else self._leg(fault.service_id, fault.leg)
            if row is not None:
                self._apply(fault.fault, row)
            else:
                chosen = selected_by(fault)
                self.waiting.set(fault.fault, *chosen, times=fault.times, leg=fault.leg)

    def clear(self) -> None:
        """Forget all faults: a leg that has not yet failed will not, and no hold goes on."""
        self.waiting.active.clear()
        with self._database.transaction() as connection:
            connection.execute("UPDATE accounts SET fault = NULL WHERE fault IS NOT NULL")
            query = "SELECT * FROM accounts WHERE status = ?"
            for row in connection.execute(query, (LegStatus.VERIFYING,)).fetchall():
                self._go_on(row)

    def open_leg(self, venue: str, key: str) -> dict[str, object]:
        """Spend the faults that wait for this leg, each kind once: what its row says because of
        them."""
        service_id, _, name = key.partition(":")
        about: About = {("serviceId", service_id), ("venue", venue)}
        met: set[str] = set()
        for fault in self.waiting.waiting((*ON_DEPOSIT, EXPIRE, FALLBACK), about):
            if fault.leg in (None, name.partition("#")[0]) and fault.name not in met:
                met.add(fault.name)
                self.waiting.spend(fault)
        columns: dict[str, object] = {"fault": written(met)}
        if EXPIRE in met:
            now = self._clock.moment().now
            columns |= {"expires": now, "due_now": now}
        return columns

    def confirmed(self, row: sqlite3.Row, at: Moment) -> None:
        """The deposit of a leg counts."""
        arrived = self._rows.credited(row["id"])
        for name, on_deposit in ON_DEPOSIT.items():
            if name in faults_of(row):
                on_deposit(self._settlement, row, arrived, at)
                return
        self._settlement.accept(row, arrived, at)

    def skipped_wallets(self, row: sqlite3.Row) -> int:
        """How many wallets do not pay the leg out though they should."""
        return 1 if FALLBACK in faults_of(row) else 0

    def _leg(self, service_id: str, side: str | None) -> sqlite3.Row | None:
        """The newest leg on a side of an order; None before the order has any."""
        side = side or "in"
        legs = self._rows.legs_of(service_id, side)
        if legs:
            return legs[-1]
        if self._rows.legs_of(service_id):
            raise LedgerRefusal(f"this order has no {side} leg")
        return None

    def _apply(self, name: str, row: sqlite3.Row) -> None:
        """To a leg that exists."""
        status = LegStatus(row["status"])
        if status not in _MAY_YET:
            raise LedgerRefusal(f"too late: this leg is {status.name}")
        here = self._clock.moment()
        if name == EXPIRE:
            if status is not LegStatus.WAITING:
                raise LedgerRefusal("the deposit has arrived: this leg no longer expires")
            self._rows.change(row, expires=here.now, due_now=here.now)
        elif name not in ON_DEPOSIT or status in _NOT_CREDITED:
            self._rows.change(row, fault=written({*faults_of(row), name}))
        else:
            ON_DEPOSIT[name](self._settlement, row, int(row["arrived"]), here)

    def _release(self, fault: FaultAdd) -> None:
        """End the holds of an order or of an exchange, also those that have not begun."""
        if fault.service_id is not None:
            rows = self._rows.legs_of(fault.service_id, fault.leg)
        else:
            rows = self._rows.held_at(fault.venue or "")
        begun = [row for row in rows if row["status"] == LegStatus.VERIFYING]
        marked = [row for row in rows if HOLD in faults_of(row)]
        waiting = self.waiting.waiting((HOLD,), (selected_by(fault),))
        if not (begun or marked or waiting):
            raise LedgerRefusal("nothing is on hold here")
        for row in marked:
            self._rows.change(row, fault=written(faults_of(row) - {HOLD}))
        for row in begun:
            self._go_on(row)
        for hold in waiting:
            self.waiting.active.remove(hold)

    def _go_on(self, row: sqlite3.Row) -> None:
        """A check has passed: the exchange begins, or begins anew."""
        here = self._clock.moment()
        if row["paying"] is None:
            self._settlement.exchange(row, int(row["arrived"]), here)
            return
        due = here.world + row["exchange_ms"]
        self._rows.settle(row, status=LegStatus.EXCHANGING, due_world=due)


def selected_by(fault: FaultAdd) -> tuple[str, str]:
    """The selector and its value. Raises LedgerRefusal unless there is one."""
    named = {"serviceId": fault.service_id, "venue": fault.venue, "chain": fault.chain}
    chosen = [(selector, value) for selector, value in named.items() if value is not None]
    if len(chosen) != 1:
        raise LedgerRefusal("a fault selects one order, one exchange or one chain")
    return chosen[0]

"""Rows of the exchanges' books: finding, changing and what is due next."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.world_clock import Moment, WorldClock
from swapdesk.wire.orders import LegStatus

_DUE = (
    "SELECT * FROM {} WHERE due_world <= ? ORDER BY due_world LIMIT 1",
    "SELECT * FROM {} WHERE due_now <= ? ORDER BY due_now LIMIT 1",
)

_AT = "SELECT * FROM accounts WHERE chain = ? AND address = ? AND coalesce(tag, '') = ?"
_PAID_FOR_LEGS = ("payout", "refund", "send on", "excess")
_IS_OPEN = "status IN (0, 1, 2, 3, 4, 8)"


def faults_of(row: sqlite3.Row) -> frozenset[str]:
    """The faults that wait for the next steps of a leg."""
    return frozenset((row["fault"] or "").split())


def written(faults: Iterable[str]) -> str | None:
    """Faults as the column holds them."""
    return " ".join(sorted(faults)) or None


_NOT_TOLD = frozenset({"fault", "expires", "due_world", "due_now"})
"""What an exchange keeps for itself."""


def _nobody(venue: str, key: str) -> None:
    """Who is told of changes where nobody asked to be."""


class AccountRows:
    """The table of accounts. Changes run inside a transaction of the caller; ``on_change`` hears
    venue and key of what changed, before the transaction ends."""

    def __init__(self, database: Database, clock: WorldClock) -> None:
        self.on_change: Callable[[str, str], None] = _nobody
        self._connection = database.connection
        self._clock = clock

    def insert(self, columns: dict[str, object]) -> None:
        names = ", ".join(columns)
        marks = ", ".join("?" * len(columns))
        query = f"INSERT INTO accounts ({names}) VALUES ({marks})"  # noqa: S608 (names are ours)
        self._connection.execute(query, tuple(columns.values()))

    def by_key(self, venue: str, key: str) -> sqlite3.Row | None:
        return self._one("SELECT * FROM accounts WHERE venue = ? AND key = ?", venue, key)

    def by_id(self, account: int) -> sqlite3.Row | None:
        return self._one("SELECT * FROM accounts WHERE id = ?", account)

    def by_deposit(self, chain: str, address: str, tag: str | None) -> sqlite3.Row | None:
        """The account a payment belongs to; a tag on an address that has none changes nothing.

        A static address belongs to the open account that holds it, else to the last one.
        """
        found = self._one(f"{_AT} ORDER BY {_IS_OPEN} DESC, id DESC", chain, address, tag or "")
        if found is None and tag is not None:
            found = self._one(f"{_AT} ORDER BY {_IS_OPEN} DESC, id DESC", chain, address, "")
        return found

    def taken(self, chain: str, address: str, tag: str) -> bool:
        """Whether any account ever had this address with this tag."""
        return self._one(_AT, chain, address, tag) is not None

    def held(self, chain: str, address: str) -> bool:
        """Whether an account that has not ended holds this address."""
        return self._one(f"{_AT} AND {_IS_OPEN}", chain, address, "") is not None

    def legs_of(self, service_id: str, side: str | None = None) -> list[sqlite3.Row]:
        """Legs of an order: ``<serviceId>:<side>`` and its repeats, oldest first."""
        key = f"{service_id}:" + (side or "")
        rows = self._connection.execute(
            "SELECT * FROM accounts WHERE substr(key, 1, ?) = ? ORDER BY id", (len(key), key)
        )
        return [row for row in rows if side is None or row["key"][len(key) :][:1] in ("", "#")]

    def any_on(self, chain: str) -> bool:
        """Whether a leg was ever to be paid on a chain."""
        return self._one("SELECT 1 FROM accounts WHERE chain = ?", chain) is not None

    def of_cause(self, cause: str) -> sqlite3.Row | None:
        """The leg that a payment was made for; None for one that no exchange made."""
        kind, _, name = cause.partition(":")
        if kind == "late":
            query = "SELECT * FROM accounts WHERE id = (SELECT account FROM payments WHERE id = ?)"
            return self._one(query, name)
        return self.by_id(int(name)) if kind in _PAID_FOR_LEGS else None

    def count(self, deposit: sqlite3.Row) -> bool:
        """A deposit has its confirmations; whether no other in time lacks them."""
        self._connection.execute(
            "UPDATE payments SET counted = 1, due_world = NULL, due_now = NULL WHERE id = ?",
            (deposit["id"],),
        )
        query = "SELECT 1 FROM payments WHERE account = ? AND late = 0 AND counted = 0"
        return self._one(query, deposit["account"]) is None

    def held_at(self, venue: str) -> list[sqlite3.Row]:
        """Legs a venue has put on hold."""
        query = "SELECT * FROM accounts WHERE venue = ? AND status = ?"
        return self._connection.execute(query, (venue, LegStatus.VERIFYING)).fetchall()

    def settle(self, row: sqlite3.Row, **columns: object) -> None:
        """A new state: nothing is due that the new state does not say."""
        self.change(row, **{"due_world": None, "due_now": None, **columns})

    def change(self, row: sqlite3.Row, **columns: object) -> None:
        changes = ", ".join(f"{name} = ?" for name in columns)
        query = f"UPDATE accounts SET {changes} WHERE id = ?"  # noqa: S608 (names are ours)
        self._connection.execute(query, (*columns.values(), row["id"]))
        if not columns.keys() <= _NOT_TOLD:
            self.tell(row)

    def tell(self, row: sqlite3.Row) -> None:
        """A leg has news that its own row does not show."""
        self.on_change(row["venue"], row["key"])

    def credited(self, account: int) -> int:
        """Base units that arrived in time."""
        rows = self._connection.execute(
            "SELECT units FROM payments WHERE account = ? AND late = 0", (account,)
        )
        return sum(int(row["units"]) for row in rows)

    def next_due(self, here: Moment) -> tuple[str, sqlite3.Row] | None:
        """The row of ``accounts`` or ``payments`` that has been due longest, with its table."""
        due = [
            (table, row)
            for table in ("accounts", "payments")
            for query, limit in zip(_DUE, (here.world, here.now), strict=True)
            if (row := self._one(query.format(table), limit)) is not None
        ]
        return min(due, key=lambda each: self.due_at(each[1]).now, default=None)

    def due_at(self, row: sqlite3.Row) -> Moment:
        """When a row became due."""
        return self._clock.at(row["due_world"], row["due_now"])

    def _one(self, query: str, *values: object) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self._connection.execute(query, values).fetchone()
        return row

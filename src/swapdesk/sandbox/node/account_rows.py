"""Rows of the exchanges' books: finding, changing and what is due next."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable

from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.world_clock import Due, Moment, WorldClock
from swapdesk.wire.orders import LegStatus

COLUMNS = frozenset(
    {
        "status",
        "arrived",
        "paying",
        "included",
        "deposit_hash",
        "payout_hash",
        "refund_hash",
        "refunded",
        "fault",
        "declined",
        "fell_back",
        "expires",
        "due_world",
        "due_now",
    }
)
"""What changes in an account after it was opened."""

_DUE = {
    "accounts": (
        "SELECT * FROM accounts WHERE due_world <= ? AND id NOT IN (SELECT value FROM json_each(?))"
        " ORDER BY due_world LIMIT 1",
        "SELECT * FROM accounts WHERE due_now <= ? AND id NOT IN (SELECT value FROM json_each(?))"
        " ORDER BY due_now LIMIT 1",
    ),
    "deposits": (
        "SELECT * FROM deposits WHERE due_world <= ? AND id NOT IN (SELECT value FROM json_each(?))"
        " ORDER BY due_world LIMIT 1",
        "SELECT * FROM deposits WHERE due_now <= ? AND id NOT IN (SELECT value FROM json_each(?))"
        " ORDER BY due_now LIMIT 1",
    ),
}

_AT = "SELECT * FROM accounts WHERE chain = ? AND address = ? AND coalesce(tag, '') = ?"
_IS_OPEN = "status IN (0, 1, 2, 3, 4, 8)"


def faults_of(row: sqlite3.Row) -> frozenset[str]:
    """The faults that wait for the next steps of a leg."""
    return frozenset((row["fault"] or "").split())


def written(faults: Iterable[str]) -> str | None:
    """Faults as the column holds them."""
    return " ".join(sorted(faults)) or None


def due_of(row: sqlite3.Row) -> Due:
    return Due(row["due_world"], row["due_now"])


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

    def any_on(self, chain: str, *, open_only: bool = False) -> bool:
        """Whether a leg was ever to be paid on a chain, or is to be paid there now."""
        query = "SELECT * FROM accounts WHERE chain = ?"
        return self._one(f"{query} AND {_IS_OPEN}" if open_only else query, chain) is not None

    def unconfirmed(self, chain: str) -> list[sqlite3.Row]:
        """Deposits on an embedded chain that have too few blocks after them."""
        query = "SELECT * FROM deposits WHERE chain = ? AND height IS NOT NULL ORDER BY height"
        return self._connection.execute(query, (chain,)).fetchall()

    def confirm(self, deposit: sqlite3.Row, due_world: int | None) -> None:
        """A deposit on an embedded chain counts."""
        self._connection.execute(
            "UPDATE deposits SET height = NULL, due_world = ? WHERE id = ?",
            (due_world, deposit["id"]),
        )

    def drop_deposit(self, deposit: sqlite3.Row) -> None:
        """A deposit is in no block any more."""
        self._connection.execute("DELETE FROM deposits WHERE id = ?", (deposit["id"],))

    def deposits_in_time(self, account: int) -> list[str]:
        """Ids of what arrived before the deadline."""
        rows = self._connection.execute(
            "SELECT id FROM deposits WHERE account = ? AND late = 0 ORDER BY height", (account,)
        )
        return [str(row["id"]) for row in rows]

    def of_deposit(self, deposit: str) -> sqlite3.Row | None:
        """The account of a deposit."""
        query = "SELECT * FROM accounts WHERE id = (SELECT account FROM deposits WHERE id = ?)"
        return self._one(query, deposit)

    def held_at(self, venue: str) -> list[sqlite3.Row]:
        """Legs a venue has put on hold."""
        query = "SELECT * FROM accounts WHERE venue = ? AND status = ?"
        return self._connection.execute(query, (venue, LegStatus.VERIFYING)).fetchall()

    def settle(self, row: sqlite3.Row, **columns: object) -> None:
        """A new state: nothing is due that the new state does not say."""
        self.change(row, **{"due_world": None, "due_now": None, **columns})

    def change(self, row: sqlite3.Row, **columns: object) -> None:
        if not columns.keys() <= COLUMNS:
            raise ValueError(f"no such column among {sorted(columns)}")
        changes = ", ".join(f"{name} = ?" for name in columns)
        query = f"UPDATE accounts SET {changes} WHERE id = ?"  # noqa: S608 (names checked above)
        self._connection.execute(query, (*columns.values(), row["id"]))
        if not columns.keys() <= _NOT_TOLD:
            self.on_change(row["venue"], row["key"])

    def credited(self, account: int) -> int:
        """Base units that arrived in time."""
        rows = self._connection.execute(
            "SELECT units FROM deposits WHERE account = ? AND late = 0", (account,)
        )
        return sum(int(row["units"]) for row in rows)

    def confirmed_late(self, account: int) -> list[str]:
        """Ids of the deposits that came too late and are confirmed by now."""
        rows = self._connection.execute(
            "SELECT id FROM deposits WHERE account = ? AND late = 1"
            " AND due_world IS NULL AND due_now IS NULL AND height IS NULL",
            (account,),
        )
        return [str(row["id"]) for row in rows]

    def next_due(self, table: str, here: Moment, but: Iterable[object] = ()) -> sqlite3.Row | None:
        """The row of ``accounts`` or ``deposits`` that has been due longest; none of these ids."""
        left_out = json.dumps(list(but))
        rows = [
            row
            for query, limit in zip(_DUE[table], (here.world, here.now), strict=True)
            if (row := self._one(query, limit, left_out)) is not None
        ]
        return min(rows, key=self.since, default=None)

    def since(self, row: sqlite3.Row) -> int:
        """The sandbox time at which a due row became due."""
        return self._clock.at(due_of(row)).now

    def _one(self, query: str, *values: object) -> sqlite3.Row | None:
        row: sqlite3.Row | None = self._connection.execute(query, values).fetchone()
        return row

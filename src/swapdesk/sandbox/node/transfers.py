"""Payments of the ledger as they are written down: one for each cause."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.sandbox.node.database import Database


@dataclass(frozen=True)
class Transfer:
    """One payment. ``units`` are base units; ``height`` the block that includes it, 0 where
    only the embedded chain knows it."""

    hash: str
    chain: str
    token: str
    sender: str
    receiver: str
    tag: str | None
    units: int
    height: int


class Transfers:
    """The table of payments. Writing methods run inside a transaction of the caller."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, moved: Transfer, cause: str) -> None:
        self._database.connection.execute(
            "INSERT INTO transfers"
            " (cause, hash, chain, token, sender, receiver, tag, units, height)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                cause,
                moved.hash,
                moved.chain,
                moved.token,
                moved.sender,
                moved.receiver,
                moved.tag,
                str(moved.units),
                moved.height,
            ),
        )

    def forget(self, cause: str) -> None:
        self._database.connection.execute("DELETE FROM transfers WHERE cause = ?", (cause,))

    def rename(self, cause: str, transaction_hash: str) -> None:
        """The payment that was made for a cause is another transaction now."""
        self._database.connection.execute(
            "UPDATE transfers SET hash = ? WHERE cause = ?", (transaction_hash, cause)
        )

    def of_cause(self, cause: str) -> Transfer | None:
        """The payment that was made for a cause."""
        return self._find("cause", cause)

    def of_hash(self, transaction_hash: str) -> Transfer | None:
        return self._find("hash", transaction_hash)

    def _find(self, column: str, value: str) -> Transfer | None:
        query = {
            "cause": "SELECT * FROM transfers WHERE cause = ?",
            "hash": "SELECT * FROM transfers WHERE hash = ? ORDER BY cause LIMIT 1",
        }[column]
        row = self._database.connection.execute(query, (value,)).fetchone()
        if row is None:
            return None
        return Transfer(
            row["hash"],
            row["chain"],
            row["token"],
            row["sender"],
            row["receiver"],
            row["tag"],
            int(row["units"]),
            row["height"],
        )

"""Payments of the sandbox's wallets on embedded chains: written down whole before they leave.

A payment is signed in the transaction of the books that moves its money, with the next number of
its wallet, and its bytes are handed in until they are in a block: a node that is killed at any
moment sends the same bytes again and never signs another payment for the same cause. Only bytes
that can never be executed any more, because they have expired unseen, are signed anew.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from swapdesk.sandbox.node.chain_wallets import Mined, SignedPayment
from swapdesk.sandbox.node.database import Database

FINAL_DEPTH = 64
"""Blocks after which a payment is no longer looked for: nothing is unwound so far."""


@dataclass(frozen=True)
class Payment:
    """``number`` counts those of its ``wallet``. ``expires`` is the last height at which it may be
    executed, None for ever. ``height`` is None while it is in no block; ``succeeded`` what became
    of it there."""

    cause: str
    chain: str
    wallet: str
    number: int
    hash: str
    raw: bytes
    expires: int | None
    height: int | None
    succeeded: bool


class Outgoing:
    """The table of payments. Changes run inside a transaction of the caller."""

    def __init__(self, database: Database) -> None:
        self._connection = database.connection

    def next_number(self, chain: str, wallet: str) -> int:
        """How many payments the wallet has signed: the number (nonce) of its next one."""
        query = "SELECT COUNT(*) FROM outgoing WHERE chain = ? AND wallet = ?"
        (count,) = self._connection.execute(query, (chain, wallet)).fetchone()
        return int(count)

    def add(self, cause: str, chain: str, wallet: str, number: int, signed: SignedPayment) -> None:
        self._connection.execute(
            "INSERT INTO outgoing (cause, chain, wallet, number, hash, raw, expires)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (cause, chain, wallet, number, signed.hash, signed.raw, signed.expires),
        )

    def renew(self, payment: Payment, signed: SignedPayment) -> None:
        """Other bytes in the place of those that have expired."""
        self._connection.execute(
            "UPDATE outgoing SET hash = ?, raw = ?, expires = ? WHERE cause = ? AND height IS NULL",
            (signed.hash, signed.raw, signed.expires, payment.cause),
        )

    def give_up(self, payment: Payment) -> None:
        """It has expired and is made no more."""
        self._connection.execute("UPDATE outgoing SET final = 1 WHERE cause = ?", (payment.cause,))

    def unfinished(self, chain: str) -> list[Payment]:
        """Payments that are in no block or may be unwound, in the order in which they were
        signed."""
        rows = self._connection.execute(
            "SELECT * FROM outgoing WHERE chain = ? AND final = 0 ORDER BY id", (chain,)
        )
        return [_payment(row) for row in rows]

    def waiting(self, chain: str) -> list[Payment]:
        """Payments that are in no block, in the order in which they were signed."""
        rows = self._connection.execute(
            "SELECT * FROM outgoing WHERE chain = ? AND final = 0 AND height IS NULL ORDER BY id",
            (chain,),
        )
        return [_payment(row) for row in rows]

    def place(self, payment: Payment, found: Mined | None) -> None:
        """Where it is now; None when its block was unwound."""
        height, succeeded = (None, False) if found is None else (found.height, found.succeeded)
        self._connection.execute(
            "UPDATE outgoing SET height = ?, succeeded = ? WHERE chain = ? AND hash = ?",
            (height, succeeded, payment.chain, payment.hash),
        )

    def finish(self, chain: str, height: int) -> None:
        """What is in blocks up to this height stays there."""
        self._connection.execute(
            "UPDATE outgoing SET final = 1 WHERE chain = ? AND final = 0 AND height <= ?",
            (chain, height),
        )


def _payment(row: sqlite3.Row) -> Payment:
    return Payment(
        row["cause"],
        row["chain"],
        row["wallet"],
        row["number"],
        row["hash"],
        row["raw"],
        row["expires"],
        row["height"],
        bool(row["succeeded"]),
    )

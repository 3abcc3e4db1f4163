"""Deposits of legs: credited when they arrive, taken away when their block is no more.

Every method runs inside one transaction of the caller and counts each deposit at most once.
"""

from __future__ import annotations

import sqlite3

from swapdesk.sandbox.node.account_rows import AccountRows
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.ledger import Ledger
from swapdesk.sandbox.node.transfers import Transfer
from swapdesk.sandbox.node.world_clock import Moment
from swapdesk.sandbox.world import chains_by_name
from swapdesk.wire.orders import LegStatus

_TAKES_DEPOSITS = (LegStatus.WAITING, LegStatus.CONFIRMING)


class Crediting:
    """What a transfer to a deposit address means for its leg."""

    def __init__(self, database: Database, ledger: Ledger, rows: AccountRows) -> None:
        self._database = database
        self._ledger = ledger
        self._rows = rows

    def credit(self, transfer: Transfer, at: Moment, deposit: str | None = None) -> None:
        """A transfer reached a deposit address. Without the right tag nobody is credited.

        ``deposit`` tells several payments of one transaction apart.
        """
        row = self._rows.by_deposit(transfer.chain, transfer.receiver, transfer.tag)
        if row is None or row["token_in"] != transfer.token:
            return
        chain = chains_by_name()[transfer.chain]
        due = self._ledger.due(transfer, chain.confirmations)
        late = row["status"] not in _TAKES_DEPOSITS or (
            row["status"] == LegStatus.WAITING and row["expires"] <= at.now
        )
        self._database.connection.execute(
            "INSERT INTO deposits (id, account, units, late, due_world, due_now, chain, height)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                deposit or transfer.hash,
                row["id"],
                str(transfer.units),
                late,
                due.world if late else None,
                due.now if late else None,
                transfer.chain,
                transfer.height if transfer.chain in self._ledger.embedded else None,
            ),
        )
        if late:
            if row["deposit_hash"] is None:
                self._rows.change(row, deposit_hash=transfer.hash, included=transfer.height)
            return
        self._rows.settle(
            row,
            status=LegStatus.CONFIRMING,
            deposit_hash=row["deposit_hash"] or transfer.hash,
            included=transfer.height,
            due_world=due.world,
            due_now=due.now,
        )

    def vanished(self, row: sqlite3.Row, deposit: sqlite3.Row) -> None:
        """A deposit that did not count yet is in no block any more."""
        self._rows.drop_deposit(deposit)
        if deposit["late"]:
            if row["status"] not in _TAKES_DEPOSITS:
                self._rows.change(row, deposit_hash=None, included=None)
            return
        left = self._rows.deposits_in_time(row["id"])
        if row["status"] != LegStatus.CONFIRMING:
            return
        if left:
            self._rows.change(row, deposit_hash=left[0].partition("#")[0])
        else:
            self._rows.settle(
                row,
                status=LegStatus.WAITING,
                deposit_hash=None,
                included=None,
                due_now=row["expires"],
            )

"""Nodes of chains that do not answer: which calls they take with them."""

from __future__ import annotations

import sqlite3

from swapdesk.sandbox.node.account_rows import AccountRows
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.ledger import Ledger, LedgerRefusal
from swapdesk.sandbox.node.params import (
    AccountOf,
    BalanceOf,
    FaucetPay,
    FaultAdd,
    OpenLeg,
    TransferOf,
)
from swapdesk.sandbox.world import chains_by_name, world_tokens
from swapdesk.wire.model import RequestModel


class NodeDown(Exception):
    """The node of a chain does not answer; nothing happened."""


class Outages:
    """The chains whose nodes are down, kept on disk beside the faults of legs."""

    def __init__(self, database: Database, ledger: Ledger, rows: AccountRows) -> None:
        self._database = database
        self._ledger = ledger
        self._rows = rows

    def add(self, fault: FaultAdd) -> None:
        """Raises LedgerRefusal for a chain there is not."""
        if fault.chain not in chains_by_name():
            raise LedgerRefusal("there is no such chain")
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO faults (fault, chain, times) VALUES (?, ?, ?)",
                (fault.fault, fault.chain, fault.times),
            )

    def down(self) -> frozenset[str]:
        """Chains that are down now."""
        return frozenset(row["chain"] for row in self._rows_down())

    def meet(self, params: RequestModel) -> None:
        """Raise NodeDown when a call needs a node that is down; a counted outage is used up."""
        down = {row["chain"]: row for row in self._rows_down()}
        if not down:
            return
        for chain in self._chains_of(params):
            row = down.get(chain)
            if row is None:
                continue
            if row["times"] is not None:
                with self._database.transaction() as connection:
                    connection.execute(
                        "UPDATE faults SET times = times - 1 WHERE id = ?", (row["id"],)
                    )
                    connection.execute("DELETE FROM faults WHERE times <= 0")
            raise NodeDown(f"the node of {chain} does not answer")

    def _rows_down(self) -> list[sqlite3.Row]:
        query = "SELECT * FROM faults WHERE fault = 'node_down'"
        return self._database.connection.execute(query).fetchall()

    def _chains_of(self, params: RequestModel) -> list[str]:
        """The chains a call reads or moves money on."""
        tokens: list[str] = []
        if isinstance(params, OpenLeg):
            tokens = [params.token_in, params.token_out]
        elif isinstance(params, AccountOf):
            row = self._rows.by_key(params.venue, params.key)
            tokens = [] if row is None else [row["token_in"], row["token_out"]]
        elif isinstance(params, FaucetPay | BalanceOf):
            tokens = [params.token]
        elif isinstance(params, TransferOf):
            transfer = self._ledger.find(params.hash)
            return [] if transfer is None else [transfer.chain]
        world = world_tokens()
        return [world[token].chain.short_name for token in tokens if token in world]

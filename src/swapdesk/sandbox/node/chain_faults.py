"""Faults of the nodes of chains, kept on disk beside those of orders."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import ClassVar, Protocol

from swapdesk.sandbox.chain_rows import EVM_CHAINS
from swapdesk.sandbox.faults import FaultKind
from swapdesk.sandbox.node.account_rows import AccountRows
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.ledger import Ledger, LedgerRefusal
from swapdesk.sandbox.node.params import (
    AccountOf,
    BalanceOf,
    CustomerSend,
    FaucetPay,
    FaultAdd,
    OpenLeg,
    TransferOf,
)
from swapdesk.sandbox.node.solana.terms import CHAIN as SOLANA
from swapdesk.sandbox.world import chains_by_name, world_tokens
from swapdesk.wire.model import RequestModel

EMBEDDED = (*EVM_CHAINS, SOLANA)
"""The chains that the sandbox runs itself, by short name."""


class EmbeddedChains(Protocol):
    """What the node asks of the EVM chains it carries. All raise LedgerRefusal."""

    async def fund(
        self, chain: str, address: str, units: int, token: str | None = None
    ) -> dict[str, object]:
        """Pay coins from the faucet, or the token with this contract; the hash."""

    async def confirmed(self, chain: str, transaction_hash: str) -> None:
        """Wait until a transaction is in a block."""

    async def send(
        self, chain: str, wallet: str, to: str, value: int, data: bytes
    ) -> dict[str, object]:
        """A transaction of one of the sandbox's wallets; the hash."""


@dataclass(frozen=True, eq=False)
class ChainFault(FaultKind):
    """``chains`` are those that it happens to; None: all of them. ``lasts``: without ``times`` it
    does not end until faults are cleared."""

    SHOWN: ClassVar[tuple[str, ...]] = ("chain",)

    selectors: tuple[str, ...] = ("chain",)
    chains: tuple[str, ...] | None = EMBEDDED
    lasts: bool = False


NODE_DOWN = ChainFault(
    "node_down",
    "Calls that need the chain fail. Nothing on it is lost.",
    chains=None,
    lasts=True,
)
FORGED_RECEIPT = ChainFault(
    "forged_receipt",
    "A receipt tells the opposite of what happened.",
    chains=EVM_CHAINS,
)
DROP_TRANSACTION = ChainFault("drop_transaction", "A transaction is taken and forgotten.")

CHAIN_FAULTS = {kind.name: kind for kind in (NODE_DOWN, FORGED_RECEIPT, DROP_TRANSACTION)}


def require_chain(kind: ChainFault, chain: str | None) -> str:
    """The chain, if this can happen to it. Raises LedgerRefusal."""
    known = tuple(chains_by_name()) if kind.chains is None else kind.chains
    if chain in known:
        return str(chain)
    if kind.chains is None:
        raise LedgerRefusal("there is no such chain")
    raise LedgerRefusal(f"only an embedded chain does that: {', '.join(known)}")


class NodeDown(Exception):
    """The node of a chain does not answer; nothing happened."""


class StoredChainFaults:
    """What ``evm.faults.ChainFaults`` asks, answered from the node's database."""

    def __init__(self, database: Database, ledger: Ledger, rows: AccountRows) -> None:
        self._database = database
        self._ledger = ledger
        self._rows = rows

    def add(self, kind: ChainFault, fault: FaultAdd) -> None:
        """Raises LedgerRefusal for a chain to which this does not happen."""
        chain = require_chain(kind, fault.chain)
        times = fault.times if kind.lasts else fault.times or 1
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO faults (fault, chain, times) VALUES (?, ?, ?)",
                (kind.name, chain, times),
            )

    def is_down(self, chain: str) -> bool:
        return self._meets(chain, NODE_DOWN)

    def forges_receipt(self, chain: str) -> bool:
        return self._meets(chain, FORGED_RECEIPT)

    def takes_transaction(self, chain: str) -> bool:
        return self._meets(chain, DROP_TRANSACTION)

    def down(self) -> frozenset[str]:
        """Chains whose nodes are down now."""
        query = "SELECT chain FROM faults WHERE fault = ?"
        rows = self._database.connection.execute(query, (NODE_DOWN.name,))
        return frozenset(row["chain"] for row in rows)

    def meet(self, params: RequestModel) -> None:
        """Raise NodeDown when a call needs a node that is down; a counted outage is used up."""
        if not self.down():
            return
        for chain in self._chains_of(params):
            if self.is_down(chain):
                raise NodeDown(f"the node of {chain} does not answer")

    def _meets(self, chain: str, kind: ChainFault) -> bool:
        query = "SELECT id, times FROM faults WHERE chain = ? AND fault = ? ORDER BY id LIMIT 1"
        row: sqlite3.Row | None = self._database.connection.execute(
            query, (chain, kind.name)
        ).fetchone()
        if row is None:
            return False
        if row["times"] is not None:
            with self._database.transaction() as connection:
                connection.execute("UPDATE faults SET times = times - 1 WHERE id = ?", (row["id"],))
                connection.execute("DELETE FROM faults WHERE times <= 0")
        return True

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
        elif isinstance(params, CustomerSend):
            return [params.chain]
        elif isinstance(params, TransferOf):
            transfer = self._ledger.find(params.hash)
            return [] if transfer is None else [transfer.chain]
        world = world_tokens()
        return [world[token].chain.short_name for token in tokens if token in world]

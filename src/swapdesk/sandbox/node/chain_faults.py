"""Faults of the embedded chains, kept on disk beside the other faults of the node."""

from __future__ import annotations

from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.embedded import chains_with
from swapdesk.sandbox.node.evm.terms import EVM_CHAINS
from swapdesk.sandbox.node.ledger import LedgerRefusal
from swapdesk.sandbox.node.params import FaultAdd


class StoredChainFaults:
    """What ``evm.faults.ChainFaults`` asks, answered from the node's database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, fault: FaultAdd) -> None:
        """Raises LedgerRefusal for a chain to which this does not happen."""
        known = chains_with(fault.fault)
        if fault.chain not in known:
            raise LedgerRefusal(f"only an embedded chain does that: {', '.join(known)}")
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT INTO faults (fault, chain, times) VALUES (?, ?, ?)",
                (fault.fault, fault.chain, fault.times or 1),
            )

    def is_down(self, chain: str) -> bool:
        return self._meets(chain, "node_down")

    def forges_receipt(self, chain: str) -> bool:
        return self._meets(chain, "forged_receipt")

    def takes_transaction(self, chain: str) -> bool:
        return self._meets(chain, "drop_transaction")

    def _meets(self, chain: str, fault: str) -> bool:
        query = "SELECT id, times FROM faults WHERE chain = ? AND fault = ? ORDER BY id LIMIT 1"
        row = self._database.connection.execute(query, (chain, fault)).fetchone()
        if row is None:
            return False
        if row["times"] is not None:
            with self._database.transaction() as connection:
                connection.execute("UPDATE faults SET times = times - 1 WHERE id = ?", (row["id"],))
                connection.execute("DELETE FROM faults WHERE times <= 0")
        return True


def require_embedded(chain: str | None) -> str:
    """Raises LedgerRefusal."""
    if chain not in EVM_CHAINS:
        known = ", ".join(EVM_CHAINS)
        raise LedgerRefusal(f"only an embedded chain does that: {known}")
    return chain

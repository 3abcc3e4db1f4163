"""How the node of a chain misbehaves on demand (interfaces 2)."""

from __future__ import annotations

from swapdesk.sandbox.faults import ActiveFaults

NODE_DOWN, FORGED_RECEIPT, DROP_TRANSACTION = "node_down", "forged_receipt", "drop_transaction"
ENDLESS = 1_000_000
"""So many times come to the same as until faults are cleared."""


class ChainFaults:
    """Asked whenever a fault could happen; an answer of True uses one up."""

    def __init__(self, active: ActiveFaults | None = None) -> None:
        self._active = ActiveFaults() if active is None else active

    def add(self, chain: str, fault: str, times: int = ENDLESS) -> None:
        self._active.set(fault, "chain", chain, times=times)

    def clear(self) -> None:
        self._active.active.clear()

    def down(self) -> frozenset[str]:
        """Chains whose nodes are down now."""
        return frozenset(one.value for one in self._active.active if one.name == NODE_DOWN)

    def meets(self, chain: str, name: str) -> bool:
        """Whether the next request, receipt or transaction of a chain meets a fault."""
        return self._active.take((name,), {("chain", chain)}) is not None

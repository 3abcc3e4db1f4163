"""Which chains the sandbox runs itself, and how their nodes can be made to misbehave."""

from __future__ import annotations

from swapdesk.sandbox.node.evm.terms import EVM_CHAINS
from swapdesk.sandbox.node.solana.terms import CHAIN as SOLANA

_EVM_FAULTS = frozenset({"node_down", "reorg", "forged_receipt", "drop_transaction"})

FAULTS_OF: dict[str, frozenset[str]] = {
    **dict.fromkeys(EVM_CHAINS, _EVM_FAULTS),
    # There is one producer whose blocks are final, so that nothing is reorganised.
    SOLANA: frozenset({"node_down", "drop_transaction"}),
}


def chains_with(fault: str) -> tuple[str, ...]:
    """The embedded chains to which this can happen."""
    return tuple(chain for chain, faults in FAULTS_OF.items() if fault in faults)

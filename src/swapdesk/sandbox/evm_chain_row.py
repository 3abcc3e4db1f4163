"""What the EVM chains of the sandbox have in common."""

from __future__ import annotations

from swapdesk.chain.deployments import SANDBOX_CHAIN_IDS
from swapdesk.sandbox.chain_row import ChainRow


def evm_chain(
    name: str,
    short_name: str,
    chain_id: int,
    explorer: str,
    *,
    block_ms: int,
    confirmations: int,
    first_height: int,
    enabled: bool = True,
) -> ChainRow:
    return ChainRow(
        name,
        short_name,
        "evm",
        block_ms,
        confirmations,
        first_height,
        explorer,
        "address",
        chain_id=SANDBOX_CHAIN_IDS + chain_id,
        enabled=enabled,
    )

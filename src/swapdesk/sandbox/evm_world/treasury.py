"""Gives tokens of the embedded chains away, by real transactions."""

from __future__ import annotations

from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.sandbox.evm_world.parties import TREASURY
from swapdesk.sandbox.node.evm.node import EvmNode


async def give(node: EvmNode, chain: str, token: str, address: str, units: int) -> bytes:
    """Send units of the token with this contract; returns the hash at once. Raises Problem,
    also when the treasury holds less."""
    return await node.account(chain, TREASURY).send(
        bytes.fromhex(token[2:]), payload=TRANSFER.call(address, units)
    )

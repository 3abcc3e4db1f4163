"""A transaction that a venue itself sent: in a block, waiting for one, or as good as never sent."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.chain.rpc.evm_answers import Receipt
from swapdesk.service.venues.onchain.reader import ChainReader


@dataclass(frozen=True)
class OwnTransaction:
    """``receipt`` is None while it waits; ``deep`` counts blocks from its own, of ``needed``."""

    receipt: Receipt | None
    deep: int
    needed: int

    @property
    def final(self) -> Receipt | None:
        """The receipt once it counts."""
        return self.receipt if self.deep >= self.needed else None


async def looked_up(reader: ChainReader, transaction: str) -> OwnTransaction | None:
    """None when the chain does not know it, or it was in vain: then it is sent anew. Raises
    EvmError."""
    needed = reader.place.confirmations
    receipt = await reader.client.receipt(transaction)
    if receipt is None:
        known = await reader.client.transaction(transaction)
        return None if known is None else OwnTransaction(None, 0, needed)
    if not receipt.succeeded:
        return None
    return OwnTransaction(receipt, await reader.client.height() - receipt.block + 1, needed)

"""Letting a venue's contract take the token that is sold: allowances and approvals."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.chain.calldata import erc20
from swapdesk.chain.rpc.evm import Call
from swapdesk.chain.rpc.evm_errors import EvmRefused
from swapdesk.service.venues.onchain.adapter import ApprovalCall, Deal
from swapdesk.service.venues.onchain.reader import ChainReader


@dataclass(frozen=True)
class Spender:
    """The one contract of a venue that takes what its deals sell, the first token of their path.
    Every method raises EvmError."""

    address: str

    async def may_take(self, reader: ChainReader, deal: Deal, owner: str) -> bool:
        """Whether the owner allows it already."""
        allowed = await reader.allowance(deal.plan.path[0], owner, self.address)
        return allowed >= deal.plan.amount

    async def approvals(self, reader: ChainReader, deal: Deal, owner: str) -> list[ApprovalCall]:
        """Approvals of exactly the amount, to be mined in this order; none when enough is allowed.

        A token that refuses to change one allowance into another is set to zero first. Which ones
        do is found out by trying, so that no list of them can be out of date.
        """
        token, amount = deal.plan.path[0], deal.plan.amount
        allowed = await reader.allowance(token, owner, self.address)
        if allowed >= amount:
            return []
        wanted = ApprovalCall(token, erc20.APPROVE.call(self.address, amount))
        if allowed == 0:
            return [wanted]
        try:
            await reader.client.call(Call(token, wanted.data, sender=owner))
        except EvmRefused as refused:
            if not refused.reverted:
                raise
            return [ApprovalCall(token, erc20.APPROVE.call(self.address, 0)), wanted]
        return [wanted]

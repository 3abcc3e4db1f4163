"""Letting a venue's contract take the token that is sold: allowances and approvals."""

from __future__ import annotations

from swapdesk.chain.calldata import erc20
from swapdesk.chain.rpc.evm import Call
from swapdesk.chain.rpc.evm_errors import EvmRefused
from swapdesk.service.venues.onchain.adapter import ApprovalCall
from swapdesk.service.venues.onchain.reader import ChainReader


async def approvals_needed(
    reader: ChainReader, token: str, owner: str, spender: str, amount: int
) -> list[ApprovalCall]:
    """Approvals of exactly ``amount``, to be mined in this order; none when enough is allowed.

    A token that refuses to change one allowance into another is set to zero first. Which ones
    do is found out by trying, so that no list of them can be out of date.
    """
    allowed = await reader.allowance(token, owner, spender)
    if allowed >= amount:
        return []
    wanted = ApprovalCall(token, erc20.APPROVE.call(spender, amount))
    if allowed == 0:
        return [wanted]
    try:
        await reader.client.call(Call(token, wanted.data, sender=owner))
    except EvmRefused as refused:
        if not refused.reverted:
            raise
        return [ApprovalCall(token, erc20.APPROVE.call(spender, 0)), wanted]
    return [wanted]

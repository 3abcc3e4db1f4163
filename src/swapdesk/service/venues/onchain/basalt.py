"""An AMM whose router takes an approval; it also takes and pays the native coin."""

from __future__ import annotations

from datetime import timedelta

from swapdesk.chain.calldata.venues import SWAP_FOR_NATIVE, SWAP_NATIVE, SWAP_TOKENS
from swapdesk.chain.rpc.evm import Call
from swapdesk.service.venues.adapter import Unavailable
from swapdesk.service.venues.onchain.adapter import (
    CALLDATA_SECONDS,
    Deal,
    DexPrice,
    DexQuestion,
    Permission,
    PreparedSwap,
    Progress,
    RouteExecution,
    SwapToPrepare,
)
from swapdesk.service.venues.onchain.hot_wallet import Spender, Unsigned
from swapdesk.service.venues.onchain.pool_venue import (
    PAYS_NOTHING,
    Pools,
    swapped,
    tried,
)
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.tokens import Token


class Basalt(Unsigned):
    """``router`` stands at the same address on every chain."""

    def __init__(self, provider: SwapProvider, router: str, pools: Pools) -> None:
        self.provider = provider
        self._router = router
        self._spender = Spender(router)
        self._pools = pools

    def supports(self, token_in: Token, token_out: Token) -> bool:
        return self.provider.enabled and self._pools.connects(token_in, token_out)

    async def quote(self, question: DexQuestion) -> DexPrice | Unavailable:
        return await self._pools.priced(question, 70_000, 75_000) or PAYS_NOTHING

    async def permission(self, deal: Deal, owner: str, *, by_permit: bool) -> Permission:
        if deal.token_in.address is None:
            return Permission()
        return Permission(await self._spender.approvals(self._pools.reader(deal), deal, owner))

    async def allowed(self, deal: Deal, owner: str) -> bool:
        if deal.token_in.address is None:
            return True
        return await self._spender.may_take(self._pools.reader(deal), deal, owner)

    async def prepare(self, swap: SwapToPrepare) -> PreparedSwap:
        self.refuse(swap.signatures)
        deal, receiver = swap.deal, swap.receiver
        deadline = swap.now + timedelta(seconds=CALLDATA_SECONDS)
        plan, ends = deal.plan, int(deadline.timestamp())
        path = list(plan.path)
        value = 0
        if deal.token_in.address is None:
            value = plan.amount
            data = SWAP_NATIVE.call(plan.least, path, receiver, ends)
        elif deal.token_out.address is None:
            data = SWAP_FOR_NATIVE.call(plan.amount, plan.least, path, receiver, ends)
        else:
            data = SWAP_TOKENS.call(plan.amount, plan.least, path, receiver, ends)
        call = Call(self._router, data, sender=swap.owner, value=value)
        return PreparedSwap(
            await tried(self._pools.reader(deal), call, deadline=deadline, slippage=plan.slippage)
        )

    async def progress(self, execution: RouteExecution) -> Progress:
        return await swapped(self._pools.reader(execution.deal), execution)

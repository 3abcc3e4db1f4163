"""An AMM whose router takes an approval; it also takes and pays the native coin."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

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
    Pools,
    planned,
    swapped,
    tried,
)
from swapdesk.service.venues.onchain.reader import OnchainReader
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.tokens import Token

_GAS, _GAS_A_HOP = 70_000, 75_000
_MINUTES = Decimal("0.5")


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
        view, path = await self._pools.best(question.token_in, question.token_out, question.amount)
        if path is None:
            return Unavailable("the pools pay nothing for this amount")
        gas = _GAS + _GAS_A_HOP * path.hops
        return DexPrice(
            planned(question, path),
            minutes=_MINUTES,
            impact=path.impact,
            gas=gas,
            gas_wei=gas * (view.fees.base_fee + view.fees.priority),
            needs_permission=question.token_in.address is not None,
        )

    async def permission(self, deal: Deal, owner: str, *, by_permit: bool) -> Permission:
        if deal.token_in.address is None:
            return Permission()
        return Permission(await self._spender.approvals(self._reader(deal), deal, owner))

    async def allowed(self, deal: Deal, owner: str) -> bool:
        if deal.token_in.address is None:
            return True
        return await self._spender.may_take(self._reader(deal), deal, owner)

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
            await tried(self._reader(deal), call, deadline=deadline, slippage=plan.slippage)
        )

    async def progress(self, execution: RouteExecution) -> Progress:
        return await swapped(self._reader(execution.deal), execution)

    def _reader(self, deal: Deal) -> OnchainReader:
        return self._pools.reader(deal.token_in.chain_data.short_name)

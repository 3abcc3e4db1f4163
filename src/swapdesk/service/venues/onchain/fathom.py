"""An AMM whose router takes an EIP-2612 permit with the swap, or an approval before it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from swapdesk.chain.calldata.venues import SWAP_WITH_PERMIT
from swapdesk.chain.rpc.evm import Call
from swapdesk.chain.typed_data import Document
from swapdesk.service.venues.adapter import Unavailable
from swapdesk.service.venues.onchain.adapter import (
    CALLDATA_SECONDS,
    Deal,
    DexPrice,
    DexQuestion,
    DexRefused,
    Permission,
    PreparedSwap,
    Progress,
    RouteExecution,
    SwapToPrepare,
)
from swapdesk.service.venues.onchain.documents import (
    NO_SIGNATURE,
    DocumentSignature,
    Permits,
    requirement,
    signed_by,
)
from swapdesk.service.venues.onchain.hot_wallet import Spender
from swapdesk.service.venues.onchain.pool_venue import (
    PAYS_NOTHING,
    Pools,
    swapped,
    tried,
)
from swapdesk.wire.dex import GivenSignature, SignatureRequirement
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.tokens import Token

KEY = "permit"


class Fathom:
    """Trades tokens with contracts only. ``permits`` by chain."""

    def __init__(
        self, provider: SwapProvider, router: str, pools: Pools, permits: dict[str, Permits]
    ) -> None:
        self.provider = provider
        self._router = router
        self._spender = Spender(router)
        self._pools = pools
        self._permits = permits

    def supports(self, token_in: Token, token_out: Token) -> bool:
        return (
            self.provider.enabled
            and token_in.address is not None
            and token_out.address is not None
            and self._pools.connects(token_in, token_out)
        )

    async def quote(self, question: DexQuestion) -> DexPrice | Unavailable:
        price = await self._pools.priced(question, 120_000, 75_000)
        if price is None:
            return PAYS_NOTHING
        domain = await self._permits_of(question.token_in).domain(price.plan.path[0])
        return replace(price, by_signature=domain is not None)

    async def permission(self, deal: Deal, owner: str, *, by_permit: bool) -> Permission:
        if await self.allowed(deal, owner):
            return Permission()
        document = await self._document(deal, owner) if by_permit else None
        if document is not None:
            return Permission(signatures=[requirement(document, KEY)])
        return Permission(await self._spender.approvals(self._pools.reader(deal), deal, owner))

    async def allowed(self, deal: Deal, owner: str) -> bool:
        return await self._spender.may_take(self._pools.reader(deal), deal, owner)

    async def next_signature(
        self, deal: Deal, owner: str, given: GivenSignature, step: int
    ) -> list[SignatureRequirement]:
        raise DexRefused("the permit of this route stands alone", "signatureKey")

    async def prepare(self, swap: SwapToPrepare) -> PreparedSwap:
        deal, owner = swap.deal, swap.owner
        permit = await self._permit(deal, owner, swap.signatures)
        deadline = swap.now + timedelta(seconds=CALLDATA_SECONDS)
        plan = deal.plan
        data = SWAP_WITH_PERMIT.call(
            plan.amount,
            plan.least,
            list(plan.path),
            swap.receiver,
            int(deadline.timestamp()),
            deal.signed_until,
            permit.v,
            permit.r,
            permit.s,
        )
        call = Call(self._router, data, sender=owner)
        return PreparedSwap(
            await tried(self._pools.reader(deal), call, deadline=deadline, slippage=plan.slippage)
        )

    async def progress(self, execution: RouteExecution) -> Progress:
        return await swapped(self._pools.reader(execution.deal), execution)

    async def _permit(
        self, deal: Deal, owner: str, signatures: Sequence[GivenSignature]
    ) -> DocumentSignature:
        """The permit that was given; an empty one where an allowance stands already."""
        if not signatures:
            if await self.allowed(deal, owner):
                return NO_SIGNATURE
            raise DexRefused("is required: the permit, or an approval that is mined", "signatures")
        (given, *others) = signatures
        if others or given.key != KEY:
            raise DexRefused("must be the one permit that was asked for", "signatures")
        document = await self._document(deal, owner)
        if document is None:
            raise DexRefused("this token takes no permits", "signatures")
        permit = signed_by(document, given.signature, owner)
        if permit is None:
            raise DexRefused("is no permit of this owner for this quote", "signatures")
        return permit

    async def _document(self, deal: Deal, owner: str) -> Document | None:
        return await self._permits_of(deal.token_in).document(
            deal.plan.path[0], owner, self._router, deal.plan.amount, deal.signed_until
        )

    def _permits_of(self, token: Token) -> Permits:
        return self._permits[token.chain_data.short_name]

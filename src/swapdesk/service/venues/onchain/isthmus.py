"""An intent venue: the owner signs a permit and an order, the venue's solver settles it.

The chain of signatures has two steps: 0 the permit for the settlement contract, 1 the order.
Where an allowance stands already, or none is signed, the order stands alone. A token without
permits is taken by Permit2: the owner approves that once, and then signs one document, a transfer
whose witness the order is. The venue pays nobody but the owner, because the order names its
receiver before the exchange does.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from swapdesk.chain.deployments import PERMIT2
from swapdesk.service.venues.adapter import Unavailable
from swapdesk.service.venues.onchain.adapter import (
    Deal,
    DexPrice,
    DexQuestion,
    DexRefused,
    Execution,
    Permission,
    Plan,
    Prepared,
    Progress,
)
from swapdesk.service.venues.onchain.documents import (
    Document,
    order_document,
    permit2_order_document,
    signed_by,
)
from swapdesk.service.venues.onchain.formula import less
from swapdesk.service.venues.onchain.hot_wallet import HotWallet
from swapdesk.service.venues.onchain.isthmus_order import (
    order_of,
    signed_order,
)
from swapdesk.service.venues.onchain.isthmus_solver import SPREAD, Solver
from swapdesk.service.venues.onchain.permits import Permits
from swapdesk.service.venues.onchain.pool_venue import Pools, planned
from swapdesk.service.venues.onchain.reader import ChainReader
from swapdesk.service.venues.onchain.spending import Spender
from swapdesk.wire.dex import GivenSignature, SignatureRequirement, SignatureType
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.tokens import Token

KEY = "order"
_MINUTES = Decimal("0.7")
_FEE = Decimal("0.1")
"""Percent of what is sold that the solver keeps for its gas."""


class Isthmus:
    """``pools`` are those the solver prices by; it pays from the account of ``solver``."""

    def __init__(
        self,
        provider: SwapProvider,
        settlement: str,
        pools: Pools,
        permits: dict[str, Permits],
        solver: HotWallet,
    ) -> None:
        self.provider = provider
        self._settlement = settlement
        self._pools = pools
        self._permits = permits
        self._spender = Spender(settlement)
        self._permit2 = Spender(PERMIT2)
        self._solver = Solver(settlement, pools, solver)

    def supports(self, token_in: Token, token_out: Token) -> bool:
        return (
            self.provider.enabled
            and token_in.address is not None
            and token_out.address is not None
            and self._pools.connects(token_in, token_out)
        )

    async def quote(self, question: DexQuestion) -> DexPrice | Unavailable:
        fee = question.amount - less(question.amount, _FEE)
        _, path = await self._pools.best(
            question.token_in, question.token_out, question.amount - fee
        )
        if path is None:
            return Unavailable("nobody pays anything for this amount")
        promised = planned(question, path, out=less(path.paid, SPREAD))
        plan = Plan(
            promised.amount,
            promised.out,
            promised.least,
            promised.slippage,
            (path.tokens[0], path.tokens[-1]),
            fee=fee,
        )
        return DexPrice(
            plan,
            minutes=_MINUTES,
            impact=path.impact,
            gas=0,
            needs_permission=True,
            by_signature=True,
            pays_sender_only=True,
        )

    async def permission(self, deal: Deal, owner: str, *, by_permit: bool) -> Permission:
        order = _requirement(self._order_document(deal, owner), SignatureType.SINGLE, 0, 1)
        reader = self._reader(deal)
        if await self._taken(deal, owner):
            return Permission(signatures=[order])
        if not by_permit:
            approvals = await self._spender.approvals(reader, deal, owner)
            return Permission(approvals=approvals, signatures=[order])
        permit = await self._permit_document(deal, owner)
        if permit is not None:
            return Permission(signatures=[_requirement(permit, SignatureType.CHAINED, 0, 2)])
        both = _requirement(self._permit2_document(deal, owner), SignatureType.SINGLE, 0, 1)
        approvals = await self._permit2.approvals(reader, deal, owner)
        return Permission(approvals=approvals, signatures=[both])

    async def allowed(self, deal: Deal, owner: str) -> bool:
        if await self._taken(deal, owner):
            return True
        if await self._permits_of(deal.token_in).domain(deal.plan.path[0]) is not None:
            return False
        return await self._permit2.may_take(self._reader(deal), deal, owner)

    async def next_signature(
        self, deal: Deal, owner: str, given: GivenSignature, step: int
    ) -> list[SignatureRequirement]:
        if given.key != KEY:
            raise DexRefused("is no key of this chain", "previousSignature.key")
        if step != 0:
            raise DexRefused("no step follows this one", "signatureStep")
        permit = await self._permit_document(deal, owner)
        if permit is None or signed_by(permit, given.signature, owner) is None:
            reason = "is no permit of this owner for this quote"
            raise DexRefused(reason, "previousSignature.signature")
        document = self._order_document(deal, owner)
        return [
            _requirement(document, SignatureType.CHAINED, 1, 2, {"permit": given.signature.lower()})
        ]

    async def prepare(
        self,
        deal: Deal,
        owner: str,
        receiver: str,
        signatures: Sequence[GivenSignature],
        now: datetime,
    ) -> Prepared:
        if receiver.lower() != owner.lower():
            raise DexRefused("this route pays nobody but the sender", "addressTo")
        if len(signatures) != 1 or signatures[0].key != KEY:
            raise DexRefused("must be the signature of the last step, alone", "signatures")
        (given,) = signatures
        signature, told = given.signature, (given.swap_required_metadata or {}).get("permit")
        notes = {"orderSignature": signature.lower()}
        if signed_by(self._order_document(deal, owner), signature, owner) is None:
            if signed_by(self._permit2_document(deal, owner), signature, owner) is None:
                raise DexRefused("is no order of this owner for this quote", "signatures")
            notes = {"permit2Signature": signature.lower()}
            if not await self._permit2.may_take(self._reader(deal), deal, owner):
                raise DexRefused("needs an approval for Permit2 that is mined", "signatures")
        elif told is not None:
            permit = await self._permit_document(deal, owner)
            if isinstance(told, str) and permit and signed_by(permit, told, owner):
                notes["permitSignature"] = told
            elif not await self._taken(deal, owner):  # it may have been handed in before
                raise DexRefused("carries no permit of this owner for this quote", "signatures")
        elif not await self._taken(deal, owner):
            raise DexRefused("carries no permit, and nothing is allowed", "signatures")
        await self._solver.require_settleable(deal, signed_order(deal, owner, notes))
        metadata = {
            "offChain": True,
            "router": self._settlement,
            "deadline": str(deal.signed_until),
        }
        return Prepared(metadata, settled_by_venue=True, notes=notes)

    async def progress(self, execution: Execution) -> Progress:
        return await self._solver.progress(execution)

    async def _taken(self, deal: Deal, owner: str) -> bool:
        """Whether the settlement contract may take the tokens without Permit2."""
        return await self._spender.may_take(self._reader(deal), deal, owner)

    def _permit2_document(self, deal: Deal, owner: str) -> Document:
        chain_id = self._reader(deal).place.chain_id
        return permit2_order_document(chain_id, self._settlement, order_of(deal, owner))

    def _order_document(self, deal: Deal, owner: str) -> Document:
        return order_document(self._solver.domain(self._reader(deal)), order_of(deal, owner))

    async def _permit_document(self, deal: Deal, owner: str) -> Document | None:
        return await self._permits_of(deal.token_in).document(
            deal.plan.path[0], owner, self._settlement, deal.plan.amount, deal.signed_until
        )

    def _reader(self, deal: Deal) -> ChainReader:
        return self._pools.reader(deal.token_in.chain_data.short_name)

    def _permits_of(self, token: Token) -> Permits:
        return self._permits[token.chain_data.short_name]


def _requirement(
    document: Document,
    kind: SignatureType,
    step: int,
    total: int,
    metadata: dict[str, Any] | None = None,
) -> SignatureRequirement:
    return SignatureRequirement(
        data=document,
        type=kind,
        total_steps=total,
        step=step,
        is_complete=step + 1 == total,
        key=KEY,
        swap_required_metadata=metadata,
    )

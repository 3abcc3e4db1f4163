"""A venue for signed orders: the owner signs a permit and an order, and the venue's solver settles
the order.

Step 0 is the permit for the settlement contract, step 1 the order. Without a permit only the order
is signed; tokens without permits use Permit2, whose transfer contains the order. The venue pays
only the owner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata.venues import NONCE_USED, SETTLE, SETTLE_WITH_PERMIT2
from swapdesk.chain.deployments import PERMIT2
from swapdesk.chain.rpc.evm import Call, EvmRefused, Log, TransactionReceipt
from swapdesk.chain.typed_data import Document, Domain
from swapdesk.service.venues.adapter import LegReport, Unavailable
from swapdesk.service.venues.onchain.adapter import (
    Deal,
    DexPrice,
    DexQuestion,
    DexRefused,
    Permission,
    Plan,
    PreparedSwap,
    Progress,
    RouteExecution,
    SwapToPrepare,
)
from swapdesk.service.venues.onchain.documents import (
    NO_SIGNATURE,
    DocumentSignature,
    IntentOrder,
    Permits,
    digest_of,
    order_document,
    permit2_order_document,
    read_signature,
    requirement,
    signed_by,
)
from swapdesk.service.venues.onchain.hot_wallet import HotWallet, Spender, looked_up
from swapdesk.service.venues.onchain.pool_venue import Pools, PoolsVenue, planned
from swapdesk.service.venues.onchain.reader import OnchainReader, less
from swapdesk.wire.chains import SwapProvider
from swapdesk.wire.dex import GivenSignature, SignatureRequirement
from swapdesk.wire.encoding.numbers import from_base_units
from swapdesk.wire.orders import LegStatus


class SignedOrder(Struct, frozen=True):
    """An order with its signatures, for the solver. If ``by_permit2`` is True, ``signature`` signs
    a Permit2 transfer that contains the order, otherwise the order itself."""

    order: IntentOrder
    signature: DocumentSignature
    permit: DocumentSignature
    by_permit2: bool = False


def order_of(deal: Deal, owner: str) -> IntentOrder:
    """Returns the order for the owner to sign. The same quote and owner always give the same
    order."""
    owner = checksummed(owner)
    nonce = hashlib.sha256(f"{deal.quote_id} {owner}".encode()).digest()[:16]
    plan = deal.plan
    return IntentOrder(
        owner=owner,
        sell=plan.path[0],
        buy=plan.path[-1],
        receiver=owner,
        sell_amount=plan.amount - plan.fee,
        buy_amount=plan.least,
        fee_amount=plan.fee,
        valid_to=deal.signed_until,
        nonce=int.from_bytes(nonce, "big"),
    )


def signed_order(deal: Deal, owner: str, notes: Mapping[str, str]) -> SignedOrder:
    """Returns the order of a deal with the signatures that are stored in ``notes``. Raises
    ValueError if they are missing."""
    by_permit2 = "permit2Signature" in notes
    named = "permit2Signature" if by_permit2 else "orderSignature"
    signature = read_signature(str(notes.get(named, "")))
    permit_text = notes.get("permitSignature")
    permit = NO_SIGNATURE if permit_text is None else read_signature(str(permit_text))
    if signature is None or permit is None:
        raise ValueError("an order without its signatures")
    return SignedOrder(order_of(deal, owner), signature, permit, by_permit2)


def settle_call(signed: SignedOrder, bought: int, deal: Deal) -> bytes:
    signature, permit = signed.signature, signed.permit
    if signed.by_permit2:
        raw = signature.r + signature.s + bytes([signature.v])
        return SETTLE_WITH_PERMIT2.call(signed.order.words, raw, bought)
    return SETTLE.call(
        signed.order.words,
        (signature.v, signature.r, signature.s),
        (deal.plan.amount, deal.signed_until, permit.v, permit.r, permit.s),
        bought,
    )


DOMAIN_NAME, DOMAIN_VERSION = "Isthmus Settlement", "2"
SPREAD = Decimal("0.05")
"""Percent by which the solver pays less than the pools."""

_TRADE_EVENT = (
    "0x" + keccak(b"Trade(address,address,address,uint256,uint256,uint256,bytes32)").hex()
)


def _exchanging(transaction: str, deep: int = 0, needed: int | None = None) -> LegReport:
    return LegReport(
        LegStatus.EXCHANGING,
        deposit_hash=transaction,
        confirmations=deep,
        confirmations_needed=needed,
        deposit_arrived=deep > 0,
    )


def _bought(receipt: TransactionReceipt, deal: Deal) -> int:
    for log in receipt.logs:
        if log.topics and log.topics[0] == _TRADE_EVENT and len(log.data) == 160:
            return int.from_bytes(log.data[96:128], "big")
    return deal.plan.least


KEY = "order"
_MINUTES = Decimal("0.7")
_FEE = Decimal("0.1")
"""Percent of the sold amount that the solver keeps for its gas."""


class Isthmus(PoolsVenue):
    """The venue for signed orders. ``pools`` give its prices; the wallet ``solver`` submits the
    orders, and the contract settles each only once."""

    def __init__(
        self,
        provider: SwapProvider,
        settlement: str,
        pools: Pools,
        permits: Mapping[str, Permits],
        solver: HotWallet,
    ) -> None:
        super().__init__(provider, settlement, pools, permits)
        self._permit2 = Spender(PERMIT2)
        self._solver = solver

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
        order = requirement(self._order_document(deal, owner), KEY)
        reader = self._pools.reader(deal)
        if await self._taken(deal, owner):
            return Permission(signatures=[order])
        if not by_permit:
            approvals = await self._spender.approvals(reader, deal, owner)
            return Permission(approvals=approvals, signatures=[order])
        permit = await self._permit_document(deal, owner)
        if permit is not None:
            return Permission(signatures=[requirement(permit, KEY, total=2)])
        both = requirement(self._permit2_document(deal, owner), KEY)
        approvals = await self._permit2.approvals(reader, deal, owner)
        return Permission(approvals=approvals, signatures=[both])

    async def allowed(self, deal: Deal, owner: str) -> bool:
        if await self._taken(deal, owner):
            return True
        if await self._permits_of(deal.token_in).domain(deal.plan.path[0]) is not None:
            return False
        return await self._permit2.may_take(self._pools.reader(deal), deal, owner)

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
            requirement(
                document, KEY, step=1, total=2, metadata={"permit": given.signature.lower()}
            )
        ]

    async def prepare(self, swap: SwapToPrepare) -> PreparedSwap:
        deal, owner, signatures = swap.deal, swap.owner, swap.signatures
        if swap.receiver.lower() != owner.lower():
            raise DexRefused("this route pays nobody but the sender", "addressTo")
        if len(signatures) != 1 or signatures[0].key != KEY:
            raise DexRefused("must be the signature of the last step, alone", "signatures")
        (given,) = signatures
        signature, permit_signed = (
            given.signature,
            (given.swap_required_metadata or {}).get("permit"),
        )
        notes = {"orderSignature": signature.lower()}
        if signed_by(self._order_document(deal, owner), signature, owner) is None:
            if signed_by(self._permit2_document(deal, owner), signature, owner) is None:
                raise DexRefused("is no order of this owner for this quote", "signatures")
            notes = {"permit2Signature": signature.lower()}
            if not await self._permit2.may_take(self._pools.reader(deal), deal, owner):
                raise DexRefused("needs an approval for Permit2 that is mined", "signatures")
        elif permit_signed is not None:
            permit = await self._permit_document(deal, owner)
            if (
                isinstance(permit_signed, str)
                and permit
                and signed_by(permit, permit_signed, owner)
            ):
                notes["permitSignature"] = permit_signed
            elif not await self._taken(deal, owner):  # it may have been handed in before
                raise DexRefused("carries no permit of this owner for this quote", "signatures")
        elif not await self._taken(deal, owner):
            raise DexRefused("carries no permit, and nothing is allowed", "signatures")
        await self._require_settleable(deal, signed_order(deal, owner, notes))
        metadata = {
            "offChain": True,
            "router": self._contract,
            "deadline": str(deal.signed_until),
        }
        return PreparedSwap(metadata, settled_by_venue=True, notes=notes)

    async def progress(self, execution: RouteExecution) -> Progress:
        if not execution.confirmed:
            return Progress(LegReport(LegStatus.WAITING))
        reader = self._pools.reader(execution.deal)
        order = signed_order(execution.deal, execution.owner, execution.notes)
        settled = execution.notes.get("settlement")
        if settled is not None:
            report = await self._settled(reader, execution, settled)
            if report is not None:
                return Progress(report)
        if await self._used(reader, order):
            trade = await self._trade(reader, order)
            if trade is None or trade.transaction is None:
                # Taken back by its owner: nothing has moved.
                return Progress(LegReport(LegStatus.FAILED))
            report = await self._settled(reader, execution, trade.transaction)
            waiting = _exchanging(trade.transaction)
            return Progress(report or waiting, {"settlement": trade.transaction})
        if int(execution.now.timestamp()) > order.order.valid_to:
            return Progress(LegReport(LegStatus.FAILED))
        try:
            sent = await self._solver.send(
                reader, self._contract, await self._settle_call(execution.deal, order)
            )
        except EvmRefused as refused:
            if not refused.reverted:
                raise
            # The owner's tokens are gone or nothing is allowed any more.
            return Progress(LegReport(LegStatus.CONFIRMING), {"hindrance": refused.words})
        return Progress(_exchanging(sent), {"settlement": sent})

    async def _settled(
        self, reader: OnchainReader, execution: RouteExecution, transaction: str
    ) -> LegReport | None:
        """Returns a report on an order's settlement; the status is FINISHED once the settlement is
        final. Returns None if the transaction failed or is unknown."""
        sent = await looked_up(reader, transaction)
        if sent is None:
            return None
        if sent.receipt is None:
            return _exchanging(transaction)
        if sent.final is None:
            return _exchanging(transaction, sent.deep, sent.needed)
        deal = execution.deal
        return LegReport(
            LegStatus.FINISHED,
            amount_in=from_base_units(deal.plan.amount, deal.token_in.decimals),
            amount_out=from_base_units(_bought(sent.final, deal), deal.token_out.decimals),
            deposit_hash=transaction,
            payout_hash=transaction,
            confirmations=sent.deep,
            confirmations_needed=sent.needed,
            deposit_arrived=True,
        )

    async def _settle_call(self, deal: Deal, signed: SignedOrder) -> bytes:
        _, path = await self._pools.best(
            deal.token_in, deal.token_out, deal.plan.amount - deal.plan.fee
        )
        now = 0 if path is None else less(path.paid, SPREAD)
        return settle_call(signed, max(now, deal.plan.least), deal)

    async def _used(self, reader: OnchainReader, signed: SignedOrder) -> bool:
        order = signed.order
        (used,) = await reader.numbers([(self._contract, NONCE_USED, (order.owner, order.nonce))])
        return bool(used)

    async def _trade(self, reader: OnchainReader, signed: SignedOrder) -> Log | None:
        digest = digest_of(order_document(self._domain(reader), signed.order))
        owner = "0x" + signed.order.owner[2:].lower().rjust(64, "0")
        trades = await reader.client.logs(
            self._contract, [_TRADE_EVENT, owner, "0x" + digest.hex()]
        )
        return trades[-1] if trades else None

    async def _require_settleable(self, deal: Deal, signed: SignedOrder) -> None:
        data = settle_call(signed, deal.plan.least, deal)
        call = Call(self._contract, data, sender=self._solver.address)
        try:
            await self._pools.reader(deal).client.call(call)
        except EvmRefused as refused:
            raise DexRefused(f"the swap would fail now: {refused.words}") from refused

    async def _taken(self, deal: Deal, owner: str) -> bool:
        return await super().allowed(deal, owner)

    def _domain(self, reader: OnchainReader) -> Domain:
        return Domain(DOMAIN_NAME, DOMAIN_VERSION, reader.place.chain_id, self._contract)

    def _permit2_document(self, deal: Deal, owner: str) -> Document:
        chain_id = self._pools.reader(deal).place.chain_id
        return permit2_order_document(chain_id, self._contract, order_of(deal, owner))

    def _order_document(self, deal: Deal, owner: str) -> Document:
        return order_document(self._domain(self._pools.reader(deal)), order_of(deal, owner))

"""The order of the intent venue as the owner signs it and the solver hands it in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata.venues import SETTLE, SETTLE_WITH_PERMIT2
from swapdesk.service.venues.onchain.adapter import Deal
from swapdesk.service.venues.onchain.documents import (
    NO_SIGNATURE,
    IntentOrder,
    Signature,
    read_signature,
)


@dataclass(frozen=True)
class SignedOrder:
    """What the solver hands in for an order. ``by_permit2``: the signature is that of a transfer
    by Permit2 whose witness the order is."""

    order: IntentOrder
    signature: Signature
    permit: Signature
    by_permit2: bool = False


def order_of(deal: Deal, owner: str) -> IntentOrder:
    """The same for a quote and an owner whenever it is asked for."""
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
    """Out of the notes of an order. Raises ValueError when they hold no signatures."""
    by_permit2 = "permit2Signature" in notes
    named = "permit2Signature" if by_permit2 else "orderSignature"
    signature = read_signature(str(notes.get(named, "")))
    told = notes.get("permitSignature")
    permit = NO_SIGNATURE if told is None else read_signature(str(told))
    if signature is None or permit is None:
        raise ValueError("an order without its signatures")
    return SignedOrder(order_of(deal, owner), signature, permit, by_permit2)


def settle_call(signed: SignedOrder, bought: int, deal: Deal) -> bytes:
    """Calldata that pays ``bought`` units."""
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

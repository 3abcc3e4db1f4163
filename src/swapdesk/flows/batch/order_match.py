"""An order of a group beside the row that asked for it."""

from __future__ import annotations

from swapdesk.flows.creation.order_verification import AMOUNT_TOLERANCE
from swapdesk.wire.multi import MultiOrderRequest
from swapdesk.wire.orders import Order


def differing(asked: MultiOrderRequest, order: Order) -> str | None:
    """The first field in which the order is not what was asked for, in a word; None for none.

    A field that the service leaves out says nothing, but the recipient must be there.
    """
    sent = order.in_token_id or (order.in_token.id if order.in_token is not None else None)
    bought = order.out_token_id or (order.out_token.id if order.out_token is not None else None)
    if sent is not None and sent.lower() != asked.from_.lower():
        return "token sold"
    if bought is not None and bought.lower() != asked.to.lower():
        return "token bought"
    if order.receiver_address is None or not _same(order.receiver_address, asked.address_to):
        return "recipient"
    if "receiver_tag" in order.model_fields_set or order.receiver_tag:
        if (order.receiver_tag or None) != asked.destination_tag:
            return "memo"
    elif asked.destination_tag is not None:
        return "memo"
    if order.anonymous is not None and order.anonymous is not bool(asked.anonymous):
        return "route"
    if order.in_amount is not None:
        near = asked.amount * AMOUNT_TOLERANCE
        if abs(order.in_amount - asked.amount) > near:
            return "amount"
    return None


def _same(one: str, other: str) -> bool:
    """Hexadecimal addresses have no case but for their checksum."""
    if one.startswith("0x") and other.startswith("0x"):
        return one.lower() == other.lower()
    return one == other

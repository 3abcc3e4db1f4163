"""What a code to scan holds for a deposit: a payment link and the plain address.

Made from the frozen token of the intent and the order as released, never from a quote; there
is none unless the order may be paid at this moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from swapdesk.chain.addresses.payments import ChainFacts, payment_uri
from swapdesk.flows.deposits.deposit_phase import DepositPhase, deposit_phase
from swapdesk.flows.orders.payable_amount import amount_to_pay
from swapdesk.flows.orders.tracked_order import TrackedOrder


@dataclass(frozen=True)
class DepositCode:
    """``text`` is exactly what a reader reads. ``holds`` names parts of the payment and whether
    they are in it, the memo by its short word; ``by_hand`` is what the person must enter."""

    name: str
    text: str
    holds: tuple[tuple[str, bool], ...]
    by_hand: tuple[str, ...]


def deposit_codes(tracked: TrackedOrder, now: datetime, memo_word: str) -> tuple[DepositCode, ...]:
    """The payment link first where the chain has one, then the address alone; empty unless the
    deposit may be sent now. ``memo_word`` is the chain's short word: ``tag``, ``memo``."""
    order, intent = tracked.order, tracked.intent
    if deposit_phase(tracked, now) is not DepositPhase.WAITING or intent is None:
        return ()
    payable = amount_to_pay(tracked)
    if order.deposit_address is None or payable is None:
        return ()
    token, address, memo = intent.token_in, order.deposit_address, order.deposit_tag or None
    names = {"token": token.symbol, "amount": "amount", "memo": memo_word}
    link = payment_uri(
        ChainFacts(token.kind, token.chain_id),
        token.contract,
        address,
        payable.exact,
        memo,
        decimals=token.decimals,
        symbol=token.symbol,
    )
    parts = [memo_word] if memo is not None else []
    alone = DepositCode(
        "address only",
        address,
        (*((word, False) for word in parts), ("amount", False), ("address", True)),
        (*parts, "amount"),
    )
    if not link.is_link:
        return (alone,)
    carried = DepositCode(
        "payment link",
        link.text,
        (
            *((word, link.carries_memo) for word in parts),
            ("amount", link.carries_amount),
            ("address", True),
        ),
        tuple(names[part] for part in link.missing),
    )
    return (carried, alone)

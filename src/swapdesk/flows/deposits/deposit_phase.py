"""Decides what the screen shows of an order's deposit: whether it may be paid, the codes to scan,
and where the money is.

The deposit card and the codes follow the same decision. A code contains a payment link or only the
address. It is made from the token that was confirmed with the intent and from the order whose
address may be shown, never from a quote.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from msgspec import Struct

from swapdesk.chain.addresses.payments import payment_link
from swapdesk.flows.failure_messages import IN_WALLET
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.journal.ledger import Operation, State
from swapdesk.flows.notation import countdown
from swapdesk.flows.orders.deposit_destination import amount_to_pay
from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.flows.orders.order_merge import display_of
from swapdesk.flows.orders.order_status import reported_status, short_place, withheld_next
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import waits_for_signature
from swapdesk.wire.orders import DisplayStatus


class DepositPhase(Enum):
    """How much of the deposit the screen shows: everything (WAITING), a folded card once the
    deposit has arrived (SEEN), or no address (EXPIRED, HIDDEN)."""

    WAITING = "waiting"
    SEEN = "seen"
    EXPIRED = "expired"
    HIDDEN = "hidden"


def deposit_phase(tracked: TrackedOrder, now: datetime) -> DepositPhase:
    """Returns how much of the deposit the screen shows. After the deadline, the result is EXPIRED,
    or HIDDEN if the address was withheld for good."""
    state = reported_status(tracked.order, tracked.intent, now=now)
    order = tracked.order
    over = state.level == "expired" or (state.deadline is not None and state.deadline <= now)
    hidden = tracked.withheld is not None and not (over and tracked.being_confirmed)
    if hidden and not state.ended and not deposit_arrived(order):
        return DepositPhase.HIDDEN
    if over:
        return DepositPhase.EXPIRED
    if state.deadline is None or state.ended:
        return DepositPhase.SEEN
    if order.deposit_address is None or order.in_amount is None:
        return DepositPhase.HIDDEN
    return DepositPhase.WAITING


class DepositCode(Struct, frozen=True):
    """A code that the payer can scan. ``holds`` pairs the name of each part of the payment with
    True if the code contains it. The payer types the parts in ``by_hand``."""

    name: str
    text: str
    holds: tuple[tuple[str, bool], ...]
    by_hand: tuple[str, ...]


def deposit_codes(tracked: TrackedOrder, now: datetime, memo_word: str) -> tuple[DepositCode, ...]:
    """Returns scannable codes: of the payment link, if the chain has one, then of the address.
    Empty if the deposit must not be sent now."""
    order, intent = tracked.order, tracked.intent
    if deposit_phase(tracked, now) is not DepositPhase.WAITING or intent is None:
        return ()
    payable = amount_to_pay(tracked)
    if order.deposit_address is None or payable is None:
        return ()
    token, address, memo = intent.token_in, order.deposit_address, order.deposit_tag or None
    link = payment_link(
        token.kind,
        token.chain_id,
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
    if link is None:
        return (alone,)
    carried = DepositCode(
        "payment link",
        link.text,
        (
            *((word, link.memo) for word in parts),
            ("amount", True),
            ("address", True),
        ),
        tuple(word for word in parts if not link.memo),
    )
    return (carried, alone)


URGENT_SECONDS = 120


class DepositMoney(Struct, frozen=True):
    """Where the deposit is, and who acts next. ``urgent`` is True if less than two minutes are left
    to pay."""

    where: str
    next: str
    brief: str
    urgent: bool = False

    @property
    def place(self) -> str:
        return short_place(self.where)


def deposit_money(
    tracked: TrackedOrder, now: datetime, begun: Operation | str | None = None
) -> DepositMoney:
    """Returns where the deposit is and who acts next. ``begun`` is the order's payment in the
    journal, or a sentence if the journal is unavailable. The user must not pay by hand what the
    wallet began to pay."""
    order = tracked.order
    state = reported_status(tracked.order, tracked.intent, now=now)
    waits = display_of(order) == DisplayStatus.WAITING_FOR_DEPOSIT
    if waits and isinstance(begun, Operation) and begun.state is State.DONE:
        seen = {"display_status": DisplayStatus.DEPOSIT_DETECTED.value}
        moving = reported_status(order.model_copy(update=seen), now=now)
        return _said(moving.money, f"{moving.next}", moving.actor)
    if waits and isinstance(begun, Operation) and begun.body["by"] == "wallet":
        where = "in your wallet, or on its way to the deposit address"
        if waits_for_signature(begun):
            where = f"{IN_WALLET}; nothing was signed"
        return _said(where, "you: f opens the payment; do not pay it by hand", "you: f opens it")
    left = (state.deadline - now).total_seconds() if state.deadline is not None else None
    payment = tracked.batch_payment if tracked.standing is DepositRelease.FOREIGN else None
    if payment is not None and waits:
        return _said(payment.money, f"{payment.actor}: {payment.due}", payment.actor)
    if tracked.withheld is not None and not state.ended:
        if not tracked.being_confirmed:
            return _said(state.money, "you: read why the address is hidden", "you: read why")
        if left is None or left > 0:
            actor, due = withheld_next(tracked)
            return _said(state.money, f"{actor}: {due}", actor)
    if state.ended and order.deposit_address is None:
        return _said(state.money, f"{state.next}")
    if state.level == "expired" or (left is not None and left <= 0):
        said = "nobody: do not send to its address any more"
        return _said(state.money, said, "nobody: do not send")
    if left is None:
        return _said(state.money, f"{state.next}", state.actor)
    next_, brief = (f"you: send{what} within {countdown(left)}" for what in (" the deposit", ""))
    return DepositMoney(state.money, next_, brief, urgent=left < URGENT_SECONDS)


def _said(where: str, next_: str, brief: str = "") -> DepositMoney:
    return DepositMoney(where, next_, brief or next_)

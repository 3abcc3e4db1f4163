"""Where the money of a deposit is and who acts next, from the address until it is seen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from swapdesk.flows.intents.deposit_release import DepositRelease
from swapdesk.flows.journal.order_merge import display_of
from swapdesk.flows.notation import countdown
from swapdesk.flows.orders.order_status import reported_status, short_place, withheld_next
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import DisplayStatus

URGENT_SECONDS = 120


@dataclass(frozen=True)
class DepositMoney:
    """``where`` follows the word Funds, ``next`` the word Next: who acts, and how. ``place`` and
    ``brief`` are the same where there is no room for them."""

    where: str
    next: str
    brief: str
    urgent: bool = False

    @property
    def place(self) -> str:
        return short_place(self.where)


def deposit_money(
    tracked: TrackedOrder, now: datetime, *, sent: bool, begun: bool = False
) -> DepositMoney:
    """``sent``: the deposit left the wallet; the service says so only once it has seen it.
    ``begun``: the wallet began to pay it, and nobody is to pay it a second time by hand."""
    order = tracked.order
    state = reported_status(tracked.order, tracked.intent, now=now)
    if sent and display_of(order) == DisplayStatus.WAITING_FOR_DEPOSIT:
        seen = {"display_status": DisplayStatus.DEPOSIT_DETECTED.value}
        moving = reported_status(order.model_copy(update=seen), now=now)
        return _said(moving.money, f"{moving.next}", moving.actor)
    if begun and display_of(order) == DisplayStatus.WAITING_FOR_DEPOSIT:
        where = "in your wallet, or on its way to the deposit address"
        return _said(where, "you: f opens the payment; do not pay it by hand", "you: f opens it")
    left = (state.deadline - now).total_seconds() if state.deadline is not None else None
    payment = tracked.batch_payment if tracked.standing is DepositRelease.FOREIGN else None
    if payment is not None and display_of(order) == DisplayStatus.WAITING_FOR_DEPOSIT:
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

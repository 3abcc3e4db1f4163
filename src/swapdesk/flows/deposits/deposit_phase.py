"""Whether an order's deposit may be shown and sent: the one decision behind card and code."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.flows.orders.order_status import reported_status
from swapdesk.flows.orders.tracked_order import TrackedOrder


class DepositPhase(Enum):
    """Waiting draws everything; seen folds; expired and hidden draw no address at all."""

    WAITING = "waiting"
    SEEN = "seen"
    EXPIRED = "expired"
    HIDDEN = "hidden"


def deposit_phase(tracked: TrackedOrder, now: datetime) -> DepositPhase:
    """Hidden before anything else, where something was refused; expired as soon as the deadline
    is over, also for an order that was never repeated."""
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

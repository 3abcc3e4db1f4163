"""What the journal says of the payment of one order that is a swap on chains."""

from __future__ import annotations

from swapdesk.flows.creation.dex_transaction import NotThisSwap, settled_by_venue, told_by
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.dex_log import DexLog
from swapdesk.flows.journal.folding import display_of
from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.flows.orders.swap_payment import SwapPayment, SwapStage, swap_payment
from swapdesk.wire.orders import DisplayStatus, Order

_CLOSED = frozenset({DisplayStatus.EXPIRED, DisplayStatus.FAILED, DisplayStatus.DELETED})


def read_swap_payment(swaps: DexLog, intent: Intent | None, order: Order) -> SwapPayment | None:
    """None for an order that is no such swap of this desk, or whose transaction the service has
    seen; of one that the service closed only whether it was never signed. Raises
    JournalUnavailable."""
    if intent is None or not order.is_dex or deposit_arrived(order):
        return None
    closed = display_of(order) in _CLOSED
    if not closed and display_of(order) not in (DisplayStatus.WAITING_FOR_DEPOSIT, None):
        return None
    steps = swaps.steps(intent.id)
    if not steps:
        return None
    found = swap_payment(intent, steps, settles=_settles(order), closed=closed)
    unsigned = found is not None and found.at is SwapStage.NOT_SIGNED
    return found if unsigned or not closed else None


def _settles(order: Order) -> bool:
    try:
        return settled_by_venue(told_by(order))
    except NotThisSwap:
        return False

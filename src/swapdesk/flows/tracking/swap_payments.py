"""What the journal says of the payment of one order that is a swap on chains."""

from __future__ import annotations

from swapdesk.flows.creation.dex_transaction import NotThisSwap, settled_by_venue, told_by
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.dex_log import DexLog
from swapdesk.flows.journal.folding import display_of
from swapdesk.flows.orders.swap_payment import SwapPayment, swap_payment
from swapdesk.wire.orders import DisplayStatus, Order


def read_swap_payment(swaps: DexLog, intent: Intent | None, order: Order) -> SwapPayment | None:
    """None for an order that is no such swap of this desk, or whose transaction the service has
    seen. Raises JournalUnavailable."""
    if intent is None or not order.is_dex:
        return None
    if display_of(order) not in (DisplayStatus.WAITING_FOR_DEPOSIT, None):
        return None
    steps = swaps.steps(intent.id)
    return swap_payment(intent, steps, settles=_settles(order)) if steps else None


def _settles(order: Order) -> bool:
    try:
        return settled_by_venue(told_by(order))
    except NotThisSwap:
        return False

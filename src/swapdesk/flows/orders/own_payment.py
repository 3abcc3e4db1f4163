"""An order whose deposit this desk sent, as long as the service has not seen it.

The service says only that it waits, and whoever reads that would pay once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from swapdesk.flows.journal.folding import display_of
from swapdesk.flows.journal.transaction_log import Fate, OrderTransaction, Sender
from swapdesk.flows.orders.deposit_hash import own_payment
from swapdesk.flows.orders.order_summary import NO_TIME, OrderSummary, summarise
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import DisplayStatus

GOES_ON = "; swapdesk fund, or f, sends the same transaction again and no other"
"""Where nobody may be left who sends it again."""


def summarise_paid(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction]
) -> OrderSummary:
    """As ``summarise``, with the transactions of the order."""
    summary, own = summarise(tracked, now), own_payment(made)
    waits = display_of(tracked.order) == DisplayStatus.WAITING_FOR_DEPOSIT
    if own is None or not waits or tracked.withheld is not None:
        return summary
    counts = own.fate is Fate.CONFIRMED
    where = "at the deposit address" if counts else "on its way to the deposit address"
    summary = replace(summary, money=f"{where}, by transaction {own.hash}.", place=f"{where}.")
    if not summary.payable:
        return summary
    again = own.by is Sender.WALLET and not counts
    return replace(
        summary,
        word="Paid by you",
        sentence="This desk sent the deposit; the service has not seen it yet. Do not pay it again",
        level="moving",
        sign="moving",
        actor="the service",
        due=f"it takes note of the deposit{GOES_ON if again else ''}",
        brief="the service",
        by=NO_TIME,
        payable=False,
        urgent=False,
    )

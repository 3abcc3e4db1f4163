"""An order whose deposit this desk sent, as long as the service has not seen it.

The service says only that it waits, and whoever reads that would pay once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from swapdesk.flows.journal.transaction_log import OrderTransaction
from swapdesk.flows.orders.deposit_hash import own_payment
from swapdesk.flows.orders.order_summary import NO_TIME, OrderSummary, short_place, summarise
from swapdesk.flows.orders.tracked_order import TrackedOrder


def summarise_paid(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction]
) -> OrderSummary:
    """As ``summarise``, with the transactions of the order."""
    summary, own = summarise(tracked, now), own_payment(made)
    if own is None or not summary.payable:
        return summary
    money = f"on its way to the deposit address, by transaction {own.hash}."
    return replace(
        summary,
        word="Paid by you",
        sentence="This desk sent the deposit; the service has not seen it yet. Do not pay it again",
        level="moving",
        sign="moving",
        money=money,
        place=short_place("on its way to the deposit address."),
        actor="the service",
        due="it takes note of the deposit",
        brief="the service",
        by=NO_TIME,
        payable=False,
        urgent=False,
    )

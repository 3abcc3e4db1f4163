"""An order whose deposit this desk sent, as long as the service has not seen it.

The service says only that it waits, and whoever reads that would pay once more.
"""

from __future__ import annotations

from dataclasses import replace

from swapdesk.flows.journal.transaction_log import Fate, OrderTransaction, Sender
from swapdesk.flows.orders.order_summary import OrderSummary
from swapdesk.flows.orders.order_words import NO_TIME

GOES_ON = "; swapdesk fund, or f, sends the same transaction again and no other"
"""Where nobody may be left who sends it again."""


def paid_by_desk(summary: OrderSummary, own: OrderTransaction) -> OrderSummary:
    """What is said of an order that waits for the deposit which ``own`` pays."""
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

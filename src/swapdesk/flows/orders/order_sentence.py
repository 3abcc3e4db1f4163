"""One order as a line to be spoken: who sends what for what, how far it is, what comes next.

The tracker and the ``--plain`` form of the commands say the same (screens and commands).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from swapdesk.flows.journal.transaction_log import OrderTransaction
from swapdesk.flows.notation import NOTHING, tracker_amount
from swapdesk.flows.orders.order_account import deposit_doubted
from swapdesk.flows.orders.order_pair import Outcome, unsaid
from swapdesk.flows.orders.order_route import route_of
from swapdesk.flows.orders.order_summary import OrderSummary
from swapdesk.flows.orders.payable_amount import amount_to_pay
from swapdesk.flows.orders.summarising import summarise_paid
from swapdesk.flows.orders.tracked_order import TrackedOrder


def order_sentence(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction] = ()
) -> str:
    """The order as one line to read aloud; ``made`` are its transactions."""
    order, summary = tracked.order, summarise_paid(tracked, now, made)
    state = summary.state
    sent, _ = tracked.symbols
    route = route_of(order)
    stage = f"stage {state.stage + 1} of {len(state.stages)}"
    time = f", {summary.time}" if summary.time not in ("", NOTHING) else ""
    asked = " asked for" if deposit_doubted(order, tracked.intent) else ""
    warning = ""
    if tracked.withheld is not None and not tracked.awaits_address and not summary.ended:
        warning = f" Do not pay: {tracked.withheld.rstrip('.')}."
    return (
        f"Order {order.service_id},"
        f" {sent_amount(tracked, summary)} {sent}{asked}{_becomes(tracked)},"
        f" {route}, {stage}{time}:"
        f" {summary.told}{warning} Money: {summary.money} Next: {next_actor(summary)}."
    )


def _becomes(tracked: TrackedOrder) -> str:
    """`` to 14.52 ETH``, or what it was to be, or what came back."""
    found = tracked.proceeds
    words = {Outcome.MISSED: ", was to be", Outcome.CAME_BACK: ", came back"}
    if unsaid(found):
        return f", the {found.symbol} came back"
    return f"{words.get(found.outcome, ' to')} {tracker_amount(found.amount)} {found.symbol}"


def sent_amount(tracked: TrackedOrder, summary: OrderSummary) -> str:
    """Exact while it is to be paid, short afterwards."""
    pay = amount_to_pay(tracked) if summary.payable else None
    return pay.shown if pay is not None else tracker_amount(tracked.order.in_amount, "pay")


def next_actor(summary: OrderSummary) -> str:
    """Who acts, and how."""
    return f"{summary.actor}: {summary.due}" if summary.due else summary.actor

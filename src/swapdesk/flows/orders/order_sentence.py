"""Writes an order as one line to be read aloud: amounts, progress, meaning, next step.

The tracker's screen and the commands with ``--plain`` use the same line.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from swapdesk.flows.notation import NOTHING, clock_time, day, elapsed, tracker_amount
from swapdesk.flows.orders.deposit_destination import amount_to_pay, asked_only
from swapdesk.flows.orders.order_fields import route_of, unsaid
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.orders.order_transactions import OrderTransaction
from swapdesk.flows.orders.tracked_order import TrackedOrder

_WARNING = "Do not pay"


def order_sentence(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction] = ()
) -> str:
    status = order_status(tracked, now, made)
    text = status.told
    if tracked.withheld is not None and not tracked.awaits_address and not status.ended:
        reason = tracked.withheld.rstrip(".")
        warning = reason if reason.startswith(_WARNING) else f"{_WARNING}: {reason}"
        # The reason may be the cause, and is not repeated then.
        text = text.replace(reason, warning, 1) if reason in text else f"{text} {warning}."
    head = order_head(tracked, status)
    return f"{head}: {text} Money: {status.money} Next {status.next}."


def order_head(tracked: TrackedOrder, status: OrderStatus) -> str:
    order, (sent, _) = tracked.order, tracked.symbols
    route = route_of(order)
    stage = f"stage {status.stage + 1} of {len(status.stages)}"
    time = f", {status.time.text}" if status.time.text != NOTHING else ""
    asked = " asked for" if asked_only(tracked) else ""
    return (
        f"Order {order.service_id},"
        f" {sent_amount(tracked, status)} {sent}{asked}{_becomes(tracked)},"
        f" {route}, {stage}{time}"
    )


def _becomes(tracked: TrackedOrder) -> str:
    result = tracked.proceeds
    if unsaid(result):
        return f", the {result.symbol} came back"
    verb = {"missed": ", was to be", "came back": ", came back"}.get(result.outcome, " to")
    return f"{verb} {tracker_amount(result.amount)} {result.symbol}"


def pair_parts(tracked: TrackedOrder) -> tuple[tuple[str, bool], ...]:
    """Returns ``0.5 BTC → 14.524108 ETH`` in parts, each with True if it is an amount. Without a
    payout, the text says what was expected or what came back."""
    result = tracked.proceeds
    asked = " asked for" if asked_only(tracked) else ""
    paid = (f"{tracker_amount(tracked.order.in_amount, 'pay')} {tracked.symbols[0]}", True)
    if unsaid(result):
        return paid, (f"{asked} → the ", False), (result.symbol, True), (" came back", False)
    verb = {"missed": "was to be ", "came back": "came back "}.get(result.outcome, "")
    amount = f"{tracker_amount(result.amount)} {result.symbol}"
    return paid, (f"{asked} → {verb}", False), (amount, True)


def sent_amount(tracked: TrackedOrder, status: OrderStatus) -> str:
    """Returns the amount to send as text: exact while the deposit is awaited, shortened
    otherwise."""
    pay = amount_to_pay(tracked) if status.payable else None
    return pay.shown if pay is not None else tracker_amount(tracked.order.in_amount, "pay")


def created_words(tracked: TrackedOrder, status: OrderStatus, now: datetime) -> str:
    """Returns when the order was created and how much time it has taken or has left: ``created
    13:21:40 · 41m, 27m over the expected time``."""
    created = tracked.order.created
    parts = []
    if created is not None:
        same_day = created.date() == now.date()
        parts.append(f"created {clock_time(created) if same_day else day(created, now)}")
    if status.late_by is not None and status.elapsed is not None:
        passed = elapsed(status.elapsed.total_seconds()).text
        over = elapsed(status.late_by.total_seconds()).text
        parts.append(f"{passed}, {over} over the expected time")
    elif status.time.text != NOTHING:
        parts.append(status.time.text)
    if status.put_away:
        parts.append("put away")
    if tracked.archived(now):
        parts.append("from the journal")
    return " · ".join(parts)

"""Why an order is where it is, and what helps: cause, money, acts, by.

As far as the service says; where it gives no reason, amount or date, that is the diagnosis.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from swapdesk.flows.journal.folding import display_of
from swapdesk.flows.notation import clock_time, date, duration
from swapdesk.flows.orders.order_case import Case
from swapdesk.flows.orders.order_summary import OrderSummary
from swapdesk.flows.orders.order_words import NO_REFUND_ADDRESS, Certainty
from swapdesk.flows.orders.summarising import summarise
from swapdesk.flows.orders.tracked_order import TrackedOrder

MUCH_LATER = 2
"""From so many times the expected time on, waiting longer is no advice."""


@dataclass(frozen=True)
class Diagnosis:
    """Sentences with their points; ``rule`` names what decided, ``basis`` what was looked at."""

    rule: str
    certainty: Certainty
    cause: str
    money: str
    acts: str
    by: str
    basis: str


_STUCK = frozenset({Case.FAILED_STUCK, Case.DELETED_WITH_MONEY})
"""Where a deposit is with the service, and whoever writes there is asked where it is to go."""


def diagnose(
    tracked: TrackedOrder,
    now: datetime,
    *,
    request_id: str | None = None,
    since: datetime | None = None,
) -> Diagnosis:
    """``request_id`` is that of the create, where this desk made it; ``since`` is when the
    present state was first seen here."""
    summary = summarise(tracked, now)
    state = summary.state
    rule, certainty = str(state.case).replace(" ", "-"), state.account.certainty
    actor, act, by = summary.actor, summary.due, summary.by
    if tracked.withheld is not None and not tracked.awaits_address and not state.ended:
        rule, certainty = f"withheld-{tracked.standing}", Certainty.CERTAIN
    elif tracked.swap_payment is not None and summary.word == tracked.swap_payment.word:
        rule, certainty = tracked.swap_payment.at, Certainty.CERTAIN
    elif state.late_by is not None and state.level == "moving":
        rule, certainty = "late", Certainty.NOT_KNOWN
        by = "the expected time has passed; the service names no other"
        if _much_later(summary):
            actor, act = "you", f"write to support with order {tracked.service_id}"
    if actor == "you" and "support" in act and request_id:
        act = f"{act}, request {request_id}"
    cause = summary.told
    if state.case in _STUCK and tracked.order.refund_address is None:
        cause = f"{cause} {NO_REFUND_ADDRESS}"
    if since is not None and not state.ended:
        cause = f"{cause} Seen so since {_moment(since, now)}."
    return Diagnosis(
        rule=rule,
        certainty=certainty,
        cause=cause,
        money=f"{summary.money[:1].upper()}{summary.money[1:]}",
        acts=f"{actor}: {act}.",
        by=f"{by[:1].upper()}{by[1:]}.",
        basis=_basis(tracked, now),
    )


def _much_later(summary: OrderSummary) -> bool:
    state = summary.state
    if state.elapsed is None or state.expected is None:
        return False
    return state.elapsed >= state.expected * MUCH_LATER


def _basis(tracked: TrackedOrder, now: datetime) -> str:
    """What was looked at, and how old it is."""
    order = tracked.order
    legs = [f"leg state {order.in_status if order.in_status is not None else 'not given'}"]
    if order.anonymous:
        second = order.out_status if order.out_status is not None else "not given"
        legs = [f"leg states {legs[0].removeprefix('leg state ')} and {second}"]
    heard = duration((now - tracked.seen_at).total_seconds())
    state = display_of(order) or "no state"
    return (
        f"What the service said {heard} ago ({state}, {legs[0]}) and the journal of this desk."
        " Chains and other programs were not asked."
    )


def _moment(at: datetime, now: datetime) -> str:
    same = at.date() == now.date()
    return f"{clock_time(at)} UTC" if same else f"{date(at, now)} {clock_time(at)} UTC"

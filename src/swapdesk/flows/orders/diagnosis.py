"""Why an order is where it is, and what helps: cause, money, acts, by.

Its :class:`OrderStatus` in sentences, with what the journal adds. As far as the service says; where
it gives no reason, amount or date, that is the diagnosis.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from swapdesk.flows.notation import clock_time, date, duration
from swapdesk.flows.orders.order_status import Evidence, OrderStatus, order_status
from swapdesk.flows.orders.situations import Certainty
from swapdesk.flows.orders.tracked_order import TrackedOrder

MUCH_LATER = 2
"""From so many times the expected time on, waiting longer is no advice."""

NO_REFUND_ADDRESS = "The order names no address for a refund."


class Diagnosis(Struct, frozen=True):
    """Sentences with their points; ``rule`` names what decided, ``basis`` what was looked at."""

    rule: str
    certainty: Certainty
    cause: str
    money: str
    acts: str
    by: str
    basis: str


def diagnose(
    tracked: TrackedOrder,
    now: datetime,
    *,
    request_id: str | None = None,
    since: datetime | None = None,
) -> Diagnosis:
    """``request_id`` is that of the create, where this desk made it; ``since`` is when the
    present state was first seen here."""
    status = order_status(tracked, now)
    meaning = status.situation.meaning
    rule, actor, act, by = (
        status.situation.code.replace(" ", "-"),
        status.actor,
        status.act,
        status.by,
    )
    if status.late_by is not None and meaning.level == "moving":
        rule, by = "late", "the expected time has passed; the service names no other"
        if _much_later(status):
            actor, act = "you", f"write to support with order {tracked.service_id}"
    if actor == "you" and "support" in act and request_id:
        act = f"{act}, request {request_id}"
    cause = status.told
    if meaning.asks_where and tracked.order.refund_address is None:
        cause = f"{cause} {NO_REFUND_ADDRESS}"
    if since is not None and not status.closed:
        cause = f"{cause} Seen so since {_moment(since, now)}."
    return Diagnosis(
        rule=rule,
        certainty=status.certainty,
        cause=cause,
        money=f"{status.money[:1].upper()}{status.money[1:]}",
        acts=f"{actor}: {act}.",
        by=f"{by[:1].upper()}{by[1:]}.",
        basis=_basis(status.evidence, now),
    )


def _much_later(status: OrderStatus) -> bool:
    if status.elapsed is None or status.expected is None:
        return False
    return status.elapsed >= status.expected * MUCH_LATER


def _basis(evidence: Evidence, now: datetime) -> str:
    """What was looked at, and how old it is."""
    legs = " and ".join(str(leg) if leg is not None else "not given" for leg in evidence.legs)
    states = f"leg state{'s' if len(evidence.legs) > 1 else ''} {legs}"
    seen_at = evidence.seen_at
    heard = f" {duration((now - seen_at).total_seconds())} ago" if seen_at is not None else ""
    return (
        f"What the service said{heard} ({evidence.display or 'no state'}, {states}) and the"
        " journal of this desk. Chains and other programs were not asked."
    )


def _moment(at: datetime, now: datetime) -> str:
    same = at.date() == now.date()
    return f"{clock_time(at)} UTC" if same else f"{date(at, now)} {clock_time(at)} UTC"

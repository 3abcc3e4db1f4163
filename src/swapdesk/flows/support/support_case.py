"""One order as support works on it: what it is, why it is there, and what to write."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from swapdesk.client.stream_events import StreamState
from swapdesk.flows.journal.order_merge import display_of
from swapdesk.flows.journal.transaction_log import OrderTransaction
from swapdesk.flows.orders.order_history import Seen, seen_since
from swapdesk.flows.orders.order_status import OrderStatus
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.diagnosis import DeskFacts, Diagnosis, diagnose, status_for_support
from swapdesk.flows.support.paid_on_chain import PaidOnChain
from swapdesk.flows.support.replies import escalation, reply_to

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

SILENT_SECONDS = 120
"""From so many seconds without an answer on, an open order may stand otherwise than it was last
heard of."""


class SupportCase(Struct, frozen=True):
    tracked: TrackedOrder
    status: OrderStatus
    made: tuple[OrderTransaction, ...]
    seen: tuple[Seen, ...]
    """Every different state that the journal kept, oldest first."""
    request_id: str | None
    diagnosis: Diagnosis
    reply: str
    """To the customer, as it is sent."""
    escalation: str
    """To the service, as it is sent."""


def support_case(
    tracked: TrackedOrder,
    now: datetime,
    *,
    made: Sequence[OrderTransaction],
    seen: Sequence[Seen],
    request_id: str | None,
    payment: PaidOnChain | None = None,
    known: DeskFacts | None = None,
) -> SupportCase:
    """All that is said of an order, from facts alone."""
    found = diagnose(
        tracked,
        now,
        request_id=request_id,
        since=seen_since(seen),
        made=made,
        payment=payment,
        known=known,
    )
    states = [(at, display_of(order) or "no state") for at, _, order in seen]
    return SupportCase(
        tracked=tracked,
        status=status_for_support(tracked, now, made),
        made=tuple(made),
        seen=tuple(seen),
        request_id=request_id,
        diagnosis=found,
        reply=reply_to(tracked, found, now, made=made, payment=payment),
        escalation=escalation(
            tracked, found, now, request_id=request_id, made=made, payment=payment, seen=states
        ),
    )


def case_of(desk: Desk, service_id: str, payment: PaidOnChain | None = None) -> SupportCase | None:
    """The case of an order of this desk's journal. Raises JournalUnavailable."""
    tracked = desk.link.tracker.recall(service_id)
    if tracked is None:
        return None
    journal = desk.journal
    return support_case(
        tracked,
        desk.clock.now(),
        made=journal.transactions.of(service_id),
        seen=journal.orders.events(service_id),
        request_id=journal.create_requests.of(service_id),
        payment=payment,
        known=desk_facts(desk, tracked),
    )


def desk_facts(desk: Desk, tracked: TrackedOrder) -> DeskFacts:
    """What stands in the way of knowing more."""
    link, now = desk.link, desk.clock.now()
    tracker = link.tracker
    offline = tracker.stream_state is StreamState.OFFLINE
    silent = tracker.stream_since if offline and tracker.stream_age() > SILENT_SECONDS else None
    if silent is not None and (now - tracked.seen_at).total_seconds() < SILENT_SECONDS:
        silent = None
    code = tracked.order.in_
    off = next(
        (one.name for one in desk.catalog.providers if one.short_name == code and not one.enabled),
        None,
    )
    return DeskFacts(silent_since=silent, clock_problem=link.clock_problem(), provider_off=off)

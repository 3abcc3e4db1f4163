"""A tracker that follows nothing."""

from __future__ import annotations

import random

from flows.orders import NOW
from swapdesk.background import BackgroundTasks
from swapdesk.client.api import PartnerApi
from swapdesk.client.live import OrderStream
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.order_payments import OrderPayments
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.order_transactions import Source
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.tracking.tracking import Tracker
from swapdesk.wire.orders import Order
from world import FIRST_KEY, URL


def tracker_of(
    journal: Journal,
    clock: ManualClock | None = None,
    *,
    loaded: bool = True,
) -> Tracker:
    """The orders of a journal as a desk that starts now knows them. Nobody is asked."""
    clock = clock or ManualClock(NOW)
    api = PartnerApi(URL, FIRST_KEY, clock=clock)
    stream = OrderStream(None, FIRST_KEY, clock, api, random.Random(2))
    flow = ExchangeFlow(api, journal, clock)
    background = BackgroundTasks(clock)
    tracker = Tracker(journal, api, clock, stream, flow, OrderPayments(journal), background)
    if loaded:
        tracker.load_newest()
    return tracker


def sighted(tracker: Tracker, seen: Order, source: Source = "stream") -> TrackedOrder:
    """An order after one more sighting; of an end also before the journal has it."""
    tracker._apply(seen, source)
    return tracker._newest(seen.service_id)


def announced(tracker: Tracker) -> list[str]:
    """The orders that a look at their payments announces."""
    told: list[frozenset[str]] = []
    tracker.on_change = told.append
    tracker.look_at_payments()
    return [service_id for ids in told for service_id in sorted(ids)]

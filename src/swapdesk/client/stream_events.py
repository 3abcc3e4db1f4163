"""What the order stream tells, and its times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from swapdesk.wire.orders import Order


class StreamState(StrEnum):
    """``live``: subscribed, read up to date, and heard of within 30 s. ``resuming``: being
    connected or read up to date. ``polling``: asked instead of told. ``offline``: neither."""

    LIVE = "live"
    RESUMING = "resuming"
    POLLING = "polling"
    OFFLINE = "offline"


class Source(StrEnum):
    """How an order was seen; all but ``stream`` are answers of the REST API."""

    STREAM = "stream"
    SNAPSHOT = "snapshot"
    POLL = "poll"


@dataclass(frozen=True)
class OrderSeen:
    """One sighting. The same state may be seen often and an older one late."""

    order: Order
    source: Source
    at: datetime


@dataclass(frozen=True)
class OrdersListed:
    """The whole list was read; ``skipped`` orders of it cannot be read (``OrderPage``)."""

    skipped: int


@dataclass(frozen=True)
class OrderMissing:
    """A watched order was answered with 404. Within 48 hours that does not mean it is gone."""

    service_id: str
    at: datetime


@dataclass(frozen=True)
class StateChanged:
    state: StreamState
    since: datetime
    reason: str = ""


@dataclass(frozen=True)
class Gap:
    """Nothing was told between these moments; what follows was read afresh."""

    since: datetime
    until: datetime
    reason: str


StreamEvent = OrderSeen | OrdersListed | OrderMissing | StateChanged | Gap


@dataclass(frozen=True)
class StreamTimes:
    """Seconds. A half-open socket is found after ``ping_every + pong_within``."""

    ping_every: float = 10.0
    pong_within: float = 5.0
    quiet_limit: float = 30.0
    poll_down: float = 10.0
    poll_live: float = 30.0
    open_within: float = 10.0
    acknowledged_within: float = 5.0
    first_jitter: float = 1.0
    backoff_cap: float = 30.0
    steady_after: float = 30.0
    longest_retry_after: float = 300.0

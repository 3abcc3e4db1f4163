"""What the order stream tells, and its times."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from swapdesk.wire.encoding.timestamps import LONGEST_HOLD
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


class OrderSeen(Struct, frozen=True):
    """One sighting. The same state may be seen often and an older one late."""

    order: Order
    source: Source


class OrdersListed(Struct, frozen=True):
    """The whole list was read; ``skipped`` orders of it cannot be read (``OrderPage``)."""

    skipped: int


class OrderMissing(Struct, frozen=True):
    """A watched order was answered with 404. Within 48 hours that does not mean it is gone."""

    service_id: str
    at: datetime


class StateChanged(Struct, frozen=True):
    state: StreamState
    since: datetime


StreamEvent = OrderSeen | OrdersListed | OrderMissing | StateChanged


class StreamTimes(Struct, frozen=True):
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
    longest_retry_after: float = LONGEST_HOLD

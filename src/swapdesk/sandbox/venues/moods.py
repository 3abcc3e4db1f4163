"""When a simulated exchange answers late or not at all: a pure function of sandbox time."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from swapdesk.sandbox.market import noise
from swapdesk.sandbox.venue_rows import VenueRow

SLOW_SECONDS = 30
"""A bad moment of a slow exchange lasts so long; about one in three is bad."""

_SLOW_BELOW = Decimal("-0.34")
_MINUTE = 60
_STEADY = Decimal("0.25")


def closed(venue: VenueRow, at: datetime) -> bool:
    """Whether the exchange takes no questions and no orders for the moment."""
    outage = venue.outage
    if outage is None:
        return False
    minute = int(at.timestamp()) // _MINUTE
    return (minute - outage.first) % outage.every < outage.minutes


def latency_of(seed: int, venue: VenueRow, at: datetime) -> float:
    """Seconds until a question asked now is answered: about the usual, or slow at times."""
    moment = int(at.timestamp()) // SLOW_SECONDS
    swing = noise(seed, venue.code, "latency", moment)
    if venue.slow is not None and noise(seed, venue.code, "slow", moment) < _SLOW_BELOW:
        shortest, longest = venue.slow
        return shortest + (longest - shortest) * float((swing + 1) / 2)
    return venue.latency * float(1 + swing * _STEADY)

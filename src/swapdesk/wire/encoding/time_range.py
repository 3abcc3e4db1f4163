"""The range of times that this program computes with, and HTTP dates.

This is a separate module because the token search needs it before any model is loaded.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
"""The latest time that this program computes with, so that adding to a time cannot overflow."""


def within_range(moment: datetime) -> datetime:
    """Returns ``moment``, or the nearer of ``EARLIEST`` and ``LATEST`` if it is outside them."""
    return moment if EARLIEST <= moment <= LATEST else min(max(moment, EARLIEST), LATEST)


def http_date(text: str) -> datetime:
    """Reads an HTTP date in any of its three forms as UTC. Raises ValueError."""
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError):
        raise ValueError("is no date of HTTP") from None

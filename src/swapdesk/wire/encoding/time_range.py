"""The range of times that are computed with, and dates of HTTP. A module of its own, since the
search of tokens loads it before any model."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
"""A time outside is no time of a quote, an order or a token. Close to the ends of the calendar
adding a second raises OverflowError."""


def within_range(moment: datetime) -> datetime:
    """``moment``, or the nearer end of the range: still "long ago" or "never"."""
    return moment if EARLIEST <= moment <= LATEST else min(max(moment, EARLIEST), LATEST)


def http_date(text: str) -> datetime:
    """An aware UTC time from a date in any of the three forms of HTTP; UTC without a zone. Raises
    ValueError."""
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, TypeError):
        raise ValueError("is no date of HTTP") from None

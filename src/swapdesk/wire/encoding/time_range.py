"""The range of times that are counted with.

A module of its own, since the search of tokens loads it before any model.
"""

from __future__ import annotations

from datetime import UTC, datetime

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
"""What lies outside is no time of a quote, an order or a token. Close to the ends of the calendar
adding a second raises OverflowError."""


def within_range(moment: datetime) -> datetime:
    """``moment``, or the end of the range that it lies beyond: still "long ago" or "never"."""
    return moment if EARLIEST <= moment <= LATEST else min(max(moment, EARLIEST), LATEST)

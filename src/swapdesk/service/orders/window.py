"""For how long an order can be seen through the API (contract 8.18)."""

from __future__ import annotations

from datetime import datetime, timedelta

WINDOW = timedelta(hours=48)


def visible(created: datetime, now: datetime) -> bool:
    """True up to and including exactly 48 hours after creation."""
    return now - created <= WINDOW


def window_start(now: datetime) -> datetime:
    """The oldest creation time that is still visible."""
    return now - WINDOW

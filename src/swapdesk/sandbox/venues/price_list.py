"""What one simulated exchange says of its pairs, kept as long as it stands.

Two legs over an intermediary ask one exchange for the same pair with many amounts.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from swapdesk.sandbox.market import Market
from swapdesk.sandbox.venue_rows import VenueRow
from swapdesk.sandbox.venues.pricing import Book, book_of, bucket_of, limits_of, minutes_of
from swapdesk.sandbox.world import WorldToken
from swapdesk.service.venues.adapter import Terms, VenueLimits

Pair = tuple[WorldToken, WorldToken]

KEPT = 1_024
"""Pairs that are remembered of each kind."""


class PriceList:
    """Bounds stand always, the estimate of minutes at a speed, a book for a bucket of time."""

    def __init__(self, row: VenueRow, market: Market) -> None:
        self._row = row
        self._market = market
        self._limits: dict[str, VenueLimits] = {}
        self._minutes: dict[tuple[str, str, Decimal], Decimal] = {}
        self._books: dict[tuple[str, str, Terms], Book] = {}
        self._bucket: datetime | None = None

    def limits(self, token_in: WorldToken) -> VenueLimits:
        """As :func:`limits_of`."""
        known = self._limits.get(token_in.token_id)
        if known is None:
            known = self._limits[token_in.token_id] = limits_of(self._row, token_in)
        return known

    def minutes(self, pair: Pair, speed: Decimal) -> Decimal:
        """As :func:`minutes_of`."""
        key = (pair[0].token_id, pair[1].token_id, speed)
        known = self._minutes.get(key)
        if known is None:
            if len(self._minutes) >= KEPT:
                self._minutes.clear()
            known = self._minutes[key] = minutes_of(self._row, *pair, speed)
        return known

    def book(self, pair: Pair, at: datetime, terms: Terms) -> Book:
        """As :func:`book_of`."""
        bucket = bucket_of(at)
        if bucket != self._bucket or len(self._books) >= KEPT:
            self._bucket = bucket
            self._books.clear()
        key = (pair[0].token_id, pair[1].token_id, terms)
        known = self._books.get(key)
        if known is None:
            known = self._books[key] = book_of(self._market, self._row, *pair, at, terms)
        return known

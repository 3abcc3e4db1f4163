"""Tiers of calls that are paid one by one (contract 14.4)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class PriceTier(StrEnum):
    """What a call costs a caller who pays per request (contract 14.4)."""

    FREE = "free"
    READ = "read"
    STATUS = "status"
    QUOTE = "quote"
    EXCHANGE = "exchange"


PRICES: Mapping[PriceTier, int] = {
    PriceTier.READ: 100,
    PriceTier.QUOTE: 1_000,
    PriceTier.EXCHANGE: 10_000,
    PriceTier.STATUS: 100,
}
"""In the smallest unit of a dollar token with six decimals (contract 14.4)."""
_MOST_TIMES = 10


def most_units(tier: PriceTier) -> int:
    """The most a client pays for one call by default (contract 14.10). A call that is free here
    costs a read at other services."""
    return _MOST_TIMES * PRICES.get(tier, PRICES[PriceTier.READ])

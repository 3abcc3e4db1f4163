"""Prices of calls that are paid one by one (contract 14.4)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class PriceTier(StrEnum):
    """The price class of a call, for callers who pay for each request (contract 14.4)."""

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
"""The price of a call by class, in the smallest unit of a dollar token with six decimals (contract
14.4)."""
_MOST_TIMES = 10


def most_units(tier: PriceTier) -> int:
    """Returns the most that a client pays for one call by default, in the dollar token's smallest
    units (contract 14.10)."""
    return _MOST_TIMES * PRICES.get(tier, PRICES[PriceTier.READ])

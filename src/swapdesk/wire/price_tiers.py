"""Tiers of calls that are paid one by one (contract 14.4)."""

from enum import StrEnum


class PriceTier(StrEnum):
    """What a call costs a caller who pays per request (contract 14.4)."""

    FREE = "free"
    READ = "read"
    STATUS = "status"
    QUOTE = "quote"
    EXCHANGE = "exchange"

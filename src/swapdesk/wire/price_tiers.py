"""Tiers of calls that are paid one by one (wire decisions 2.16)."""

from __future__ import annotations

from enum import StrEnum


class PriceTier(StrEnum):
    """What a call costs a caller who pays per request (wire decisions 2.16)."""

    FREE = "free"
    READ = "read"
    STATUS = "status"
    QUOTE = "quote"
    EXCHANGE = "exchange"

"""Amounts as the screens write them beyond the notation of the flows."""

from __future__ import annotations

from decimal import Decimal

from swapdesk.flows.notation import exact_amount


def trimmed(amount: Decimal) -> str:
    """Every digit that counts: exact, without closing zeros after the point."""
    text = exact_amount(amount)
    return text.rstrip("0").rstrip(".") if "." in text else text

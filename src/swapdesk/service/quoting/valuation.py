"""US dollars: what an amount is worth, and how much of a token one swap may carry."""

from __future__ import annotations

from decimal import Decimal

from swapdesk.wire.encoding.numbers import ROUGH, quantize, short
from swapdesk.wire.tokens import Token

SWAP_CAP_USD = Decimal(400_000)
"""Largest swap on centralized routes (contract 6.5)."""

PRICE_IMPACT = Decimal("0.30")
"""A route that loses more of the dollar value than this is shown and must not be used."""

_USD_DECIMALS = 6


def in_usd(token: Token, amount: Decimal) -> Decimal | None:
    """The value of ``amount``; None where the token has no price."""
    if token.price is None:
        return None
    return short(quantize(ROUGH.multiply(amount, token.price), _USD_DECIMALS, up=False))


def rescaled(usd: Decimal, amount: Decimal, valued: Decimal) -> Decimal:
    """What ``amount`` is worth when ``valued`` of the same token is worth ``usd``."""
    exact = ROUGH.divide(ROUGH.multiply(usd, amount), valued)
    return short(quantize(exact, _USD_DECIMALS, up=False))


def swap_cap(token: Token) -> Decimal | None:
    """The largest amount of the token worth at most 400,000 USD; None without a price."""
    if token.price is None or token.price <= 0:
        return None
    return quantize(ROUGH.divide(SWAP_CAP_USD, token.price), token.decimals, up=False)


def loses_too_much(usd_in: Decimal | None, usd_out: Decimal | None) -> bool:
    """Whether a route is to be filtered for its price impact; never where a price is missing."""
    if usd_in is None or usd_out is None or usd_in <= 0:
        return False
    return usd_out < ROUGH.multiply(usd_in, 1 - PRICE_IMPACT)

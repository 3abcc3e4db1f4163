"""An amount before it is asked for: its digits, and the limits of the pair (contract 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct

from swapdesk.flows.notation import exact_amount
from swapdesk.wire.encoding.numbers import AmountError, as_double, parse_amount, survives_double
from swapdesk.wire.quotes import Limits, PairLimits, RouteType
from swapdesk.wire.tokens import Token

FLOATING_TYPES: tuple[RouteType, ...] = (RouteType.STANDARD, RouteType.PRIVATE)
"""The route types the desk asks quotes for."""


class Bounds(Struct, frozen=True):
    """Smallest and largest amount that some asked route takes; ``largest`` None for no bound."""

    smallest: Decimal
    largest: Decimal | None


def typed_amount(text: str, token: Token) -> Decimal:
    """The amount of ``token`` that a person typed. Raises AmountError."""
    amount = parse_amount(text, decimals=token.decimals, symbol=token.symbol)
    if amount == 0:
        raise AmountError("zero", "Type an amount above 0.", 0)
    return amount


def lost_digits(amount: Decimal) -> str | None:
    """What the service makes of an amount with more digits than it keeps; None where it keeps
    all of them."""
    if survives_double(amount):
        return None
    sent = exact_amount(as_double(amount))
    return f"The service keeps 15 digits. It will receive {sent}."


def bounds_of(
    limits: PairLimits, types: Sequence[RouteType] = FLOATING_TYPES, *, receive: bool = False
) -> Bounds | None:
    """The widest bounds over the route types; None when no type has any.

    ``receive``: of what arrives, where the service states that side (``minOut``, ``maxOut``).
    """
    known = [bucket for bucket in (_bucket(limits, kind) for kind in types) if bucket is not None]
    sides = [(b.min_out, b.max_out) if receive else (b.min, b.max) for b in known]
    smallest = [low for low, _ in sides if low is not None]
    if not known or len(smallest) < len(known):
        return None
    largest = [high for _, high in sides if high is not None]
    return Bounds(min(smallest), max(largest) if len(largest) == len(known) else None)


def outside_limits(
    amount: Decimal,
    symbol: str,
    limits: PairLimits | None,
    types: Sequence[RouteType] = FLOATING_TYPES,
    *,
    receive: bool = False,
) -> str | None:
    """Why no route takes the amount (in reverse: pays it), or None when one may."""
    bounds = bounds_of(limits, types, receive=receive) if limits is not None else None
    if bounds is None:
        return None
    if amount < bounds.smallest:
        nearest = f"The smallest usable amount is {exact_amount(bounds.smallest)} {symbol}."
    elif bounds.largest is not None and amount > bounds.largest:
        nearest = f"The largest usable amount is {exact_amount(bounds.largest)} {symbol}."
    else:
        return None
    verb = "pays" if receive else "takes"
    return f"No route {verb} {exact_amount(amount)} {symbol}. {nearest}"


def _bucket(limits: PairLimits, kind: RouteType) -> Limits | None:
    if kind is RouteType.PRIVATE:
        return limits.private
    return limits.cex if kind is RouteType.STANDARD else limits.dex

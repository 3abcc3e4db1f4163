"""An amount before it is asked for: its digits, and the limits of the pair (contract 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct

from swapdesk.flows.check_line import CheckLine, refused
from swapdesk.flows.notation import exact_amount
from swapdesk.wire.encoding.numbers import AmountError, as_double, parse_amount, survives_double
from swapdesk.wire.pair_limits import Limits, PairLimits
from swapdesk.wire.quotes import RouteType
from swapdesk.wire.tokens import Token

FLOATING_TYPES: tuple[RouteType, ...] = (RouteType.STANDARD, RouteType.PRIVATE)
"""The route types the desk asks quotes for."""


class AmountCheck(Struct, frozen=True):
    """``amount`` is None when the text is none. ``place`` is the 0-based character at fault."""

    amount: Decimal | None
    lines: tuple[CheckLine, ...]
    place: int | None = None

    @property
    def ok(self) -> bool:
        return self.amount is not None and not refused(self.lines)

    @property
    def problem(self) -> str | None:
        """The first refusal as a sentence."""
        return next((line.text for line in self.lines if line.level == "refuse"), None)


class Bounds(Struct, frozen=True):
    """Smallest and largest amount that some asked route takes; ``largest`` None for no bound."""

    smallest: Decimal
    largest: Decimal | None


def check_amount(text: str, token: Token) -> AmountCheck:
    """The amount of ``token`` a person typed, with every reason it cannot or may not be meant."""
    try:
        amount = parse_amount(text, decimals=token.decimals, symbol=token.symbol)
    except AmountError as error:
        return AmountCheck(None, (CheckLine("refuse", error.message),), error.position)
    if amount == 0:
        return AmountCheck(None, (CheckLine("refuse", "Type an amount above 0."),), 0)
    lines: list[CheckLine] = []
    if not survives_double(amount):
        sent = exact_amount(as_double(amount))
        lines.append(CheckLine("note", f"The service keeps 15 digits. It will receive {sent}."))
    return AmountCheck(amount, tuple(lines))


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

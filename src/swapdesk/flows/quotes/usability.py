"""Why a quote of an answer cannot be used (contract 6.7, 6.21).

A net amount above the amount that is paid out is not believed: such a row would stand first
for money that nobody pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal

from swapdesk.flows.notation import exact_amount
from swapdesk.wire.encoding.numbers import ROUGH
from swapdesk.wire.quotes import FilteredReason, Quote, RouteType

TIES = Context(prec=12, rounding=ROUND_HALF_EVEN)
"""Amounts are equal when they are to twelve digits: the service computes in doubles."""

_COMPARED = frozenset(RouteType)
_SHORT = Decimal("0.0001")
_FILTERED: dict[str, str] = {
    FilteredReason.PRICE_IMPACT: "filtered: price impact is too high",
    FilteredReason.DIFFERENT_RECIPIENT: "filtered: it would pay a different recipient",
}


@dataclass(frozen=True)
class Unusable:
    """A reason in words; ``server_says`` marks a text of the service."""

    reason: str
    server_says: bool = False


def problem_of(quote: Quote, amount: Decimal | None, symbol: str) -> Unusable | None:
    """Why it is not ranked, None for a usable one. ``amount`` in ``symbol`` names the bound."""
    if quote.filtered:
        known = _FILTERED.get(quote.filtered_reason or "")
        reason = known or f"filtered: {quote.filtered_reason or 'no reason given'}"
        return Unusable(reason, server_says=known is None)
    if quote.error is not None:
        bound = _missed_bound(quote, amount, symbol)
        if bound is not None:
            return Unusable(bound)
        return Unusable(quote.error or "no reason given", server_says=True)
    if quote.quote_id is None:
        return Unusable("no quote id in the answer")
    if not is_known_kind(quote):
        return Unusable("this desk does not know this kind of route")
    if quote.amount_out is None:
        return Unusable("no amount in the answer")
    net = quote.net_amount_out
    if net is not None and TIES.plus(net) > TIES.plus(quote.amount_out):
        return Unusable("the net amount exceeds what is paid out")
    return None


def is_known_kind(quote: Quote) -> bool:
    """Whether the route is of a type that this desk compares (an open set, contract 6.7)."""
    return quote.type in _COMPARED


def reverse_problem(quote: Quote, receive: Decimal, symbol: str) -> Unusable | None:
    """Why an otherwise usable quote does not answer "receive exactly this much"."""
    if quote.amount_in is None or quote.amount_in <= 0:
        return Unusable("it does not say how much it takes")
    if not quote.fixed:
        return Unusable("its rate is not fixed, so the amount may move")
    net = quote.net_amount_out if quote.net_amount_out is not None else quote.amount_out
    least = ROUGH.multiply(receive, ROUGH.subtract(Decimal(1), _SHORT))
    if net is not None and TIES.plus(net) < TIES.plus(least):
        return Unusable(f"it pays {exact_amount(net)} {symbol}, less than asked for")
    return None


def _missed_bound(quote: Quote, amount: Decimal | None, symbol: str) -> str | None:
    if amount is None:
        return None
    if quote.min is not None and amount < quote.min:
        return f"below minimum: this route takes {exact_amount(quote.min)} {symbol} or more"
    if quote.max is not None and 0 < quote.max < amount:
        return f"above maximum: this route takes {exact_amount(quote.max)} {symbol} or less"
    return None

"""What to send for an order: ``inAmount`` in whole units of the token.

A service that keeps doubles may return more digits than the token has. Noise is taken away
and anything else is rounded up, because a deposit that is too small is not credited.

What is paid, and on which chain, is called as it was confirmed: an order names its token by id,
and the words beside it are not what is compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal

from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.notation import copied_amount, exact_amount
from swapdesk.flows.orders.order_fields import symbols
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.numbers import NumberError, quantize, to_base_units
from swapdesk.wire.orders import Order

NOISE = Decimal("0.000001")
"""How far from a whole unit, in units, an amount still means that unit."""

_WIDE = Context(prec=200)


@dataclass(frozen=True)
class PayableAmount:
    """``exact`` is what to send and to copy, ``shown`` the same grouped for a screen. ``note``
    is a sentence with the amount of the service where that is another one, else None."""

    exact: Decimal
    shown: str
    note: str | None


def payable_amount(
    order: Order, decimals: int | None, symbol: str | None = None
) -> PayableAmount | None:
    """What to send for ``order``, whose token has ``decimals``; as returned when they are not
    known. None while the service names no amount. ``symbol`` stands in the note."""
    amount = order.in_amount
    if amount is None:
        return None
    if decimals is None or _whole(amount, decimals):
        return PayableAmount(amount, exact_amount(amount), None)
    unit = Decimal(1).scaleb(-decimals)
    nearest = amount.quantize(unit, ROUND_HALF_EVEN, context=_WIDE)
    away = abs(_WIDE.subtract(amount, nearest))
    symbol = symbol or symbols(order)[0]
    if nearest > 0 and away <= _WIDE.multiply(unit, NOISE):
        exact, how = nearest, "this is the same amount without the noise"
    else:
        exact, how = quantize(amount, decimals, up=True), "this is rounded up"
    exact = _without_closing_zeros(exact)
    said = copied_amount(amount)
    note = f"The service says {said} {symbol}. {symbol} has {decimals} decimals; {how}."
    return PayableAmount(exact, exact_amount(exact), note)


def amount_to_pay(tracked: TrackedOrder) -> PayableAmount | None:
    """What to send for a tracked order, in units of the token that was confirmed, else of the
    one the order names."""
    token = token_to_pay(tracked)
    if token is None:
        return payable_amount(tracked.order, None)
    return payable_amount(tracked.order, token.decimals, token.symbol)


def token_to_pay(tracked: TrackedOrder) -> TokenFacts | None:
    """The token to send and its chain: what was confirmed, else what the order names."""
    if tracked.intent is not None:
        return tracked.intent.token_in
    token = tracked.order.in_token
    return TokenFacts.of(token) if token is not None else None


def symbol_to_pay(tracked: TrackedOrder) -> str:
    """What the token to send is called."""
    token = token_to_pay(tracked)
    return token.symbol if token is not None else tracked.symbols[0]


def _whole(amount: Decimal, decimals: int) -> bool:
    try:
        to_base_units(amount, decimals)
    except NumberError:
        return False
    return True


def _without_closing_zeros(amount: Decimal) -> Decimal:
    text = f"{amount:f}"
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)

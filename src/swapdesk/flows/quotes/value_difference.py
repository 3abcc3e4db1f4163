"""How much value a route loses, fees included, and how much consent that needs.

Not a price impact: everything between what goes in and what comes out is in it. A price that
is not known is never taken for "no loss".
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.wire.encoding.numbers import ROUGH

DifferenceLevel = Literal["silent", "note", "amber", "typed", "refused"]
"""Loss below 1 % silent, below 3 % a note, below 10 % amber, below 30 % typed, then refused."""

_LADDER: tuple[tuple[Decimal, DifferenceLevel], ...] = (
    (Decimal(30), "refused"),
    (Decimal(10), "typed"),
    (Decimal(3), "amber"),
    (Decimal(1), "note"),
)
_HUNDRED = Decimal(100)
_BELIEVED = Decimal("0.8")
"""Prices of the list may be a day old; a claim this much above them is no matter of age."""


@dataclass(frozen=True)
class ValueDifference:
    """``percent`` is negative for a loss, None when a price is missing. USD where known."""

    percent: Decimal | None
    level: DifferenceLevel
    value_in_usd: Decimal | None = None
    value_out_usd: Decimal | None = None

    @property
    def needs_consent(self) -> bool:
        """An unknown difference is agreed to, a large one is typed."""
        return self.percent is None or self.level in ("typed", "refused")

    @property
    def typed_text(self) -> str | None:
        """What is typed at level ``typed``: the loss in whole percent, as ``12``."""
        if self.percent is None or self.level != "typed":
            return None
        return str(int(-self.percent))


def value_difference(
    amount_in: Decimal,
    price_in: Decimal | None,
    row: RankedQuote,
    *,
    price_out: Decimal | None = None,
) -> ValueDifference:
    """``amountOutUsd`` less fees over ``amountInUsd`` (else amount times price), less one.

    A claim far above what the token's own price makes of the amount received is not believed:
    consent to a loss must not hang on one number of the answer that asks for it.
    """
    quote = row.quote
    value_in = quote.amount_in_usd
    if value_in is None and price_in is not None:
        value_in = ROUGH.multiply(amount_in, price_in)
    value_out = _value_out(row)
    if price_out is not None and value_out is not None:
        by_price = ROUGH.multiply(row.key, price_out)
        if by_price < ROUGH.multiply(value_out, _BELIEVED):
            value_out = by_price
    if value_in is None or value_in <= 0 or value_out is None:
        return ValueDifference(None, "amber", value_in, value_out)
    ratio = ROUGH.divide(value_out, value_in)
    percent = ROUGH.multiply(ROUGH.subtract(ratio, Decimal(1)), _HUNDRED)
    return ValueDifference(percent, _level(-percent), value_in, value_out)


def _level(loss: Decimal) -> DifferenceLevel:
    for bound, level in _LADDER:
        if loss >= bound:
            return level
    return "silent"


def _value_out(row: RankedQuote) -> Decimal | None:
    """USD of what is really received: ``amountOutUsd`` scaled to the net amount."""
    usd, gross = row.quote.amount_out_usd, row.quote.amount_out
    if usd is None or gross is None or gross <= 0 or row.key == gross:
        return usd
    return ROUGH.divide(ROUGH.multiply(usd, row.key), gross)

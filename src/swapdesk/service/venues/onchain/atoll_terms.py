"""What a swap with the maker costs: its margin, and what the user pays the network."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

UNITS = 100_000
"""Compute units of one swap, an account that is opened included."""
MICRO_LAMPORTS = 1_000
"""Offered for each of them."""
SIGNATURES = 2
LAMPORTS_PER_SIGNATURE = 5_000
FEE = SIGNATURES * LAMPORTS_PER_SIGNATURE + UNITS * MICRO_LAMPORTS // 1_000_000
"""Lamports that the user pays, whatever comes of the transaction."""

MARGIN = Fraction(12, 10_000)
"""What the maker keeps of every swap."""
WIDEST = Fraction(30, 10_000)
"""And beside it of the largest one; of smaller ones in proportion."""
MOST_USD = 250_000
"""The maker takes no more risk than this at once."""

SLOT_SECONDS = Decimal("0.4")
"""About how long a block takes; blocks decide, and seconds only tell somebody when."""


@dataclass(frozen=True)
class Offer:
    """``out`` units of the token bought; ``impact`` is the share that the size costs."""

    out: int
    impact: Decimal


def offered(
    amount: int, decimals_in: int, decimals_out: int, price_in: Decimal, price_out: Decimal
) -> Offer | None:
    """What the maker pays for ``amount`` units at these prices in dollars; None for nothing, and
    for more than it takes."""
    worth = Fraction(amount, 10**decimals_in) * Fraction(price_in)
    if worth > MOST_USD:
        return None
    impact = WIDEST * worth / MOST_USD
    out = int(worth * (1 - MARGIN - impact) / Fraction(price_out) * 10**decimals_out)
    if out <= 0:
        return None
    shown = Decimal(impact.numerator) / Decimal(impact.denominator)
    return Offer(out, shown.quantize(Decimal("0.000001")))

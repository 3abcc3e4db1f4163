"""The least that can arrive, and who stands for it; nothing where nobody promised anything.

Source: contract 6.7 (``fixed``, ``validUntil``: the rate is kept until then; every other rate
floats until the deposit is exchanged) and contract 6.6 (``slippage``: a swap on chains pays less
by no more than that, or it fails).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from swapdesk.flows.intents.dex_terms import SLIPPAGE, least_units
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.quotes.quoting import QuoteBoard
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.wire.encoding.numbers import from_base_units, short


class Guarantor(StrEnum):
    """Who keeps less from arriving. ``CHAIN``: what is signed says the least, and the contract
    pays that or swaps nothing; ``SERVICE``: its fixed rate; ``NOBODY``: the rate floats."""

    CHAIN = "chain"
    SERVICE = "service"
    NOBODY = "nobody"


@dataclass(frozen=True)
class Guarantee:
    """``least`` in token units of what is bought, None where nobody promised an amount."""

    by: Guarantor
    least: Decimal | None = None


NONE = Guarantee(Guarantor.NOBODY)


def guaranteed(board: QuoteBoard, row: RankedQuote) -> Guarantee:
    """Of a route that is about to be confirmed."""
    quote = row.quote
    if row.on_chain:
        asked = board.wish.on_chain.slippage
        slippage = SLIPPAGE if asked is None else asked
        return _on_chain(quote.amount_out, slippage, board.token_out.decimals)
    if not quote.fixed:
        return NONE
    return Guarantee(Guarantor.SERVICE, board.amount if board.wish.receive else row.key)


def guaranteed_by(intent: Intent) -> Guarantee:
    """Of what was confirmed."""
    if intent.dex is not None:
        return _on_chain(intent.amount_out, intent.dex.slippage, intent.token_out.decimals)
    if not intent.fixed:
        return NONE
    least = intent.amount_out if intent.receive else intent.net_amount_out
    return Guarantee(Guarantor.SERVICE, least)


def _on_chain(quoted: Decimal | None, slippage: Decimal, decimals: int) -> Guarantee:
    """The same least that the wallet agent is promised."""
    if quoted is None:
        return NONE
    units = least_units(int(Fraction(quoted) * 10**decimals), slippage)
    return Guarantee(Guarantor.CHAIN, short(from_base_units(units, decimals)))

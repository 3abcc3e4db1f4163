"""The least that can arrive, and who stands for it; nothing where nobody promised anything.

Source: contract 6.7 (``fixed``, ``validUntil``: the rate is kept until then; every other rate
floats until the deposit is exchanged) and contract 6.6 (``slippage``: a swap on chains pays less
by no more than that, or it fails).

What the user agreed to get of a floating rate, and whether an order still gives it.

The ``outAmount`` of a floating order is an estimate until the deposit is exchanged. What was
agreed to is the quote as confirmed, or the lower amount that was accepted since. While nothing
is paid, an estimate that fell below that by more than the tolerance takes the address away and
is asked about; one that comes back gives it again. Once a deposit arrived nothing is left to
decide. A fixed rate is a promise and no estimate: ``folding.contradicts``.
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from msgspec import Struct

from swapdesk.flows.intents.intent import (
    RELEASED,
    SLIPPAGE,
    DepositRelease,
    Intent,
    ReleaseVerdict,
    least_units,
)
from swapdesk.flows.journal.order_merge import untouched
from swapdesk.flows.notation import table_amount
from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.numbers import ROUGH, from_base_units, short
from swapdesk.wire.orders import Order

if TYPE_CHECKING:
    from swapdesk.flows.quotes.quoting import QuoteResult
    from swapdesk.flows.quotes.ranking import RankedQuote


class Guarantor(StrEnum):
    """Who keeps less from arriving. ``CHAIN``: what is signed says the least, and the contract
    pays that or swaps nothing; ``SERVICE``: its fixed rate; ``NOBODY``: the rate floats."""

    CHAIN = "chain"
    SERVICE = "service"
    NOBODY = "nobody"


class Guarantee(Struct, frozen=True):
    """``least`` in token units of what is bought, None where nobody promised an amount."""

    by: Guarantor
    least: Decimal | None = None


NONE = Guarantee(Guarantor.NOBODY)


def guaranteed(board: QuoteResult, row: RankedQuote) -> Guarantee:
    """Of a route that is about to be confirmed."""
    quote = row.quote
    if row.on_chain:
        asked = board.wish.slippage
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


LOWER_TOLERANCE = Decimal(1)
"""Percent of the agreed output that may be missing without asking again."""


def agreed_output(intent: Intent, accepted: Decimal | None = None) -> Decimal:
    """In the token received. An order states what is paid out; a quote is confirmed net."""
    return max(intent.amount_out, intent.net_amount_out) if accepted is None else accepted


def lower_by(agreed: Decimal, given: Decimal | None, tolerance: Decimal) -> Decimal | None:
    """Percent that ``given`` lacks; None within the tolerance and where nothing is said."""
    if given is None or agreed <= 0:
        return None
    missing = ROUGH.divide(ROUGH.subtract(agreed, given) * 100, agreed)
    return missing if missing > tolerance else None


def lower(percent: Decimal, *, again: bool = False) -> ReleaseVerdict:
    """The verdict on an order that gives less; ``again``: less than was accepted before."""
    than = "you accepted" if again else "you confirmed"
    return ReleaseVerdict(
        DepositRelease.LOWER,
        f"This order gives {percent:.2f}% less than {than}."
        " The address stays hidden until you accept that.",
    )


def output_now(tracked: TrackedOrder, seen: Order, tolerance: Decimal) -> ReleaseVerdict | None:
    """What the estimate in ``seen`` makes of the standing of ``tracked``; None for no change."""
    intent = tracked.intent
    if intent is None or tracked.standing not in (DepositRelease.RELEASED, DepositRelease.LOWER):
        return None
    if deposit_arrived(seen):
        return RELEASED if tracked.standing is DepositRelease.LOWER else None
    if intent.fixed or seen.out_amount is None or not untouched(seen):
        return None
    percent = lower_by(agreed_output(intent, tracked.accepted), seen.out_amount, tolerance)
    if percent is None:
        return RELEASED if tracked.standing is DepositRelease.LOWER else None
    verdict = lower(percent, again=tracked.accepted is not None)
    return None if tracked.withheld == verdict.withheld else verdict


def moved_output(tracked: TrackedOrder) -> Decimal | None:
    """What was agreed to, where a floating order that waits gives another amount now."""
    intent, order = tracked.intent, tracked.order
    if intent is None or intent.fixed or order.out_amount is None or not untouched(order):
        return None
    agreed = agreed_output(intent, tracked.accepted)
    return agreed if order.out_amount != agreed else None


class LowerOutput(Struct, frozen=True):
    """What a hidden order gives instead of what was agreed to; ``given`` is what is accepted."""

    given: Decimal
    said: tuple[str, ...]


def lower_output(tracked: TrackedOrder | None) -> LowerOutput | None:
    """What the user may accept of an order that gives less; None where that is not the question."""
    if tracked is None or tracked.standing is not DepositRelease.LOWER or tracked.intent is None:
        return None
    given, symbol = tracked.order.out_amount, tracked.intent.token_out.symbol
    if given is None:
        return None
    agreed = agreed_output(tracked.intent, tracked.accepted)
    percent = lower_by(agreed, given, Decimal(0)) or Decimal(0)
    before = "confirmed" if tracked.accepted is None else "accepted"
    return LowerOutput(
        given,
        (
            f"This order gives {table_amount(given)} {symbol}: {percent:.2f}% less than"
            f" the {table_amount(agreed)} {symbol} you {before}.",
            "What you get may still move until the deposit is exchanged.",
        ),
    )

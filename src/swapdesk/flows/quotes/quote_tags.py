"""What is said of a usable route beside its numbers: short words, and what they mean.

``fixed``: the rate cannot move. ``gross``: fees are not in the ranking. ``differs``: net does
not follow from amount and fees. ``pays nothing``: net at or below zero. ``refund address``: one
is required, on every fixed route too (contract 6.12).
``sign``, ``approve``, ``deposit``: how an on-chain route is paid. ``memo``: the deposit carries
one. ``markup``: the route was priced with one. ``region``: not for everyone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from swapdesk.wire.encoding.numbers import ROUGH
from swapdesk.wire.quotes import Quote, RouteType

FeesKind = Literal["in price", "usd", "unknown"]
"""``in price``: the rate holds them; ``usd``: ``feeUsd`` states them; ``unknown``: nothing said."""

RECHECK = Decimal("0.005")
"""Net may differ from amount less fees by this share of the amount."""

MEANINGS: dict[str, str] = {
    "gross": "fees are not in the ranking: the service knows no price",
    "differs": "net does not follow from amount and fees",
    "pays nothing": "fees take all of it",
    "fixed": "the rate cannot move; it needs a refund address",
    "refund address": "this route needs a refund address",
    "sign": "by signature",
    "approve": "one more transaction",
    "deposit": "can be paid by a deposit address",
    "memo": "the deposit carries a memo",
    "markup": "priced with your markup",
    "region": "not offered in every country",
}
_SHORT = {"refund address": "refund", "pays nothing": "pays 0", "differs": "Δ"}
_CONDITIONS = frozenset(("refund address", "memo", "markup", "region"))
"""Of these it tells as much that a route does not have one."""
_SAID_ONCE_FROM = 5


def badges_of(quote: Quote, key: Decimal, *, memo: bool = False) -> tuple[str, ...]:
    """The words for a quote that pays ``key``, most important first."""
    badges: list[str] = []
    if quote.fixed:
        badges.append("fixed")
    if quote.fee_usd is not None and quote.fee_usd > 0 and quote.net_amount_out is not None:
        if quote.net_amount_out == quote.amount_out:
            # No USD price: the service could not take its fee out of the amount.
            badges.append("gross")
        elif not _follows(quote):
            badges.append("differs")
    if key <= 0:
        badges.append("pays nothing")
    if quote.requires_refund_address or quote.fixed:
        badges.append("refund address")
    if quote.type == RouteType.DEX:
        if quote.supports_signatures:
            badges.append("sign")
        elif quote.requires_approval:
            badges.append("approve")
        if quote.deposit_address_supported:
            badges.append("deposit")
    elif memo:
        badges.append("memo")
    if quote.applied_api_markup:
        badges.append("markup")
    if quote.restricted_countries:
        badges.append("region")
    return tuple(badges)


def noted(badges: tuple[str, ...]) -> tuple[str, ...]:
    """The badges that the last column names; a fixed route needs a refund address anyway."""
    return tuple(b for b in badges if not (b == "refund address" and "fixed" in badges))


def note_of(badges: tuple[str, ...], common: frozenset[str] = frozenset()) -> str:
    """The badges as the last column writes them: ``approve`` first, as it costs a transaction;
    ``common`` ones only where they are missing."""
    own = [badge for badge in noted(badges) if badge not in common]
    own.sort(key=lambda badge: badge != "approve")
    missing = [badge for badge in MEANINGS if badge in common & _CONDITIONS - set(badges)]
    return " ".join([meaning_word(one) for one in own] + [f"no {meaning_word(m)}" for m in missing])


def common_badges(rows: Sequence[tuple[str, ...]]) -> frozenset[str]:
    """What at least four of five routes bear, of five or more."""
    if len(rows) < _SAID_ONCE_FROM:
        return frozenset()
    counts = Counter(badge for badges in rows for badge in noted(badges))
    return frozenset(badge for badge, count in counts.items() if 5 * count >= 4 * len(rows))


def meaning_word(badge: str) -> str:
    """The word a badge has in the last column."""
    return _SHORT.get(badge, badge)


def fees_kind(quote: Quote) -> FeesKind:
    """Where the fees of a quote are."""
    if quote.fee_usd is not None:
        return "usd"
    return "in price" if quote.type in (RouteType.STANDARD, RouteType.PRIVATE) else "unknown"


def fee_in_output(quote: Quote) -> Decimal | None:
    """``feeUsd`` in the output token, at the price of this quote; None without a price."""
    return usd_in_output(quote, quote.fee_usd)


def usd_in_output(quote: Quote, value: Decimal | None) -> Decimal | None:
    """A USD amount in the output token, at ``amountOutUsd`` over ``amountOut`` of the quote."""
    out, out_usd = quote.amount_out, quote.amount_out_usd
    if value is None or out is None or out_usd is None or out <= 0 or out_usd <= 0:
        return None
    return ROUGH.divide(ROUGH.multiply(value, out), out_usd)


def _follows(quote: Quote) -> bool:
    """Whether net is amount less fees, within half a percent; True where it cannot be told."""
    fee, out, net = fee_in_output(quote), quote.amount_out, quote.net_amount_out
    if out is None or fee is None or net is None:
        return True
    expected = ROUGH.subtract(out, fee)
    return abs(ROUGH.subtract(net, expected)) <= ROUGH.multiply(abs(out), RECHECK)

"""Which route pays most, and which routes cannot be used and why.

Routes are compared on ``netAmountOut``, else on ``amountOut`` (spec: Quote; wire decisions
2.5). Only usable routes are ranked: a sort over everything would put an errored or filtered
row first. A net amount above the amount that is paid out is not believed: such a row would
stand first for money that nobody pays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Literal

from swapdesk.flows.notation import exact_amount
from swapdesk.wire.encoding.numbers import ROUGH
from swapdesk.wire.quotes import FilteredReason, Quote, RouteType

FeesKind = Literal["in price", "usd", "unknown"]
"""``in price``: the rate holds them; ``usd``: ``feeUsd`` states them; ``unknown``: nothing said."""

_TIES = Context(prec=12, rounding=ROUND_HALF_EVEN)
_CREATED = frozenset({RouteType.STANDARD, RouteType.PRIVATE})
_RECHECK = Decimal("0.005")
_FILTERED: dict[str, str] = {
    FilteredReason.PRICE_IMPACT: "filtered: price impact is too high",
    FilteredReason.DIFFERENT_RECIPIENT: "filtered: it would pay a different recipient",
}


@dataclass(frozen=True)
class RankedQuote:
    """A usable route. ``key`` is what it is ranked on, in the token received.

    ``vs_best_percent`` and ``vs_best_amount`` are 0 for the best row and negative below it;
    the percentage is None when the best pays nothing. Badges: ``fixed``, ``gross`` (fees are
    not in the ranking), ``differs`` (net does not follow from amount and fees), ``pays
    nothing`` (net at or below zero), ``refund address`` (one is required).
    """

    place: int
    quote: Quote
    key: Decimal
    vs_best_percent: Decimal | None
    vs_best_amount: Decimal
    fees_text_kind: FeesKind
    badges: tuple[str, ...]
    expires_at: datetime

    @property
    def quote_id(self) -> str:
        assert self.quote.quote_id is not None  # a row without one is not usable
        return self.quote.quote_id

    @property
    def choosable(self) -> bool:
        """Whether the desk may choose it unasked: it pays something."""
        return self.key > 0

    def expired(self, now: datetime) -> bool:
        return self.expires_at <= now


@dataclass(frozen=True)
class UnusableQuote:
    """A route that is shown and cannot be chosen. ``server_says`` marks text of the service."""

    quote: Quote
    reason: str
    server_says: bool = False


@dataclass(frozen=True)
class Ranking:
    rows: tuple[RankedQuote, ...]
    unusable: tuple[UnusableQuote, ...]

    @property
    def best(self) -> RankedQuote | None:
        return self.rows[0] if self.rows else None

    def best_at(self, now: datetime) -> RankedQuote | None:
        """The best row still valid: it carries the mark once a better one has expired."""
        return next((row for row in self.rows if not row.expired(now)), None)

    def default_at(self, now: datetime) -> RankedQuote | None:
        """The row to stand on: valid and paying something. Never one that pays nothing."""
        return next((r for r in self.rows if r.choosable and not r.expired(now)), None)

    def find(self, quote_id: str) -> RankedQuote | None:
        return next((row for row in self.rows if row.quote.quote_id == quote_id), None)

    def by_time(self) -> tuple[RankedQuote, ...]:
        """The same rows, shortest expected time first; places stay those of the ranking."""
        return tuple(sorted(self.rows, key=lambda row: _time_key(row.quote)))

    def follow(self, chosen: RankedQuote) -> RankedQuote | None:
        """After a refresh: the row of the same quote, else of the same provider and route.

        Private rows name no provider, so only the quote itself is the same row.
        """
        same = self.find(chosen.quote_id)
        if same is not None or chosen.quote.swap is None:
            return same
        wanted = _identity(chosen.quote)
        return next((row for row in self.rows if _identity(row.quote) == wanted), None)


def rank(
    quotes: Sequence[Quote],
    *,
    now: datetime,
    expires: Callable[[Quote], datetime],
    amount: Decimal | None = None,
    symbol_in: str = "",
) -> Ranking:
    """Usable rows by what they pay, best first, and the others with their reason.

    ``expires`` gives the end of a quote on the desk's clock. ``amount`` and ``symbol_in``
    let a reason name the bound that was missed.
    """
    usable: list[tuple[Quote, Decimal, datetime]] = []
    unusable: list[UnusableQuote] = []
    for quote in quotes:
        problem = _problem(quote, amount, symbol_in)
        expires_at = expires(quote)
        if problem is None and expires_at <= now:
            problem = UnusableQuote(quote, "expired: ask again")
        key = comparison_key(quote)
        if problem is None and key is not None:
            usable.append((quote, key, expires_at))
        else:
            unusable.append(problem or UnusableQuote(quote, "no amount in the answer"))
    usable.sort(key=lambda entry: _order(entry[0], entry[1]))
    return Ranking(_placed(usable), tuple(unusable))


def comparison_key(quote: Quote) -> Decimal | None:
    """``netAmountOut``, or ``amountOut`` where there is none (private rows of some services)."""
    return quote.net_amount_out if quote.net_amount_out is not None else quote.amount_out


def former_places(before: Ranking, after: Ranking) -> dict[str, int]:
    """Quote id to former place, for the rows of ``after`` that moved (``3 was 5``)."""
    old = {_identity(row.quote): row.place for row in before.rows if row.quote.swap is not None}
    moved: dict[str, int] = {}
    for row in after.rows:
        place = old.get(_identity(row.quote))
        if place is not None and place != row.place:
            moved[row.quote_id] = place
    return moved


def _problem(quote: Quote, amount: Decimal | None, symbol: str) -> UnusableQuote | None:
    if quote.filtered:
        known = _FILTERED.get(quote.filtered_reason or "")
        reason = known or f"filtered: {quote.filtered_reason or 'no reason given'}"
        return UnusableQuote(quote, reason, server_says=known is None)
    if quote.error is not None:
        bound = _missed_bound(quote, amount, symbol)
        if bound is not None:
            return UnusableQuote(quote, bound)
        return UnusableQuote(quote, quote.error or "no reason given", server_says=True)
    if quote.quote_id is None:
        return UnusableQuote(quote, "no quote id in the answer")
    if quote.type not in _CREATED:
        return UnusableQuote(quote, "this desk does not create orders of this route")
    if quote.amount_out is None:
        return UnusableQuote(quote, "no amount in the answer")
    net = quote.net_amount_out
    if net is not None and _TIES.plus(net) > _TIES.plus(quote.amount_out):
        return UnusableQuote(quote, "the net amount exceeds what is paid out")
    return None


def _missed_bound(quote: Quote, amount: Decimal | None, symbol: str) -> str | None:
    if amount is None:
        return None
    if quote.min is not None and amount < quote.min:
        return f"below minimum: this route takes {exact_amount(quote.min)} {symbol} or more"
    if quote.max is not None and 0 < quote.max < amount:
        return f"above maximum: this route takes {exact_amount(quote.max)} {symbol} or less"
    return None


def _order(quote: Quote, key: Decimal) -> tuple[Decimal, bool, Decimal, bool, str, str]:
    """Equal to 12 digits is a tie: then shorter, then fixed, then the provider's name."""
    return (
        -_TIES.plus(key),
        *_time_key(quote),
        not quote.fixed,
        (quote.swap_name or quote.swap or "").casefold(),
        # Private rows have no name; without a last word their order would follow the answer.
        "" if quote.swap else quote.quote_id or "",
    )


def _time_key(quote: Quote) -> tuple[bool, Decimal]:
    return (quote.duration is None, quote.duration or Decimal(0))


def _identity(quote: Quote) -> tuple[str, str | None, bool]:
    return (quote.type, quote.swap, quote.fixed)


def _placed(usable: Iterable[tuple[Quote, Decimal, datetime]]) -> tuple[RankedQuote, ...]:
    rows: list[RankedQuote] = []
    best: Decimal | None = None
    for place, (quote, key, expires_at) in enumerate(usable, start=1):
        best = key if best is None else best
        # Inside a tie the first may hold a hair less; it is the best all the same.
        below = min(ROUGH.subtract(key, best), Decimal(0))
        rows.append(
            RankedQuote(
                place=place,
                quote=quote,
                key=key,
                vs_best_percent=_share(below, best),
                vs_best_amount=below,
                fees_text_kind=_fees_kind(quote),
                badges=_badges(quote, key),
                expires_at=expires_at,
            )
        )
    return tuple(rows)


def _share(below: Decimal, best: Decimal) -> Decimal | None:
    return ROUGH.multiply(ROUGH.divide(below, best), Decimal(100)) if best > 0 else None


def _fees_kind(quote: Quote) -> FeesKind:
    if quote.fee_usd is not None:
        return "usd"
    return "in price" if quote.type in (RouteType.STANDARD, RouteType.PRIVATE) else "unknown"


def _badges(quote: Quote, key: Decimal) -> tuple[str, ...]:
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
    if quote.requires_refund_address:
        badges.append("refund address")
    return tuple(badges)


def _follows(quote: Quote) -> bool:
    """Whether net is amount less fees, within half a percent; True where it cannot be told."""
    out, out_usd, fee, net = (
        quote.amount_out,
        quote.amount_out_usd,
        quote.fee_usd,
        quote.net_amount_out,
    )
    if out is None or not out_usd or out <= 0 or fee is None or net is None:
        return True
    expected = ROUGH.subtract(out, ROUGH.divide(ROUGH.multiply(fee, out), out_usd))
    return abs(ROUGH.subtract(net, expected)) <= ROUGH.multiply(abs(out), _RECHECK)

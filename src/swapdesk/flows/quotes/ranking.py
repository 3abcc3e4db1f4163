"""Ranks routes by what they pay, and says which routes cannot be used and why.

Routes are compared on ``netAmountOut`` or, if the service states none, on ``amountOut`` (contract
6.8); if the request states the output, on ``amountIn``, lowest first. A net amount above the payout
is not believed (contract 6.7, 6.21). The all-in amount is net less gas or, for a stated output,
what is sent plus gas. Badges are short words beside the numbers of a usable route; ``MEANINGS``
explains them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import ClassVar, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.flows.notation import exact_amount
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.numbers import ROUGH
from swapdesk.wire.quotes import AmountType, FilteredReason, Quote

FeesKind = Literal["in price", "usd", "unknown"]
"""Whether fees are in the price, stated by ``feeUsd``, or unknown."""

RECHECK = Decimal("0.005")
"""The largest unexplained share of the amount before the badge ``differs``."""

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
_SHORT_WORDS = {"refund address": "refund", "pays nothing": "pays 0", "differs": "Δ"}
_CONDITIONS = frozenset(("refund address", "memo", "markup", "region"))
"""Badges for conditions. If most routes have one, a route without it says ``no``."""
_SAID_ONCE_FROM = 5

TIES = Context(prec=12, rounding=ROUND_HALF_EVEN)
"""Rounds amounts to twelve digits before they are compared, because the service computes in binary
doubles."""
_COMPARED = frozenset(RouteType)
_SHORT = Decimal("0.0001")
_NO_END = "it does not say until when its rate is kept"
_FILTERED: dict[str, str] = {
    FilteredReason.PRICE_IMPACT: "filtered: price impact is too high",
    FilteredReason.DIFFERENT_RECIPIENT: "filtered: it would pay a different recipient",
}
ALIKE_SHOWN = 3
FEWEST_LEFT_OUT = 2
"""Fewest rows left out, because the note about them takes one row."""


def badges_of(quote: Quote, key: Decimal, *, memo: bool = False) -> tuple[str, ...]:
    """Returns the badges of a quote, most important first. ``memo`` says that the deposit needs a
    memo."""
    fee, net = quote.fee_usd, quote.net_amount_out
    compared = fee is not None and fee > 0 and net is not None
    # No USD price: the service could not take its fee out of the amount.
    gross = compared and net == quote.amount_out
    on_chain = quote.type == RouteType.DEX
    badges = {
        "fixed": quote.fixed,
        "gross": gross,
        "differs": compared and not gross and not _follows(quote),
        "pays nothing": key <= 0,
        "refund address": quote.requires_refund_address or quote.fixed,
        "sign": on_chain and quote.supports_signatures,
        "approve": on_chain and quote.requires_approval and not quote.supports_signatures,
        "deposit": on_chain and quote.deposit_address_supported,
        "memo": memo and not on_chain,
        "markup": quote.applied_api_markup,
        "region": quote.restricted_countries,
    }
    return tuple(badge for badge, borne in badges.items() if borne)


def noted(badges: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the badges to show in the last column. Beside the badge ``fixed``, the badge ``refund
    address`` is left out because ``fixed`` implies it."""
    return tuple(b for b in badges if not (b == "refund address" and "fixed" in badges))


def note_of(badges: tuple[str, ...], common: frozenset[str] = frozenset()) -> str:
    """Returns the text of the last column for a route's badges, without the badges in
    ``common``."""
    own = [badge for badge in noted(badges) if badge not in common]
    own.sort(key=lambda badge: badge != "approve")
    missing = [badge for badge in MEANINGS if badge in common & _CONDITIONS - set(badges)]
    return " ".join(
        [meaning_word(badge) for badge in own] + [f"no {meaning_word(m)}" for m in missing]
    )


def common_badges(rows: Sequence[tuple[str, ...]]) -> frozenset[str]:
    """Returns the badges that at least four in five routes have; empty for fewer than five
    routes."""
    if len(rows) < _SAID_ONCE_FROM:
        return frozenset()
    counts = Counter(badge for badges in rows for badge in noted(badges))
    return frozenset(badge for badge, count in counts.items() if 5 * count >= 4 * len(rows))


def meaning_word(badge: str) -> str:
    """Returns the short form of a badge for the last column."""
    return _SHORT_WORDS.get(badge, badge)


def fees_kind(quote: Quote) -> FeesKind:
    if quote.fee_usd is not None:
        return "usd"
    return "in price" if quote.type in (RouteType.STANDARD, RouteType.PRIVATE) else "unknown"


def fee_in_output(quote: Quote) -> Decimal | None:
    """Returns ``feeUsd`` converted to the output token at the quote's own price; None if there is
    no fee or no price."""
    return usd_in_output(quote, quote.fee_usd)


def usd_in_output(quote: Quote, value: Decimal | None) -> Decimal | None:
    """Returns ``value``, an amount in USD, converted to the output token at the quote's own price.
    None if that price is unknown or not above zero."""
    out, out_usd = quote.amount_out, quote.amount_out_usd
    if value is None or out is None or out_usd is None or out <= 0 or out_usd <= 0:
        return None
    return ROUGH.divide(ROUGH.multiply(value, out), out_usd)


def _follows(quote: Quote) -> bool:
    fee, out, net = fee_in_output(quote), quote.amount_out, quote.net_amount_out
    if out is None or fee is None or net is None:
        return True
    expected = ROUGH.subtract(out, fee)
    return abs(ROUGH.subtract(net, expected)) <= ROUGH.multiply(abs(out), RECHECK)


class UnusableQuote(Struct, frozen=True):
    """A route that is shown but cannot be chosen. ``server_says`` is True if the reason is text of
    the service."""

    MERGED: ClassVar = "quote"
    PRINTED: ClassVar = {"reason": "reason", "serverSays": "server_says", "quote": "quote"}

    quote: Quote
    reason: str
    server_says: bool = False


def is_known_kind(quote: Quote) -> bool:
    """Returns whether the desk knows the quote's route type and can compare it. The service may add
    types (contract 6.7)."""
    return quote.type in _COMPARED


def _problem(
    quote: Quote, end: datetime, request: QuoteRequest, now: datetime, *, alone: bool
) -> UnusableQuote | None:
    if quote.filtered:
        reason_in_words = _FILTERED.get(quote.filtered_reason or "")
        reason = reason_in_words or f"filtered: {quote.filtered_reason or 'no reason given'}"
        return UnusableQuote(quote, reason, server_says=reason_in_words is None)
    if quote.error is not None:
        bound = "" if request.receive else _missed_bound(quote, request)
        reason = bound or quote.error or "no reason given"
        return UnusableQuote(quote, reason, server_says=not bound)
    out, taken, paid = quote.amount_out, quote.amount_in, comparison_key(quote) or Decimal(0)
    least = ROUGH.multiply(request.amount, ROUGH.subtract(Decimal(1), _SHORT))
    kept = not (quote.fixed and quote.valid_until is None)
    problems = (
        (quote.quote_id is None, "no quote id in the answer"),
        (not is_known_kind(quote), "this desk does not know this kind of route"),
        (out is None, "no amount in the answer"),
        (
            out is not None and TIES.plus(paid) > TIES.plus(out),
            "the net amount exceeds what is paid out",
        ),
        (not alone, "another quote of this answer has the same id"),
        (request.receive and (taken is None or taken <= 0), "it does not say how much it takes"),
        (request.receive and not quote.fixed, "its rate is not fixed, so the amount may move"),
        (
            request.receive and TIES.plus(paid) < TIES.plus(least),
            f"it pays {exact_amount(paid)} {request.token_out.symbol}, less than asked for",
        ),
        (
            quote.amount_type == (AmountType.SEND if request.receive else AmountType.RECEIVE),
            "its amount is not the one that was asked about",
        ),
        (not request.floating and not quote.fixed, "its rate is not fixed"),
        (end <= now, "expired: ask again" if kept else _NO_END),
    )
    problem = next((reason for wrong, reason in problems if wrong), None)
    return None if problem is None else UnusableQuote(quote, problem)


def _missed_bound(quote: Quote, request: QuoteRequest) -> str:
    symbol = request.token_in.symbol
    if quote.min is not None and request.amount < quote.min:
        return f"below minimum: this route takes {exact_amount(quote.min)} {symbol} or more"
    if quote.max is not None and quote.max < request.amount:
        return f"above maximum: this route takes {exact_amount(quote.max)} {symbol} or less"
    return ""


class RankedQuote(Struct, frozen=True):
    """A usable route with its place in the ranking. ``key`` is the amount that it pays.
    ``vs_best_percent`` and ``vs_best_amount`` are the difference from the best row: negative if
    worse, but positive if the output is fixed (``reverse``)."""

    place: int
    quote: Quote
    key: Decimal
    vs_best_percent: Decimal | None
    vs_best_amount: Decimal
    badges: tuple[str, ...]
    expires_at: datetime
    reverse: bool = False

    @property
    def figure(self) -> Decimal:
        """The amount by which the route is ranked: what it pays or, if the output is fixed, what it
        takes."""
        return _figure(self.quote, self.reverse)

    @property
    def quote_id(self) -> str:
        assert self.quote.quote_id is not None  # a row without one is not usable
        return self.quote.quote_id

    @property
    def pays(self) -> bool:
        """True if the route pays anything after fees. Otherwise it is never selected by default."""
        return self.key > 0

    @property
    def on_chain(self) -> bool:
        """True for a DEX route, which the wallet pays by signing, without a deposit."""
        return self.quote.type == RouteType.DEX

    def expired(self, now: datetime) -> bool:
        return self.expires_at <= now


class Ranking(Struct, frozen=True):
    rows: tuple[RankedQuote, ...]
    unusable: tuple[UnusableQuote, ...]

    @property
    def best(self) -> RankedQuote | None:
        return self.rows[0] if self.rows else None

    def best_at(self, now: datetime) -> RankedQuote | None:
        """Returns the best row that is still valid at ``now``; None if no row is."""
        return next((row for row in self.rows if not row.expired(now)), None)

    def default_at(self, now: datetime, *, signs: bool = True) -> RankedQuote | None:
        """Returns the row to select at first: the best one that is valid and pays something. DEX
        routes count only if the wallet signs (``signs``). None if no row qualifies."""
        candidates = (row for row in self.rows if row.pays and (signs or not row.on_chain))
        return next((row for row in candidates if not row.expired(now)), None)

    def find(self, quote_id: str) -> RankedQuote | None:
        return next((row for row in self.rows if row.quote.quote_id == quote_id), None)

    def follow(self, chosen: RankedQuote) -> RankedQuote | None:
        """Returns the row for a quote chosen earlier: the same quote or else the same provider and
        route. None if there is neither. A private row names no provider, so only the same quote is
        found."""
        same = self.find(chosen.quote_id)
        if same is not None or chosen.quote.swap is None:
            return same
        wanted = _identity(chosen.quote)
        return next((row for row in self.rows if _identity(row.quote) == wanted), None)


def rank(
    offered: Sequence[tuple[Quote, datetime]], request: QuoteRequest, now: datetime
) -> Ranking:
    """Returns the usable quotes ranked, best first, and the other quotes with their reasons.
    ``offered`` has each quote with its expiry by the desk's clock. Quotes that share an id are
    unusable, because either could be executed."""
    usable: list[tuple[Quote, datetime]] = []
    unusable: list[UnusableQuote] = []
    distinct = _without_repeats(offered)
    named = Counter(quote.quote_id for quote, _ in distinct)
    for quote, end in distinct:
        problem = _problem(quote, end, request, now, alone=named[quote.quote_id] == 1)
        if problem is None:
            usable.append((quote, end))
        else:
            unusable.append(problem)
    usable.sort(key=lambda entry: _order(entry[0], request.receive))
    return Ranking(_placed(usable, request), tuple(unusable))


def _without_repeats(offered: Iterable[tuple[Quote, datetime]]) -> list[tuple[Quote, datetime]]:
    """Returns the quotes without exact duplicates, each with the earliest expiry stated for its
    id."""
    by_id: dict[str | None, list[Quote]] = {}
    ends: dict[str | None, datetime] = {}
    distinct: list[Quote] = []
    for quote, end in offered:
        same = by_id.setdefault(quote.quote_id, [])
        if quote.quote_id is None or quote not in same:
            same.append(quote)
            distinct.append(quote)
        ends[quote.quote_id] = min(end, ends.get(quote.quote_id, end))
    return [(quote, ends[quote.quote_id]) for quote in distinct]


def comparison_key(quote: Quote) -> Decimal | None:
    """Returns the amount by which quotes are compared: the net amount or, if the service does not
    state it, the gross amount. None if both are missing."""
    return quote.net_amount_out if quote.net_amount_out is not None else quote.amount_out


def former_places(before: Ranking, after: Ranking) -> dict[str, int]:
    """Returns the earlier places of rows whose place has changed, by quote id."""
    old = {_identity(row.quote): row.place for row in before.rows if row.quote.swap is not None}
    moved: dict[str, int] = {}
    for row in after.rows:
        place = old.get(_identity(row.quote))
        if place is not None and place != row.place:
            moved[row.quote_id] = place
    return moved


def _figure(quote: Quote, reverse: bool) -> Decimal:
    figure = quote.amount_in if reverse else comparison_key(quote)
    assert figure is not None  # a quote without one is not usable
    return figure


def _order(quote: Quote, reverse: bool) -> tuple[Decimal, bool, Decimal, bool, str, str]:
    figure = TIES.plus(_figure(quote, reverse))
    return (
        figure if reverse else -figure,
        *time_key(quote),
        not quote.fixed,
        (quote.swap_name or quote.swap or "").casefold(),
        # Private rows have no name; without a last word their order would follow the answer.
        "" if quote.swap else quote.quote_id or "",
    )


def time_key(quote: Quote) -> tuple[bool, Decimal]:
    """Returns a sort key for the quote's duration; unknown durations are last."""
    return (quote.duration is None, quote.duration or Decimal(0))


def _identity(quote: Quote) -> tuple[str, str | None, bool]:
    return (quote.type, quote.swap, quote.fixed)


def _placed(
    usable: Iterable[tuple[Quote, datetime]], request: QuoteRequest
) -> tuple[RankedQuote, ...]:
    reverse, memo = request.receive, bool(request.token_in.chain_data.memo_needed)
    rows: list[RankedQuote] = []
    best: Decimal | None = None
    for place, (quote, expires_at) in enumerate(usable, start=1):
        figure = _figure(quote, reverse)
        best = figure if best is None else best
        # Inside a tie the first may hold a hair less; it is the best all the same.
        away = ROUGH.subtract(figure, best)
        away = max(away, Decimal(0)) if reverse else min(away, Decimal(0))
        key = comparison_key(quote)
        assert key is not None  # a quote that states no amount is not usable
        rows.append(
            RankedQuote(
                place=place,
                quote=quote,
                key=key,
                vs_best_percent=share_of(away, best),
                vs_best_amount=away,
                badges=badges_of(quote, key, memo=memo),
                expires_at=expires_at,
                reverse=reverse,
            )
        )
    return tuple(rows)


def share_of(away: Decimal, best: Decimal) -> Decimal | None:
    """Returns ``away``, a difference, in percent of ``best``. None if ``best`` is not above
    zero."""
    return ROUGH.multiply(ROUGH.divide(away, best), Decimal(100)) if best > 0 else None


QuoteOrder = Literal["net", "all-in", "time"]
"""The sequence of the rows: by net amount, by net amount less gas, or by duration."""


class PlacedQuote(Struct, frozen=True):
    """A route in the table. ``figure`` is the amount by which it is compared. If the route's gas is
    unknown, ``figure`` is None and the route comes last."""

    row: RankedQuote
    place: int
    figure: Decimal | None
    best: bool
    vs_best_percent: Decimal | None
    vs_best_amount: Decimal | None


class Arrangement(Struct, frozen=True):
    """How the user sorts and filters the quotes. If ``only`` is None, every type is shown.
    ``whole`` also shows routes that differ only in their amount."""

    order: QuoteOrder = "net"
    only: RouteType | None = None
    whole: bool = False

    @property
    def all_in(self) -> bool:
        return self.order == "all-in"

    def sorted_on(self) -> Arrangement:
        """Returns the arrangement with the next sort order, in the sequence ``net``, ``all-in``,
        ``time``."""
        orders: tuple[QuoteOrder, ...] = get_args(QuoteOrder)
        return replace(self, order=orders[(orders.index(self.order) + 1) % len(orders)])

    def switched(self) -> Arrangement:
        """Returns the arrangement sorted by ``net`` if it was sorted by ``all-in``, and by
        ``all-in`` otherwise."""
        return replace(self, order="net" if self.all_in else "all-in")

    def narrowed(self, only: RouteType | None) -> Arrangement:
        """Returns the arrangement that shows only the route type ``only``, or all types if it
        already showed only this type."""
        return replace(self, only=None if only is self.only else only)

    def unfolded(self, whole: bool = True) -> Arrangement:
        """Returns the arrangement with ``whole``: True shows all private routes, False only the
        first few of similar ones."""
        return replace(self, whole=whole)

    def left_out(self, placed: Sequence[PlacedQuote]) -> tuple[PlacedQuote, ...]:
        """Returns the routes that the table leaves out: private routes that differ only in their
        amount, after the first few."""
        if self.whole or self.only is RouteType.PRIVATE:
            return ()
        alike: dict[bool, list[PlacedQuote]] = {}
        for route in placed:
            if route.row.quote.type == RouteType.PRIVATE and route.row.quote.swap is None:
                alike.setdefault(route.row.quote.fixed, []).append(route)
        hidden = [
            route for rows in alike.values() for route in rows[ALIKE_SHOWN:] if not route.best
        ]
        if len(hidden) < FEWEST_LEFT_OUT:
            return ()
        places = {route.place for route in hidden}
        return tuple(route for route in placed if route.place in places)

    def arrange(self, ranking: Ranking, now: datetime) -> tuple[PlacedQuote, ...]:
        """Returns the rows to show, sorted and filtered. Filtering does not change the place of a
        row."""
        placed = _compared(ranking, self.all_in, now)
        if self.order == "time":
            placed = sorted(placed, key=lambda route: time_key(route.row.quote))
        return tuple(
            route for route in placed if self.only is None or route.row.quote.type == self.only
        )


def all_in(row: RankedQuote) -> Decimal | None:
    """Returns the net amount less gas, in the output token. If the output is fixed, returns the
    amount sent plus gas instead. None if a DEX route states no gas, or if the gas cannot be
    converted."""
    quote, gas = row.quote, row.quote.gas_usd
    if gas is None:
        return None if quote.type == RouteType.DEX else row.figure
    if gas < 0:
        return None
    if gas == 0:
        return row.figure
    if row.reverse:
        worth = quote.amount_in_usd
        if worth is None or worth <= 0:
            return None
        return ROUGH.add(row.figure, ROUGH.divide(ROUGH.multiply(gas, row.figure), worth))
    taken = usd_in_output(quote, gas)
    return None if taken is None else ROUGH.subtract(row.figure, taken)


def all_in_places(ranking: Ranking) -> dict[str, int]:
    """Returns the place of each row by net amount less gas, by quote id. Unknown gas comes last."""
    return {row.quote_id: place for place, row in enumerate(_by_all_in(ranking), start=1)}


def _by_all_in(ranking: Ranking) -> list[RankedQuote]:
    def key(row: RankedQuote) -> tuple[bool, Decimal, int]:
        figure = all_in(row)
        if figure is None:
            return True, Decimal(0), row.place
        rounded = TIES.plus(figure)
        return False, rounded if row.reverse else -rounded, row.place

    return sorted(ranking.rows, key=key)


def _compared(ranking: Ranking, by_all_in: bool, now: datetime) -> list[PlacedQuote]:
    rows = _by_all_in(ranking) if by_all_in else list(ranking.rows)
    figures = [all_in(row) if by_all_in else row.figure for row in rows]
    valid = [at for at, row in enumerate(rows) if not row.expired(now) and figures[at] is not None]
    best = valid[0] if valid else None
    measure = (
        figures[best] if best is not None else next((f for f in figures if f is not None), None)
    )
    placed: list[PlacedQuote] = []
    for at, (row, figure) in enumerate(zip(rows, figures, strict=True)):
        away = None
        if figure is not None and measure is not None:
            same = at == best or TIES.plus(figure) == TIES.plus(measure)
            away = Decimal(0) if same else ROUGH.subtract(figure, measure)
        percent = share_of(away, measure) if away is not None and measure is not None else None
        placed.append(PlacedQuote(row, at + 1, figure, at == best, percent, away))
    return placed

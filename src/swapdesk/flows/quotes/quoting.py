"""Asks for quotes: one call for each kind of rate, with every route, its age and its end on the
desk's clock.

Quotes are scarce: the desk asks when a key is pressed, at a shown cost, and again by itself only
after a 429 (:class:`AskingAgain`; contract 2.9). The digits of the amount and the limits of the
pair are checked before (contract 6.1).

The value difference of a route holds everything between what goes in and what comes out, fees
included; it is no price impact. A missing price never counts as "no loss".
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import TYPE_CHECKING, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.client.errors import ClientError, RateLimited
from swapdesk.clock import Clock
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.quotes.quote_request import QuoteRequest
from swapdesk.flows.quotes.ranking import RankedQuote, Ranking, is_known_kind, rank
from swapdesk.wire.encoding.numbers import (
    ROUGH,
    AmountError,
    as_double,
    parse_amount,
    survives_double,
)
from swapdesk.wire.encoding.time_range import within_range
from swapdesk.wire.quotes import (
    Limits,
    PairLimits,
    PairLimitsQuery,
    PrivateSendQuote,
    Quote,
    RouteType,
)
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.client.api import PartnerApi
    from swapdesk.client.transport import OnRepeat, Repeat


FLOATING_TYPES: tuple[RouteType, ...] = (RouteType.STANDARD, RouteType.PRIVATE)
"""The route types whose limits bound an amount."""

_LADDER: tuple[tuple[Decimal, DifferenceLevel], ...] = (
    (Decimal(30), "refused"),
    (Decimal(10), "typed"),
    (Decimal(3), "amber"),
    (Decimal(1), "note"),
)
_HUNDRED = Decimal(100)
_BELIEVED = Decimal("0.8")
"""Prices of the list may be a day old; age does not explain a claim this far above them."""
_MILLIONTH = Decimal("0.000001")
VALIDITY = timedelta(seconds=60)
"""How long a quote without ``validUntil`` is valid after it was asked for."""
LIMITS_AGE = 60.0
_KEPT_LIMITS = 64
_CLOCK_RESOLUTION = timedelta(seconds=2)
"""Differences up to this come from a ``Date`` without fractions."""
XMR = "xmr"
ASKS = 3
"""Calls after one key press at most."""
LONGEST_WAIT = 90.0
"""Seconds; a longer wait is shown and not sat out."""
LATE = 5.0
"""Seconds after its time at which nothing is asked any more: the page was out of view."""


class Bounds(Struct, frozen=True):
    """Smallest and largest amount that a route takes; ``largest`` None for no bound."""

    smallest: Decimal
    largest: Decimal | None

    def broken_by(self, amount: Decimal) -> tuple[str, Decimal] | None:
        """The bound that the amount breaks, with its word; None within both."""
        if amount < self.smallest:
            return "smallest", self.smallest
        if self.largest is not None and amount > self.largest:
            return "largest", self.largest
        return None


def typed_amount(text: str, token: Token) -> Decimal:
    """The amount of ``token`` that a person typed. Raises AmountError."""
    amount = parse_amount(text, decimals=token.decimals, symbol=token.symbol)
    if amount == 0:
        raise AmountError("zero", "Type an amount above 0.", 0)
    return amount


def lost_digits(amount: Decimal) -> str:
    """What the service makes of an amount with more digits than it keeps; else empty."""
    if survives_double(amount):
        return ""
    sent = exact_amount(as_double(amount))
    return f"The service keeps 15 digits. It will receive {sent}."


def bounds_of(
    limits: PairLimits | None,
    types: Sequence[RouteType] = FLOATING_TYPES,
    *,
    receive: bool = False,
) -> Bounds | None:
    """The widest bounds over the route types; None when no type has any, or no limits are known.

    With ``receive`` they bound what arrives (``minOut``, ``maxOut``).
    """
    if limits is None:
        return None
    buckets = [bucket for bucket in (_bucket(limits, kind) for kind in types) if bucket is not None]
    sides = [(b.min_out, b.max_out) if receive else (b.min, b.max) for b in buckets]
    smallest = [low for low, _ in sides if low is not None]
    if not buckets or len(smallest) < len(buckets):
        return None
    largest = [high for _, high in sides if high is not None]
    return Bounds(min(smallest), max(largest) if len(largest) == len(buckets) else None)


def outside_limits(
    amount: Decimal,
    symbol: str,
    limits: PairLimits | None,
    types: Sequence[RouteType] = FLOATING_TYPES,
    *,
    receive: bool = False,
) -> str:
    """Why no route takes the amount (in reverse: pays it); empty when one may."""
    bounds = bounds_of(limits, types, receive=receive)
    broken = bounds.broken_by(amount) if bounds is not None else None
    if broken is None:
        return ""
    word, bound = broken
    nearest = f"The {word} usable amount is {exact_amount(bound)} {symbol}."
    verb = "pays" if receive else "takes"
    return f"No route {verb} {exact_amount(amount)} {symbol}. {nearest}"


def _bucket(limits: PairLimits, kind: RouteType) -> Limits | None:
    if kind is RouteType.PRIVATE:
        return limits.private
    return limits.cex if kind is RouteType.STANDARD else limits.dex


DifferenceLevel = Literal["silent", "note", "amber", "typed", "refused"]
"""By loss: below 1 % silent, below 3 % a note, below 10 % amber, below 30 % typed, then refused."""


def share(percent: Decimal | None) -> Decimal | None:
    """A derived percentage, with six decimals."""
    return None if percent is None else ROUGH.quantize(percent, _MILLIONTH)


class ValueDifference(Struct, frozen=True):
    """``percent`` is negative for a loss, None where a price is missing. Values in USD."""

    PRINTED: ClassVar = {"percent": "share", "level": "level"}

    percent: Decimal | None
    level: DifferenceLevel
    value_in_usd: Decimal | None = None
    value_out_usd: Decimal | None = None

    @property
    def share(self) -> Decimal | None:
        return share(self.percent)

    @property
    def needs_consent(self) -> bool:
        """True for a difference that is unknown or so large that it is typed."""
        return self.percent is None or self.level in ("typed", "refused")

    @property
    def typed_text(self) -> str:
        """What is typed at level ``typed``: the loss in whole percent, as ``12``; else empty."""
        if self.percent is None or self.level != "typed":
            return ""
        return str(int(-self.percent))


def value_difference(
    amount_in: Decimal,
    price_in: Decimal | None,
    row: RankedQuote,
    *,
    price_out: Decimal | None = None,
) -> ValueDifference:
    """``amountOutUsd`` less fees over ``amountInUsd`` (else amount times price), less one.

    Where the claimed value is far above the token's own price times the amount received, the latter
    counts: consent to a loss must not hang on one number of the answer that asks for it.
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
    """USD of what arrives: ``amountOutUsd`` scaled to the net amount."""
    usd, gross = row.quote.amount_out_usd, row.quote.amount_out
    if usd is None or gross is None or gross <= 0 or row.key == gross:
        return usd
    return ROUGH.divide(ROUGH.multiply(usd, row.key), gross)


class QuoteResult(Struct, frozen=True):
    """One answer, ranked when it arrived. ``cost`` is in calls of the quote budget. ``refused`` is
    the error of one of two calls (floating, fixed); ``limits`` are those of the pair, where they
    were known without a call."""

    asked_at: datetime
    received_at: datetime
    ranking: Ranking
    request: QuoteRequest
    cost: int = 1
    refused: ClientError | None = None
    limits: PairLimits | None = None

    @property
    def token_in(self) -> Token:
        return self.request.token_in

    @property
    def token_out(self) -> Token:
        return self.request.token_out

    @property
    def amount(self) -> Decimal:
        """The amount sold, or in reverse the amount to arrive."""
        return self.request.amount

    @property
    def private_send(self) -> bool:
        return self.request.private_send

    @property
    def smallest_usable(self) -> tuple[Decimal, str | None] | None:
        """The lowest minimum of the routes that the amount was too small for, and its provider.

        In reverse the minimum of what arrives, from the limits of the pair: a quote's own minimum
        is of the token sold.
        """
        if self.request.receive:
            arriving = bounds_of(self.limits, receive=True)
            if arriving is None or self.amount >= arriving.smallest:
                return None
            return arriving.smallest, None
        bounds = [
            (entry.quote.min, entry.quote.swap_name)
            for entry in self.ranking.unusable
            if entry.quote.min is not None and entry.quote.min > self.amount
        ]
        return min(bounds, key=lambda bound: bound[0], default=None)

    @property
    def failed(self) -> int:
        """Routes that the service refuses for another reason than the amount, if most are: asked
        again they may be usable. Else 0."""
        failed = sum(entry.server_says for entry in self.ranking.unusable)
        return failed if 2 * failed > len(self.ranking.unusable) else 0

    @property
    def not_known(self) -> int:
        """Routes of an unknown type, if most are; else 0."""
        unknown = sum(not is_known_kind(entry.quote) for entry in self.ranking.unusable)
        return unknown if 2 * unknown > len(self.ranking.unusable) else 0

    def amount_in(self, row: RankedQuote) -> Decimal:
        """What is sold on this route: the amount asked for, or in reverse the quote's."""
        if self.request.receive and row.quote.amount_in is not None:
            return row.quote.amount_in
        return self.amount

    def value_difference(self, row: RankedQuote) -> ValueDifference:
        """What the route loses in value, fees included."""
        return value_difference(
            self.amount_in(row), self.token_in.price, row, price_out=self.token_out.price
        )


class QuoteDesk:
    """Asks the service for quotes and pair limits. Every call raises ClientError."""

    def __init__(self, api: PartnerApi, catalog: Catalog, clock: Clock) -> None:
        self._api = api
        self._catalog = catalog
        self._clock = clock
        self._limits: dict[tuple[str, str], tuple[float, PairLimits]] = {}

    async def ask(self, request: QuoteRequest, on_repeat: OnRepeat | None = None) -> QuoteResult:
        """Asks for every route, one call for each kind of rate; returns them ranked. ``on_repeat``
        is told before a call is repeated.

        If one of two calls fails, its error stands in ``refused``. Raises ClientError if none was
        answered.
        """
        rows: list[tuple[Quote, datetime]] = []
        asked_at: datetime | None = None
        refused: ClientError | None = None
        for fixed in request.rates:
            try:
                asked, answer = await self._call(request, on_repeat, fixed=fixed)
                asked_at, rows = asked_at or asked, [*rows, *answer]
            except ClientError as error:
                if refused is not None or request.cost == 1:
                    raise
                refused = error
        assert asked_at is not None  # one call at least was answered
        received_at = self._clock.now()
        ranking = rank(rows, request, received_at)
        limits = self.known_limits(request.token_in, request.token_out)
        return QuoteResult(asked_at, received_at, ranking, request, request.cost, refused, limits)

    async def ask_rate(
        self, result: QuoteResult, *, fixed: bool, on_repeat: OnRepeat | None = None
    ) -> QuoteResult:
        """Asks for one kind of rate, for the first time or again; rows of the other kind stay as
        they are."""
        _, answer = await self._call(result.request, on_repeat, fixed=fixed)
        before = result.ranking
        others = [
            *((row.quote, row.expires_at) for row in before.rows if row.quote.fixed != fixed),
            *((e.quote, result.received_at) for e in before.unusable if e.quote.fixed != fixed),
        ]
        request = replace(
            result.request,
            fixed=result.request.fixed or fixed,
            floating=result.request.floating or not fixed,
        )
        now = self._clock.now()
        ranking = rank([*others, *answer], request, now)
        return QuoteResult(result.asked_at, now, ranking, request, cost=1, limits=result.limits)

    async def _call(
        self, request: QuoteRequest, on_repeat: OnRepeat | None, *, fixed: bool
    ) -> tuple[datetime, list[tuple[Quote, datetime]]]:
        """Returns when it was asked, and each quote with its end."""
        asked = self._clock.monotonic()
        quotes: list[Quote]
        if request.private_send:
            query = request.private_send_query(fixed=fixed)
            sent = await self._api.get_private_send_quotes(query, on_repeat=on_repeat)
            quotes = [_as_quote(quote) for quote in sent.quotes]
        else:
            asked_for = request.query(fixed=fixed)
            quotes = (await self._api.get_quotes(asked_for, on_repeat=on_repeat)).quotes
        # Counted back: the answer itself may have moved the desk's clock.
        passed = timedelta(seconds=self._clock.monotonic() - asked)
        ahead = self._api.server_now() - self._clock.now()
        named = [self._named(by_own_clock(quote, ahead)) for quote in quotes]
        asked_at = self._clock.now() - passed
        if request.private_send:
            # An item names no end in the specification, which gives each of them a minute.
            named = [
                quote.model_copy(update={"valid_until": quote.valid_until or asked_at + VALIDITY})
                for quote in named
            ]
        return asked_at, [(quote, end_of(quote, asked_at)) for quote in named]

    async def limits(self, token_in: Token, token_out: Token) -> PairLimits:
        """Smallest and largest amounts of a pair, at most a minute old."""
        recent = self.known_limits(token_in, token_out)
        if recent is not None:
            return recent
        pair = (token_in.id, token_out.id)
        limits = await self._api.get_pair_limits(
            PairLimitsQuery(token_id_from=token_in.id, token_id_to=token_out.id)
        )
        self._limits.pop(pair, None)
        self._limits[pair] = (self._clock.monotonic(), limits)
        if len(self._limits) > _KEPT_LIMITS:
            del self._limits[next(iter(self._limits))]
        return limits

    def known_limits(self, token_in: Token, token_out: Token) -> PairLimits | None:
        """The limits of a pair if they are less than a minute old; no call."""
        kept = self._limits.get((token_in.id, token_out.id))
        fresh = kept is not None and self._clock.monotonic() - kept[0] < LIMITS_AGE
        return kept[1] if kept is not None and fresh else None

    def _named(self, quote: Quote) -> Quote:
        if quote.swap is None or quote.swap_name is not None:
            return quote
        return quote.model_copy(update={"swap_name": self._catalog.provider_name(quote.swap)})


def by_own_clock(quote: Quote, ahead: timedelta) -> Quote:
    """The quote with its end on the desk's clock; the service's is ``ahead`` by that much.
    Otherwise all quotes would be over at once on a machine whose clock is a minute fast."""
    if quote.valid_until is None or abs(ahead) <= _CLOCK_RESOLUTION:
        return quote
    return quote.model_copy(update={"valid_until": within_range(quote.valid_until - ahead)})


def end_of(quote: Quote, asked_at: datetime) -> datetime:
    """When a quote ends on the desk's clock. A fixed rate without an end ends at once: a create
    must not lean on a promise that was never made."""
    if quote.valid_until is not None:
        return quote.valid_until
    return asked_at if quote.fixed else asked_at + VALIDITY


def _as_quote(quote: PrivateSendQuote) -> Quote:
    """A private send as a row of the same table, without provider and net amount."""
    return Quote(
        quote_id=quote.quote_id,
        type=quote.type,
        amount_in=quote.amount_in,
        amount_out=quote.amount_out,
        amount_out_usd=quote.amount_out_usd,
        duration=quote.duration,
        min=quote.min,
        max=quote.max,
        fixed=quote.fixed,
        valid_until=quote.valid_until,
    )


def find_intermediate_token(
    catalog: Catalog, result: QuoteResult, row: RankedQuote
) -> Token | None:
    """XMR where the hop of a private route was pinned to it, else None: only then is it known which
    chain an intermediate refund address belongs to (contract 7.12)."""
    if row.quote.type != RouteType.PRIVATE or result.request.use_xmr is not True:
        return None
    rows = catalog.rows_of_symbol("XMR")
    tokens = (catalog.token(row_of_list.id) for row_of_list in rows)
    return next((t for t in tokens if t is not None and t.chain_data.kind == XMR), None)


def follow_route(result: QuoteResult, before: RankedQuote) -> RankedQuote | None:
    """The row of the same provider and route in a newer result; None if it is gone or pays nothing.
    Private routes name no provider: the best of the same kind of rate takes their place."""
    row = result.ranking.follow(before)
    if row is None and before.quote.swap is None:
        kind = (before.quote.type, before.quote.fixed)
        rows = result.ranking.rows
        row = next((other for other in rows if (other.quote.type, other.quote.fixed) == kind), None)
    return row if row is not None and row.pays else None


def lost_percent(before: RankedQuote, after: RankedQuote) -> Decimal | None:
    """By how much the newer quote is worse, in percent above zero; None if it is not."""
    worse = ROUGH.subtract(before.figure, after.figure)
    worse = -worse if before.reverse else worse
    if before.figure <= 0 or worse <= 0:
        return None
    return ROUGH.multiply(ROUGH.divide(worse, before.figure), Decimal(100))


class AskingAgain:
    """The repeats of one question. Times are seconds of the desk's monotonic clock."""

    def __init__(self) -> None:
        self._asked = 0
        self._repeat: Repeat | None = None
        self._due: float | None = None
        self.most = 1
        """How many calls each call of the next question may become, and be charged as."""

    def begin(self, *, by_itself: bool = False) -> None:
        """A question leaves, by a key or ``by_itself``."""
        self._asked = self._asked + 1 if by_itself else 1
        self._repeat = self._due = None

    def may_repeat(self, repeat: Repeat) -> bool:
        """False after a 429, whose wait is shown instead; else the client repeats the call."""
        if isinstance(repeat.error, RateLimited):
            return False
        self._repeat, self.most = repeat, repeat.of
        return True

    def answered(self) -> None:
        """An answer came; only calls that were repeated make the next question dearer."""
        if self._repeat is None:
            self.most = 1

    def refused(self, error: ClientError, budget_wait: float | None, now: float) -> None:
        """No answer came. ``budget_wait`` is in seconds, until the desk's own count allows another
        call."""
        if not isinstance(error, RateLimited) or self._asked >= ASKS:
            return
        wait = error.retry_after if error.retry_after is not None else budget_wait
        if wait and wait <= LONGEST_WAIT:
            self._due = now + wait

    def left(self, now: float) -> float | None:
        """Seconds until it is asked again by itself; None if it is not."""
        return None if self._due is None else max(0.0, self._due - now)

    def is_due(self, now: float) -> bool:
        """True once it is time to ask again. Called about every second while the page is in
        view."""
        if self._due is None or now < self._due:
            return False
        waited_for, self._due = now - self._due <= LATE, None
        return waited_for

    def words(self, now: float) -> str:
        """``again in 21 s``; empty when it is not asked again by itself."""
        left = self.left(now)
        return "" if left is None else f"again in {ceil(left)} s"

    @property
    def turn(self) -> str:
        """``2 of 3`` for a question or call that is repeated, else empty."""
        if self._repeat is not None:
            return f"{self._repeat.attempt} of {self._repeat.of}"
        return f"{self._asked} of {ASKS}" if self._asked > 1 else ""

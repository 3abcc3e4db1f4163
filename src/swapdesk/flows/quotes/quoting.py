"""Asks for quotes: one call for each kind of rate, with every route, its age and its end on the
desk's clock.

Quotes are scarce: the desk asks only if a key is pressed, and repeats the request by itself only
after a 429 (:class:`AskingAgain`; contract 2.9). Amount and limits are checked before a call
(contract 6.1). If a price is missing, the value difference is unknown, never "no loss".
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
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.numbers import (
    ROUGH,
    AmountError,
    as_double,
    parse_amount,
    survives_double,
)
from swapdesk.wire.encoding.time_range import within_range
from swapdesk.wire.quotes import Limits, PairLimits, PairLimitsQuery, PrivateSendQuote, Quote
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.client.api import PartnerApi
    from swapdesk.client.transport import OnRepeat, Repeat


FLOATING_TYPES: tuple[RouteType, ...] = (RouteType.STANDARD, RouteType.PRIVATE)
"""Route types whose limits decide whether an amount can be swapped. DEX routes are not among
them."""

_LADDER: tuple[tuple[Decimal, DifferenceLevel], ...] = (
    (Decimal(30), "refused"),
    (Decimal(10), "typed"),
    (Decimal(3), "amber"),
    (Decimal(1), "note"),
)
_HUNDRED = Decimal(100)
_BELIEVED = Decimal("0.8")
"""A stated USD value is not believed if the list's price makes less than this share of it."""
_MILLIONTH = Decimal("0.000001")
VALIDITY = timedelta(seconds=60)
"""How long a quote without ``validUntil`` is valid, counted from the request."""
LIMITS_AGE = 60.0
_KEPT_LIMITS = 64
_CLOCK_RESOLUTION = timedelta(seconds=2)
"""Clock differences up to this size are ignored, because a ``Date`` header has no fractions of a
second."""
XMR = "xmr"
ASKS = 3
"""Largest number of requests that one key press may cause, including those that the desk repeats by
itself."""
LONGEST_WAIT = 90.0
"""Longest wait in seconds after which the desk repeats a request by itself. A longer wait is only
shown."""
LATE = 5.0
"""Seconds of delay after which the desk does not repeat a request."""


class Bounds(Struct, frozen=True):
    """The smallest and the largest amount that at least one route takes. ``largest`` is None if
    there is no upper bound."""

    smallest: Decimal
    largest: Decimal | None

    def broken_by(self, amount: Decimal) -> tuple[str, Decimal] | None:
        """Returns the bound that the amount violates, as its name (``smallest`` or ``largest``) and
        its value; otherwise None."""
        if amount < self.smallest:
            return "smallest", self.smallest
        if self.largest is not None and amount > self.largest:
            return "largest", self.largest
        return None


def typed_amount(text: str, token: Token) -> Decimal:
    """Returns the amount of ``token`` that the user typed. Raises AmountError if ``text`` is not a
    number, or if the amount is zero or too precise for the token."""
    amount = parse_amount(text, decimals=token.decimals, symbol=token.symbol)
    if amount == 0:
        raise AmountError("zero", "Type an amount above 0.", 0)
    return amount


def lost_digits(amount: Decimal) -> str:
    """Returns a sentence with the amount that the service will receive, if the service cannot
    represent all digits of ``amount``; otherwise empty."""
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
    """Returns the smallest minimum and the largest maximum of ``types``; None if they are not
    known. With ``receive``, the bounds are for the amount that arrives."""
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
    """Returns which limit the amount violates, as a sentence. Empty if a route may take it (or pay
    it, if ``receive`` is True)."""
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
"""How a loss in value is treated: ``silent`` below 1 %, ``note`` below 3 %, ``amber`` below 10 %.
For ``typed``, below 30 %, the user types the percentage. More is ``refused``."""


def share(percent: Decimal | None) -> Decimal | None:
    return None if percent is None else ROUGH.quantize(percent, _MILLIONTH)


class ValueDifference(Struct, frozen=True):
    """The difference between the value of what is sent and of what arrives. ``percent`` is negative
    for a loss and None if a price is missing. Values are in USD."""

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
        """True if the difference is unknown, or if it is so large that the route is refused or the
        user must type the percentage."""
        return self.percent is None or self.level in ("typed", "refused")

    @property
    def typed_text(self) -> str:
        """The whole percentage, such as ``12``, that the user must type to accept the loss. Empty
        unless ``level`` is ``typed``."""
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
    """Returns how the value that arrives, after fees, differs from the value sent. ``price_in`` and
    ``price_out`` are the token list's USD prices. They stand in for a missing input value or a far
    too high output value."""
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
    usd, gross = row.quote.amount_out_usd, row.quote.amount_out
    if usd is None or gross is None or gross <= 0 or row.key == gross:
        return usd
    return ROUGH.divide(ROUGH.multiply(usd, row.key), gross)


class QuoteResult(Struct, frozen=True):
    """The answer to a request for quotes, ranked when it arrived. ``cost`` counts the calls charged
    to the quote budget. ``refused`` is the error if one of two calls failed; otherwise None."""

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
        """The amount sold or, if the request states the output, the amount to arrive."""
        return self.request.amount

    @property
    def private_send(self) -> bool:
        return self.request.private_send

    @property
    def smallest_usable(self) -> tuple[Decimal, str | None] | None:
        """The lowest minimum of the routes that refused the amount as too small, with the
        provider's name. If the request states the output, the pair's lowest output."""
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
        """The number of routes that the service refuses for other reasons than the amount, if they
        are most of the unusable ones; otherwise 0."""
        failed = sum(entry.server_says for entry in self.ranking.unusable)
        return failed if 2 * failed > len(self.ranking.unusable) else 0

    @property
    def not_known(self) -> int:
        """The number of routes of an unknown type, if they are most of the unusable ones; otherwise
        0."""
        unknown = sum(not is_known_kind(entry.quote) for entry in self.ranking.unusable)
        return unknown if 2 * unknown > len(self.ranking.unusable) else 0

    def amount_in(self, row: RankedQuote) -> Decimal:
        """Returns the amount sold on this route: the requested one or, if the request states the
        output, the quote's."""
        if self.request.receive and row.quote.amount_in is not None:
            return row.quote.amount_in
        return self.amount

    def value_difference(self, row: RankedQuote) -> ValueDifference:
        """Returns how the value that arrives on this route differs from the value sent, fees
        included."""
        return value_difference(
            self.amount_in(row), self.token_in.price, row, price_out=self.token_out.price
        )


class QuoteDesk:
    """Asks the service for quotes and pair limits. Methods that call the service may raise
    ClientError."""

    def __init__(self, api: PartnerApi, catalog: Catalog, clock: Clock) -> None:
        self._api = api
        self._catalog = catalog
        self._clock = clock
        self._limits: dict[tuple[str, str], tuple[float, PairLimits]] = {}

    async def ask(self, request: QuoteRequest, on_repeat: OnRepeat | None = None) -> QuoteResult:
        """Asks for every route, with one call for each kind of rate. A failed call is repeated if
        ``on_repeat`` allows it. If one of two calls fails, its error is in ``refused`` of the
        result. Raises ClientError if none succeeded."""
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
        """Asks again for the quotes with fixed or with floating rates, and returns ``result`` with
        these quotes replaced. Raises ClientError."""
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
        """Returns the smallest and largest amounts of a pair, at most a minute old. Raises
        ClientError."""
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
        """Returns the limits of a pair without a call; None if the desk has not received them
        within the last minute."""
        kept = self._limits.get((token_in.id, token_out.id))
        fresh = kept is not None and self._clock.monotonic() - kept[0] < LIMITS_AGE
        return kept[1] if kept is not None and fresh else None

    def _named(self, quote: Quote) -> Quote:
        if quote.swap is None or quote.swap_name is not None:
            return quote
        return quote.model_copy(update={"swap_name": self._catalog.provider_name(quote.swap)})


def by_own_clock(quote: Quote, ahead: timedelta) -> Quote:
    """Returns the quote with its expiry converted to the desk's clock. ``ahead`` is how far the
    service's clock is ahead of the desk's."""
    if quote.valid_until is None or abs(ahead) <= _CLOCK_RESOLUTION:
        return quote
    return quote.model_copy(update={"valid_until": within_range(quote.valid_until - ahead)})


def end_of(quote: Quote, asked_at: datetime) -> datetime:
    """Returns when a quote ends, by the desk's clock. A fixed rate without a stated end is over at
    once, so that no order relies on it."""
    if quote.valid_until is not None:
        return quote.valid_until
    return asked_at if quote.fixed else asked_at + VALIDITY


def _as_quote(quote: PrivateSendQuote) -> Quote:
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
    """Returns XMR if the request demands XMR as the token between the two legs of a private route.
    Otherwise that token is unknown, and the result is None (contract 7.12)."""
    if row.quote.type != RouteType.PRIVATE or result.request.use_xmr is not True:
        return None
    rows = catalog.rows_of_symbol("XMR")
    tokens = (catalog.token(row_of_list.id) for row_of_list in rows)
    return next((t for t in tokens if t is not None and t.chain_data.kind == XMR), None)


def follow_route(result: QuoteResult, before: RankedQuote) -> RankedQuote | None:
    """Returns the row of ``result`` with the provider and route of the older ``before`` or, for a
    private route, the best row with the same kind of rate. None if there is no such row or the row
    pays nothing."""
    row = result.ranking.follow(before)
    if row is None and before.quote.swap is None:
        kind = (before.quote.type, before.quote.fixed)
        rows = result.ranking.rows
        row = next((other for other in rows if (other.quote.type, other.quote.fixed) == kind), None)
    return row if row is not None and row.pays else None


def lost_percent(before: RankedQuote, after: RankedQuote) -> Decimal | None:
    """Returns by how many percent ``after`` is worse than ``before``, as a positive number. None if
    it is not worse."""
    worse = ROUGH.subtract(before.figure, after.figure)
    worse = -worse if before.reverse else worse
    if before.figure <= 0 or worse <= 0:
        return None
    return ROUGH.multiply(ROUGH.divide(worse, before.figure), Decimal(100))


class AskingAgain:
    """Plans when and how often the desk repeats a request for quotes by itself. Times are monotonic
    seconds."""

    def __init__(self) -> None:
        self._asked = 0
        self._repeat: Repeat | None = None
        self._due: float | None = None
        self.most = 1
        """How often each call of the next request may be made."""

    def begin(self, *, by_itself: bool = False) -> None:
        """Records that a request is sent. ``by_itself`` is False if the user pressed a key."""
        self._asked = self._asked + 1 if by_itself else 1
        self._repeat = self._due = None

    def may_repeat(self, repeat: Repeat) -> bool:
        """Returns whether the client may repeat a failed call at once. False after a 429, which the
        desk waits out."""
        if isinstance(repeat.error, RateLimited):
            return False
        self._repeat, self.most = repeat, repeat.of
        return True

    def answered(self) -> None:
        """Records that an answer arrived. Sets :attr:`most`, the limit of attempts per call, back
        to 1 if no call had to be repeated."""
        if self._repeat is None:
            self.most = 1

    def refused(self, error: ClientError, budget_wait: float | None, now: float) -> None:
        """Records that the request failed. After a 429, plans to repeat it."""
        if not isinstance(error, RateLimited) or self._asked >= ASKS:
            return
        wait = error.retry_after if error.retry_after is not None else budget_wait
        if wait and wait <= LONGEST_WAIT:
            self._due = now + wait

    def left(self, now: float) -> float | None:
        """Returns the seconds until the desk repeats the request by itself; None if it will not."""
        return None if self._due is None else max(0.0, self._due - now)

    def is_due(self, now: float) -> bool:
        """Returns True once, when it is time to repeat the request. A repetition that is more than
        :data:`LATE` seconds overdue is given up."""
        if self._due is None or now < self._due:
            return False
        waited_for, self._due = now - self._due <= LATE, None
        return waited_for

    def words(self, now: float) -> str:
        """Returns the wait in words: ``again in 21 s``. Empty if the desk will not repeat the
        request by itself."""
        left = self.left(now)
        return "" if left is None else f"again in {ceil(left)} s"

    @property
    def turn(self) -> str:
        """The number of a repeated attempt, as ``2 of 3``; otherwise empty."""
        if self._repeat is not None:
            return f"{self._repeat.attempt} of {self._repeat.of}"
        return f"{self._asked} of {ASKS}" if self._asked > 1 else ""

"""Asking for quotes: one call, every route, its age and its end on the desk's clock.

Nothing is asked again by itself: quotes are scarce, and every ask is a key press at a shown
cost (spec: Rate limits).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from swapdesk.clock import Clock
from swapdesk.flows.amount_check import FLOATING_TYPES
from swapdesk.flows.catalog import Catalog
from swapdesk.flows.ranking import RankedQuote, Ranking, rank
from swapdesk.flows.value_difference import ValueDifference, value_difference
from swapdesk.wire.pair_limits import PairLimits, PairLimitsQuery
from swapdesk.wire.quotes import (
    PrivateSendQuery,
    PrivateSendQuote,
    Quote,
    QuoteQuery,
    RouteType,
)
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.client.api import PartnerApi

VALIDITY = timedelta(seconds=60)
"""How long a quote without ``validUntil`` is taken for valid, from the moment it was asked."""

LIMITS_AGE = 60.0
_KEPT_LIMITS = 64


@dataclass(frozen=True)
class QuoteBoard:
    """One answer, ranked when it arrived. ``cost`` is what it took from the quote budget."""

    asked_at: datetime
    received_at: datetime
    ranking: Ranking
    token_in: Token
    token_out: Token
    amount: Decimal
    private_send: bool = False
    cost: int = 1

    @property
    def smallest_usable(self) -> tuple[Decimal, str | None] | None:
        """The lowest minimum among routes the amount was too small for, and whose it is."""
        bounds = [
            (entry.quote.min, entry.quote.swap_name)
            for entry in self.ranking.unusable
            if entry.quote.min is not None and entry.quote.min > self.amount
        ]
        return min(bounds, key=lambda bound: bound[0], default=None)

    def value_difference(self, row: RankedQuote) -> ValueDifference:
        """What the row loses in value, fees included, at the price of the token sold."""
        return value_difference(self.amount, self.token_in.price, row)


class QuoteDesk:
    """Asks the service for quotes and pair limits. Every call raises ClientError."""

    def __init__(self, api: PartnerApi, catalog: Catalog, clock: Clock) -> None:
        self._api = api
        self._catalog = catalog
        self._clock = clock
        self._limits: dict[tuple[str, str], tuple[float, PairLimits]] = {}

    async def ask(
        self,
        token_in: Token,
        token_out: Token,
        amount: Decimal,
        *,
        types: Sequence[RouteType] | None = None,
    ) -> QuoteBoard:
        """Floating quotes for selling ``amount``; standard and private routes unless chosen.

        Both tokens the same asks for private routes, the only ones that exist then.
        """
        wanted = list(types) if types is not None else list(FLOATING_TYPES)
        if token_in.id == token_out.id:
            wanted = [RouteType.PRIVATE]
        asked = self._clock.monotonic()
        answer = await self._api.get_quotes(
            QuoteQuery(amount=amount, from_=token_in.id, to=token_out.id, types=wanted)
        )
        return self._board(answer.quotes, asked, token_in, token_out, amount)

    async def ask_private_send(self, token: Token, amount: Decimal) -> QuoteBoard:
        """Quotes for sending ``amount`` of a token privately to another wallet."""
        asked = self._clock.monotonic()
        answer = await self._api.get_private_send_quotes(
            PrivateSendQuery(amount=amount, from_=token.id)
        )
        quotes = [_as_quote(quote) for quote in answer.quotes]
        return self._board(quotes, asked, token, token, amount, private_send=True)

    async def limits(self, token_in: Token, token_out: Token) -> PairLimits:
        """Smallest and largest amounts of a pair, at most a minute old."""
        pair = (token_in.id, token_out.id)
        now = self._clock.monotonic()
        kept = self._limits.get(pair)
        if kept is not None and now - kept[0] < LIMITS_AGE:
            return kept[1]
        limits = await self._api.get_pair_limits(
            PairLimitsQuery(token_id_from=token_in.id, token_id_to=token_out.id)
        )
        self._limits.pop(pair, None)
        self._limits[pair] = (self._clock.monotonic(), limits)
        if len(self._limits) > _KEPT_LIMITS:
            del self._limits[next(iter(self._limits))]
        return limits

    def known_limits(self, token_in: Token, token_out: Token) -> PairLimits | None:
        """The limits of a pair if they were asked for within the last minute; no call."""
        kept = self._limits.get((token_in.id, token_out.id))
        fresh = kept is not None and self._clock.monotonic() - kept[0] < LIMITS_AGE
        return kept[1] if kept is not None and fresh else None

    def _board(
        self,
        quotes: Sequence[Quote],
        asked: float,
        token_in: Token,
        token_out: Token,
        amount: Decimal,
        *,
        private_send: bool = False,
    ) -> QuoteBoard:
        received_at = self._clock.now()
        # Counted back: the answer itself may have moved the desk's clock.
        asked_at = received_at - timedelta(seconds=self._clock.monotonic() - asked)
        named = [self._named(quote) for quote in quotes]

        def expires(quote: Quote) -> datetime:
            return quote.valid_until if quote.valid_until is not None else asked_at + VALIDITY

        ranking = rank(
            named, now=received_at, expires=expires, amount=amount, symbol_in=token_in.symbol
        )
        return QuoteBoard(asked_at, received_at, ranking, token_in, token_out, amount, private_send)

    def _named(self, quote: Quote) -> Quote:
        """With the provider's name from the list where the quote leaves it out."""
        if quote.swap is None or quote.swap_name is not None:
            return quote
        return quote.model_copy(update={"swap_name": self._catalog.provider_name(quote.swap)})


def _as_quote(quote: PrivateSendQuote) -> Quote:
    """A private send as a row of the same table; it names neither provider nor net amount."""
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
    )

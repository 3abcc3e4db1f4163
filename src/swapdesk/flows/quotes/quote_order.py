"""The order in which routes are shown: by net, by all-in, by time, one route type or all.

All-in is net less gas, both in the output token (in reverse what is sent plus gas). It is never
the default: ``netAmountOut`` leaves gas out (contract 6.8).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.flows.quotes.ranking import (
    TIES,
    RankedQuote,
    Ranking,
    share_of,
    time_key,
    usd_in_output,
)
from swapdesk.wire.encoding.numbers import ROUGH
from swapdesk.wire.quotes import RouteType

ALIKE_SHOWN = 3
FEWEST_LEFT_OUT = 2
"""A single row takes no more room than the row that would say that it is left out."""


class QuoteOrder(StrEnum):
    """``NET`` is the ranking itself; ``TIME`` keeps its places."""

    NET = "net"
    ALL_IN = "all-in"
    TIME = "time"

    @property
    def following(self) -> QuoteOrder:
        orders = list(QuoteOrder)
        return orders[(orders.index(self) + 1) % len(orders)]


class PlacedQuote(Struct, frozen=True):
    """A route in the order that is shown.

    ``figure`` is what the order compares, None where the gas is not known: such a row comes
    last. The differences are those to the best row that is still valid, None without a figure.
    """

    row: RankedQuote
    place: int
    figure: Decimal | None
    best: bool
    vs_best_percent: Decimal | None
    vs_best_amount: Decimal | None


class Arrangement(Struct, frozen=True):
    """What the keys of the table choose; ``only`` None shows every route type. ``whole``: of
    routes that nobody can tell apart all are shown."""

    order: QuoteOrder = QuoteOrder.NET
    only: RouteType | None = None
    whole: bool = False

    @property
    def all_in(self) -> bool:
        return self.order is QuoteOrder.ALL_IN

    def sorted_on(self) -> Arrangement:
        """The next order: net, all-in, time."""
        return replace(self, order=self.order.following)

    def switched(self) -> Arrangement:
        """All-in instead of net, and back."""
        return replace(self, order=QuoteOrder.NET if self.all_in else QuoteOrder.ALL_IN)

    def narrowed(self, only: RouteType | None) -> Arrangement:
        """One route type, or all again when it is the one already."""
        return replace(self, only=None if only is self.only else only)

    def unfolded(self, whole: bool = True) -> Arrangement:
        """With all routes that are alike, or with the first of them alone."""
        return replace(self, whole=whole)

    def left_out(self, placed: Sequence[PlacedQuote]) -> tuple[PlacedQuote, ...]:
        """Those of ``placed`` that are not shown: of routes that name no provider, and so differ
        in nothing but their amount, the first three of each kind of rate are, and the best one."""
        if self.whole or self.only is RouteType.PRIVATE:
            return ()
        alike: dict[bool, list[PlacedQuote]] = {}
        for one in placed:
            if one.row.quote.type == RouteType.PRIVATE and one.row.quote.swap is None:
                alike.setdefault(one.row.quote.fixed, []).append(one)
        found = [one for rows in alike.values() for one in rows[ALIKE_SHOWN:] if not one.best]
        if len(found) < FEWEST_LEFT_OUT:
            return ()
        places = {one.place for one in found}
        return tuple(one for one in placed if one.place in places)

    def arrange(self, ranking: Ranking, now: datetime) -> tuple[PlacedQuote, ...]:
        """The rows to show. A filter hides rows and changes neither places nor the best."""
        placed = _placed(ranking, self.all_in, now)
        if self.order is QuoteOrder.TIME:
            placed = sorted(placed, key=lambda one: time_key(one.row.quote))
        return tuple(one for one in placed if self.only is None or one.row.quote.type == self.only)


def all_in(row: RankedQuote) -> Decimal | None:
    """Net less gas in the output token, in reverse the amount sent plus gas in its token.

    None when an on-chain route does not say its gas, or no price turns it into the token.
    Centralized routes have no gas of their own.
    """
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
    """Quote id to place by all-in; rows of unknown gas come last in their old order."""
    return {row.quote_id: place for place, row in enumerate(_by_all_in(ranking), start=1)}


def _by_all_in(ranking: Ranking) -> list[RankedQuote]:
    def key(row: RankedQuote) -> tuple[bool, Decimal, int]:
        figure = all_in(row)
        if figure is None:
            return True, Decimal(0), row.place
        rounded = TIES.plus(figure)
        return False, rounded if row.reverse else -rounded, row.place

    return sorted(ranking.rows, key=key)


def _placed(ranking: Ranking, by_all_in: bool, now: datetime) -> list[PlacedQuote]:
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

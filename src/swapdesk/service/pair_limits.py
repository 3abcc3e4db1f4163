"""Smallest and largest amounts of a pair (contract 6.1 to 6.4).

What is stated here is what a quote accepts: both ends are priced before they are told. Limits
bound the amount alone; that a route would lose too much to be used is told on its row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from decimal import Decimal
from typing import Any, Literal

from msgspec.structs import replace

from swapdesk.service.access import Caller
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.errors import invalid
from swapdesk.service.quoting.bounds import lowered, priced_ends, taken_by
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.quoting.routes import RouteQuestion
from swapdesk.service.scans import TokenScans
from swapdesk.service.venues.adapter import Terms, VenueLimits
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.encoding.numbers import short
from swapdesk.wire.pair_limits import Limits, PairLimits, PairLimitsQuery


class PairLimitsDesk:
    """Answers ``GET /minMax``."""

    def __init__(
        self, catalog: ServiceCatalog, venues: Venues, engine: QuoteEngine, scans: TokenScans
    ) -> None:
        self._catalog = catalog
        self._venues = venues
        self._engine = engine
        self._scans = scans

    async def limits(self, caller: Caller, query: PairLimitsQuery) -> PairLimits:
        """Limits by route type; null where no route of the type exists.

        ``minOut`` and ``maxOut`` bound what can be asked for by the amount received, and are told
        as a quote tells it that names no markup: after the default of the account.
        """
        if query.token_id_from.casefold() == query.token_id_to.casefold():
            raise invalid("tokenIdTo", "must differ from 'tokenIdFrom'", query.token_id_to)
        token_in = self._catalog.enabled_side(query.token_id_from, "tokenIdFrom")
        token_out = self._catalog.enabled_side(query.token_id_to, "tokenIdTo")
        if token_in.id == token_out.id:
            raise invalid("tokenIdTo", "must differ from 'tokenIdFrom'", query.token_id_to)
        self._scans.selected(token_in, token_out)
        terms = Terms(markup=caller.partner.default_markup)
        pair = RouteQuestion(token_in, token_out, Decimal(0), terms, markup_optional=True)
        named = (query.token_id_from.lower(), query.token_id_to.lower())
        by_ids = named == (token_in.id.lower(), token_out.id.lower())
        # A symbol of exchanges names no token on a chain (contract 6.2).
        dex = self._engine.onchain_limits.find(token_in, token_out) if by_ids else _nothing()
        if not (token_in.has_cex and token_out.has_cex):
            return PairLimits(dex=await dex)
        found = await asyncio.gather(
            self._received(pair, "standard", self._standard),
            self._received(pair, "private", self._private),
            dex,
        )
        return PairLimits(cex=found[0], private=found[1], dex=found[2])

    async def _received(
        self,
        pair: RouteQuestion,
        route: Literal["standard", "private"],
        sent: Callable[[RouteQuestion], Coroutine[Any, Any, Limits | None]],
    ) -> Limits | None:
        """The limits by the amount sent, with what can be asked for by the amount received. Where
        nothing can, for want of fixed rates, they keep what both ends pay."""
        pair = replace(pair, types=frozenset({route}))
        ends = pair.token_in, pair.token_out
        limits: Limits | None
        limits, out = await asyncio.gather(
            sent(pair), self._engine.receive_bounds.find(*ends, route, pair.terms.markup)
        )
        if limits is None or out is None:
            return limits
        return limits.model_copy(update={"min_out": out.minimum, "max_out": out.maximum})

    async def _private(self, pair: RouteQuestion) -> Limits | None:
        bounds = await self._engine.private_bounds.find(pair.token_in, pair.token_out)
        if bounds is None:
            return None
        ends = bounds.minimum, bounds.maximum
        least, most = await asyncio.gather(
            *(self._engine.pays(replace(pair, amount=end)) for end in ends)
        )
        if least is None or most is None:
            return None
        return _stated(bounds, least, most)

    async def _standard(self, pair: RouteQuestion) -> Limits | None:
        """The widest bounds over all venues that price both ends now, the lower one as far down as
        it is priced."""
        token_in, token_out = pair.token_in, pair.token_out
        paid: dict[Decimal, Decimal] = {}

        async def taken(amount: Decimal) -> bool:
            pays = await self._engine.pays(replace(pair, amount=amount))
            if pays is not None:
                paid[amount] = pays
            return pays is not None

        async def asked(bounds: VenueLimits) -> tuple[bool, bool]:
            least, most = await asyncio.gather(taken(bounds.minimum), taken(bounds.maximum))
            return least, most

        intervals = taken_by(self._venues.trading(token_in, token_out), token_in, token_out)
        found = await priced_ends(intervals, asked)
        if found is None:
            return None
        bounds = await lowered(*found, token_in, taken)
        return _stated(bounds, paid[bounds.minimum], paid[bounds.maximum])


async def _nothing() -> None:
    return None


def _stated(bounds: VenueLimits, least_out: Decimal, most_out: Decimal) -> Limits:
    return Limits(
        min=short(bounds.minimum), max=short(bounds.maximum), min_out=least_out, max_out=most_out
    )

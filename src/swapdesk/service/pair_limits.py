"""Smallest and largest amounts of a pair (spec: GET /minMax; wire decisions 2.4).

What is stated here is what a quote accepts: both ends are priced before they are told.
"""

from __future__ import annotations

import asyncio
from typing import Literal

from swapdesk.service.catalog import Catalog
from swapdesk.service.errors import invalid
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.quoting.rows import offered
from swapdesk.service.venues.adapter import VenueLimits
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.pair_limits import Limits, PairLimits, PairLimitsQuery
from swapdesk.wire.tokens import Token


class PairLimitsDesk:
    """Answers ``GET /minMax``."""

    def __init__(self, catalog: Catalog, venues: Venues, engine: QuoteEngine) -> None:
        self._catalog = catalog
        self._venues = venues
        self._engine = engine

    async def limits(self, query: PairLimitsQuery) -> PairLimits:
        """Limits by route type; null where no route of the type exists."""
        if query.token_id_from.casefold() == query.token_id_to.casefold():
            raise invalid("tokenIdTo", "must differ from 'tokenIdFrom'", query.token_id_to)
        token_in = self._catalog.enabled_side(query.token_id_from, "from")
        token_out = self._catalog.enabled_side(query.token_id_to, "to")
        if token_in.id == token_out.id:
            raise invalid("tokenIdTo", "must differ from 'tokenIdFrom'", query.token_id_to)
        if not (token_in.has_cex and token_out.has_cex):
            return PairLimits()
        cex, private = await asyncio.gather(
            self._priced(token_in, token_out, self._standard(token_in, token_out), "standard"),
            self._private(token_in, token_out),
        )
        return PairLimits(cex=cex, private=private)

    async def _private(self, token_in: Token, token_out: Token) -> Limits | None:
        bounds = await self._engine.private_bounds.find(token_in, token_out)
        return await self._priced(token_in, token_out, bounds, "private")

    def _standard(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        """The widest bounds over all venues that trade the pair."""
        found = [
            limits
            for venue in self._venues.trading(token_in, token_out)
            if (limits := venue.limits(token_in, token_out)) is not None
        ]
        if not found:
            return None
        return VenueLimits(
            min(limits.minimum for limits in found), max(limits.maximum for limits in found)
        )

    async def _priced(
        self,
        token_in: Token,
        token_out: Token,
        bounds: VenueLimits | None,
        route: Literal["standard", "private"],
    ) -> Limits | None:
        """``bounds`` with what both ends pay; None when an end cannot be priced now."""
        if bounds is None:
            return None
        ends = offered(bounds, token_in)
        if ends.minimum > ends.maximum:
            return None
        least, most = await asyncio.gather(
            self._engine.best_legs(token_in, token_out, ends.minimum, route),
            self._engine.best_legs(token_in, token_out, ends.maximum, route),
        )
        if least is None or most is None:
            return None
        return Limits(
            min=ends.minimum,
            max=ends.maximum,
            min_out=least.amount_out,
            max_out=most.amount_out,
        )

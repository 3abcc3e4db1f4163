"""Smallest and largest amounts of a pair (contract 6.1 to 6.4).

What is stated here is what a quote accepts: both ends are priced before they are told. Limits
bound the amount alone; that a route would lose too much to be used is told on its row.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct

from swapdesk.service.access import Caller
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.errors import invalid
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.quoting.private_bounds import (
    ENDS_TRIED,
    contiguous,
    drawn_in,
    lowered,
    within_cap,
)
from swapdesk.service.scans import TokenScans
from swapdesk.service.venues.adapter import VenueLimits
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.encoding.numbers import short
from swapdesk.wire.pair_limits import Limits, PairLimits, PairLimitsQuery
from swapdesk.wire.tokens import Token


class _Ends(Struct, frozen=True):
    """A pair as one partner swaps it; ``markup`` in percent."""

    token_in: Token
    token_out: Token
    markup: Decimal


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
        ends = _Ends(token_in, token_out, caller.partner.default_markup)
        named = (query.token_id_from.lower(), query.token_id_to.lower())
        by_ids = named == (token_in.id.lower(), token_out.id.lower())
        # A symbol of exchanges names no token on a chain (contract 6.2).
        dex = self._engine.onchain_limits.find(token_in, token_out) if by_ids else _nothing()
        if not (token_in.has_cex and token_out.has_cex):
            return PairLimits(dex=await dex)
        found = await asyncio.gather(
            self._received(ends, "standard", self._standard(ends)),
            self._received(ends, "private", self._private(ends)),
            dex,
        )
        return PairLimits(cex=found[0], private=found[1], dex=found[2])

    async def _received(
        self,
        ends: _Ends,
        route: Literal["standard", "private"],
        sent: Coroutine[Any, Any, Limits | None],
    ) -> Limits | None:
        """The limits with what can be asked for by the amount received. Where nothing can,
        for want of fixed rates, they keep what both ends pay."""
        find = self._engine.receive_bounds.find
        limits: Limits | None
        limits, out = await asyncio.gather(
            sent, find(ends.token_in, ends.token_out, route, ends.markup)
        )
        if limits is None or out is None:
            return limits
        return limits.model_copy(update={"min_out": out.minimum, "max_out": out.maximum})

    async def _private(self, ends: _Ends) -> Limits | None:
        bounds = await self._engine.private_bounds.find(ends.token_in, ends.token_out)
        if bounds is None:
            return None
        least, most = await self._paid(ends, bounds, "private")
        if least is None or most is None:
            return None
        return _stated(bounds, least, most)

    async def _standard(self, ends: _Ends) -> Limits | None:
        """The widest bounds over all venues that price both ends now."""
        token_in, token_out = ends.token_in, ends.token_out
        found = [
            capped
            for venue in self._venues.trading(token_in, token_out)
            if (limits := venue.limits(token_in, token_out)) is not None
            and (capped := within_cap(limits, token_in)) is not None
        ]
        too_little = None
        for _ in range(ENDS_TRIED):
            bounds = contiguous(found)
            if bounds is None:
                return None
            least, most = await self._paid(ends, bounds, "standard")
            if least is not None and most is not None:
                return await self._lowered(ends, bounds, too_little, (least, most))
            if least is None:
                too_little = bounds.minimum
            found = drawn_in(found, bounds, least=least is not None, most=most is not None)
        return None

    async def _lowered(
        self,
        ends: _Ends,
        bounds: VenueLimits,
        too_little: Decimal | None,
        paid: tuple[Decimal, Decimal],
    ) -> Limits:
        """The limits with what both ends pay, the lower one as far down as it is priced."""
        found = {bounds.minimum: paid[0]}

        async def taken(amount: Decimal) -> bool:
            pays = await self._engine.pays(
                ends.token_in, ends.token_out, amount, "standard", markup=ends.markup
            )
            if pays is not None:
                found[amount] = pays
            return pays is not None

        bounds = await lowered(bounds, too_little, ends.token_in, taken)
        return _stated(bounds, found[bounds.minimum], paid[1])

    async def _paid(
        self, ends: _Ends, bounds: VenueLimits, route: Literal["standard", "private"]
    ) -> tuple[Decimal | None, Decimal | None]:
        """What the smallest and the largest amount buy; None for an end without a price."""
        least, most = await asyncio.gather(
            *(
                self._engine.pays(ends.token_in, ends.token_out, amount, route, markup=ends.markup)
                for amount in (bounds.minimum, bounds.maximum)
            )
        )
        return least, most


async def _nothing() -> None:
    return None


def _stated(bounds: VenueLimits, least_out: Decimal, most_out: Decimal) -> Limits:
    return Limits(
        min=short(bounds.minimum), max=short(bounds.maximum), min_out=least_out, max_out=most_out
    )

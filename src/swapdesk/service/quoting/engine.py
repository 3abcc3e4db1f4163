"""Checks requests for quotes, prices them, stores the quotes durably and answers (contract 6.6 to
6.29). Amounts outside the bounds of ``GET /minMax`` are refused (6.3, 6.4)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable
from decimal import Decimal
from typing import Any, Literal

from msgspec.structs import replace

from swapdesk.service.access import Caller
from swapdesk.service.dex.quoting import DexLimits, DexOffer, DexQuoting
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.quoting import rows
from swapdesk.service.quoting.asking import DEADLINE, private_send_asked, quotes_asked
from swapdesk.service.quoting.bounds import (
    KeptSearches,
    PrivateBounds,
    ReceiveBounds,
    lowered,
    priced_ends,
    taken_by,
)
from swapdesk.service.quoting.pricing import (
    RESERVE,
    PayoutRotation,
    Priced,
    Pricing,
    best_per_pair,
    ranked,
)
from swapdesk.service.quoting.routes import (
    Cause,
    Intermediaries,
    PairBounds,
    PricedRoute,
    Route,
    RouteQuestion,
    UnpricedRoute,
    alike,
    in_usd,
    loses_too_much,
    priced,
    swap_cap,
    unpriced,
)
from swapdesk.service.quoting.rows import Asked
from swapdesk.service.room import Room, Shared
from swapdesk.service.scans import TokenScans
from swapdesk.service.store.records import EVERY_ROUTE, RouteChoice, StoredQuote
from swapdesk.service.venues.adapter import Terms, VenueLimits
from swapdesk.service.venues.registry import within
from swapdesk.wire.encoding.ids import new_object_id
from swapdesk.wire.encoding.numbers import short
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.quotes import (
    Limits,
    PairLimits,
    PairLimitsQuery,
    PrivateSendQuery,
    PrivateSendQuoteList,
    Quote,
    QuoteList,
    QuoteQuery,
)
from swapdesk.wire.tokens import Token

_CLEAR = 2
"""How many times inside a route's bounds an amount must be for the pair's bounds to need no
search."""


def _kept(routes: list[Route], question: RouteQuestion, bounds: PairBounds) -> list[Route]:
    if not question.plain or _clearly_inside(routes, question):
        return routes
    outside = _outside(routes, question.amount, bounds)
    return routes if outside is None else [UnpricedRoute((), *outside)]


def _inside(routes: list[Route], question: RouteQuestion, limits: VenueLimits) -> list[Route]:
    outside = _outside(routes, question.amount, limits)
    if outside is None:
        return routes
    return [UnpricedRoute(route.legs, *outside, route.limits) for route in routes]


def _outside(
    routes: list[Route], amount: Decimal, bounds: VenueLimits
) -> tuple[Cause, Decimal] | None:
    if not any(
        isinstance(route, PricedRoute) or route.cause in ("below", "above") for route in routes
    ):
        return None
    if amount < bounds.minimum:
        return "below", bounds.minimum
    if amount > bounds.maximum:
        return "above", bounds.maximum
    return None


def _whole_side(question: RouteQuestion) -> bool:
    return question.terms.receive and question.choice.swaps is None and question.unfiltered


def _clearly_inside(routes: Iterable[Route], question: RouteQuestion) -> bool:
    amount = question.amount
    units = _CLEAR * Decimal(1).scaleb(-question.token_out.decimals)
    routes_priced = priced(routes)
    return any(
        route.limits.minimum * _CLEAR <= amount and route.amount_out >= units
        for route in routes_priced
    ) and any(amount * _CLEAR <= route.limits.maximum for route in routes_priced)


class QuoteEngine(Room):
    def __init__(self, shared: Shared, intermediaries: Iterable[str], scans: TokenScans) -> None:
        super().__init__(shared)
        self._scans = scans
        middle = Intermediaries(shared, intermediaries)
        self._pricing = Pricing(shared, middle)
        self._onchain = DexQuoting(shared)
        self.rotation = PayoutRotation(shared)
        self.private_bounds = PrivateBounds(self._pricing, middle, self._clock)
        self.receive_bounds = ReceiveBounds(shared, self._pricing, middle)
        self._onchain_limits: KeptSearches[tuple[str, str], Limits] = KeptSearches(self._clock)

    async def quotes(self, caller: Caller, query: QuoteQuery) -> QuoteList:
        """Returns the rows of all routes that the query asks for. A route without a price has a row
        with the reason."""
        asked = quotes_asked(self._catalog, self._venues, caller, query)
        question = asked.question
        self._scans.selected(question.token_in, question.token_out)
        answer, onchain = await self._everywhere(asked)
        receive = question.terms.receive
        offers = [
            (route, self._stored(asked, route))
            for route in [
                *ranked(answer.standard, receive=receive),
                *best_per_pair(answer.private, receive=receive),
            ]
        ]
        await self._store.quotes.save(
            [
                *(stored for _, stored in offers),
                *(stored for _, stored in onchain if stored is not None),
            ]
        )
        quotes = [self._row(route, stored, asked, answer.bounds) for route, stored in offers]
        quotes += [row for row, _ in onchain]
        quotes += self._losers(answer, question)
        ordered = rows.in_order(quotes, query.sort, query.sort_order)
        return QuoteList(quotes=ordered, total=len(ordered))

    async def private_send(self, caller: Caller, query: PrivateSendQuery) -> PrivateSendQuoteList:
        """Returns usable quotes of private routes that pay out the token sent. Raises
        AMOUNT_TOO_LOW for an amount not above zero."""
        asked = private_send_asked(self._catalog, self._venues, caller, query)
        token, amount = asked.question.token_in, asked.question.amount
        self._scans.selected(token)
        if amount <= 0:
            bounds = await self.private_bounds.find(token, token)
            least = bounds.minimum if bounds else Decimal(0)
            raise rows.out_of_bounds("below", token, amount, least)
        answer = await self._price(asked)
        offers = [self._stored(asked, route) for route in best_per_pair(answer.private)]
        offers = [stored for stored in offers if not stored.filtered]
        await self._store.quotes.save(offers)
        items = [rows.private_send_row(stored, answer.bounds) for stored in offers]
        return PrivateSendQuoteList(total=len(items), quotes=items)

    async def executable(self, asked: Asked, *, refundable: bool) -> list[StoredQuote]:
        """Returns quotes that can be executed now, standard routes before private ones, each kind
        best first. Does not store the quotes. If ``refundable`` is False, leaves out routes that
        need a refund address. Raises AMOUNT_TOO_LOW, QUOTE_OVER_LIMIT."""
        self._scans.selected(asked.question.token_in, asked.question.token_out)
        answer = await self._price(asked)
        routes = [*ranked(answer.standard), *best_per_pair(answer.private)]
        offers = [self._stored(asked, route) for route in routes]
        return [
            quote
            for quote in offers
            if not quote.filtered and (refundable or not quote.requires_refund_address)
        ]

    async def best_legs(
        self,
        token_in: Token,
        token_out: Token,
        amount: Decimal,
        route: Literal["standard", "private"],
        *,
        exclude: frozenset[tuple[str, ...]] = frozenset(),
        markup: Decimal = Decimal(0),
        choice: RouteChoice = EVERY_ROUTE,
        partner_id: str | None = None,
    ) -> PricedRoute | None:
        """Returns the floating route that pays most, among the routes that fit ``choice`` and do
        not lose too much value; None if there is none. ``exclude`` lists routes by venue codes;
        ``markup`` is in percent. Without ``partner_id``, payout wallets do not rotate."""
        question = RouteQuestion(
            token_in,
            token_out,
            amount,
            Terms(markup=markup),
            choice,
            frozenset({route}),
            exclude=exclude,
        )
        answer = await self._pricing.price(question)
        usable: list[Route] = [
            candidate
            for candidate in priced(answer.routes)
            if not loses_too_much(
                in_usd(token_in, candidate.amount_in), in_usd(token_out, candidate.amount_out)
            )
        ]
        if route == "private" and partner_id is not None:
            usable = await self.rotation.rotated(usable, choice, partner_id, receive=False)
        return next(iter(ranked(usable)), None)

    async def pays(self, question: RouteQuestion) -> Decimal | None:
        """Returns what the best route pays now, in the token received; None if no route has a
        price. Includes routes whose quotes would be filtered."""
        answer = await self._pricing.price(question)
        return max((route.amount_out for route in priced(answer.routes)), default=None)

    async def limits(self, caller: Caller, query: PairLimitsQuery) -> PairLimits:
        """Returns a pair's limits by route type; None for a type without a route (contract 6.1 to
        6.4). ``minOut`` and ``maxOut`` assume the account's default markup. An amount inside the
        limits can still lose too much value."""
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
        dex = self._dex_limits(token_in, token_out, by_ids=by_ids)
        if not (token_in.has_cex and token_out.has_cex):
            return PairLimits(dex=await dex)
        limits = await asyncio.gather(
            self._received(pair, "standard", self._standard_limits),
            self._received(pair, "private", self._private_limits),
            dex,
        )
        return PairLimits(cex=limits[0], private=limits[1], dex=limits[2])

    async def _received(
        self,
        pair: RouteQuestion,
        route: Literal["standard", "private"],
        sent: Callable[[RouteQuestion], Coroutine[Any, Any, Limits | None]],
    ) -> Limits | None:
        pair = replace(pair, types=frozenset({route}))
        ends = pair.token_in, pair.token_out
        limits: Limits | None
        limits, out = await asyncio.gather(
            sent(pair), self.receive_bounds.find(*ends, route, pair.terms.markup)
        )
        if limits is None or out is None:
            return limits
        return limits.model_copy(update={"min_out": out.minimum, "max_out": out.maximum})

    async def _dex_limits(
        self, token_in: Token, token_out: Token, *, by_ids: bool
    ) -> Limits | None:
        if not (by_ids and token_in.has_dex and token_out.has_dex):
            return None
        search = DexLimits(self._onchain, token_in, token_out)
        return await self._onchain_limits.find((token_in.id, token_out.id), search.find)

    async def _private_limits(self, pair: RouteQuestion) -> Limits | None:
        bounds = await self.private_bounds.find(pair.token_in, pair.token_out)
        if bounds is None:
            return None
        ends = bounds.minimum, bounds.maximum
        least, most = await asyncio.gather(*(self.pays(replace(pair, amount=end)) for end in ends))
        if least is None or most is None:
            return None
        return _stated(bounds, least, most)

    async def _standard_limits(self, pair: RouteQuestion) -> Limits | None:
        token_in, token_out = pair.token_in, pair.token_out
        paid: dict[Decimal, Decimal] = {}

        async def taken(amount: Decimal) -> bool:
            pays = await self.pays(replace(pair, amount=amount))
            if pays is not None:
                paid[amount] = pays
            return pays is not None

        async def asked(bounds: VenueLimits) -> tuple[bool, bool]:
            least, most = await asyncio.gather(taken(bounds.minimum), taken(bounds.maximum))
            return least, most

        intervals = taken_by(self._venues.trading(token_in, token_out), token_in, token_out)
        priced_bounds = await priced_ends(intervals, asked)
        if priced_bounds is None:
            return None
        bounds = await lowered(*priced_bounds, token_in, taken)
        return _stated(bounds, paid[bounds.minimum], paid[bounds.maximum])

    async def _everywhere(self, asked: Asked) -> tuple[Priced, list[DexOffer]]:
        if asked.onchain is None:
            return await self._price(asked), []
        swaps = asked.question.choice.swaps
        (answer, refusal), onchain = await asyncio.gather(
            self._judged(asked), self._onchain.offers(asked.onchain, asked.partner_id, swaps)
        )
        if refusal is not None and not any(stored for _, stored in onchain):
            raise refusal
        # Where a chain takes the amount, centralized routes only say why they do not.
        return answer, onchain

    async def _price(self, asked: Asked) -> Priced:
        answer, refusal = await self._judged(asked)
        if refusal is not None:
            raise refusal
        return answer

    async def _judged(self, asked: Asked) -> tuple[Priced, ServiceError | None]:
        question = asked.question
        if not (question.token_in.has_cex and question.token_out.has_cex) or not question.types:
            return Priced([], [], 0.0), None
        cap = swap_cap(question.token_in)
        if cap is not None and not question.terms.receive and question.amount > cap:
            return await self._over_cap(question, cap)
        answer = await self._by_bounds(question)
        private = await self.rotation.rotated(
            answer.private, question.choice, asked.partner_id, receive=question.terms.receive
        )
        answer = replace(answer, private=alike(private, answer.bounds))
        return answer, await self._pricing.refusal(answer, question)

    async def _by_bounds(self, question: RouteQuestion) -> Priced:
        """Prices routes and refuses amounts outside the pair's bounds, unless the question has
        filters. Amounts received are checked on all routes; amounts sent only on private routes
        with floating rates."""
        pair = question.token_in, question.token_out
        markup = question.terms.markup
        searches: list[asyncio.Task[VenueLimits | None]] = []
        if "private" in question.types and question.choice.swaps is None:
            searches.append(asyncio.create_task(self.private_bounds.find(*pair)))
        received = sorted(question.types) if _whole_side(question) else []
        for route in received:
            searches.append(asyncio.create_task(self.receive_bounds.find(*pair, route, markup)))
        try:
            answer = await self._pricing.price(question)
            if not (answer.private or received):
                return answer
            left = max(DEADLINE - answer.waited, RESERVE)
            if searches:
                with contextlib.suppress(TimeoutError):
                    await within(self._clock, left, asyncio.wait(searches))
            bounds_found = [search.result() if search.done() else None for search in searches]
        finally:
            for search in searches:
                search.cancel()
        # Where a search takes too long, what was found last stands.
        of_received = bounds_found[len(bounds_found) - len(received) :]
        of_pair = (
            bounds_found[0] or self.private_bounds.last(*pair)
            if len(bounds_found) > len(received)
            else None
        )
        if isinstance(of_pair, PairBounds) and answer.private:
            private = _kept(answer.private, question, of_pair)
            answer = replace(answer, private=private, bounds=of_pair)
        for route, limits in zip(received, of_received, strict=True):
            limits = limits or self.receive_bounds.last(*pair, route, markup)
            if limits is not None:
                routes = getattr(answer, route)
                answer = replace(answer, **{route: _inside(routes, question, limits)})
        return answer

    async def _over_cap(self, question: RouteQuestion, cap: Decimal) -> tuple[Priced, ServiceError]:
        """Refuses an amount above ``cap``, the largest swap. Returns the routes without prices, and
        an error with the largest amount that these routes take."""
        most = replace(question, amount=cap)
        refused = (await self._by_bounds(most)).refused_above(cap)
        refusal = await self._pricing.refusal(refused, question)
        if refusal is None or refusal.code is not ErrorCode.QUOTE_OVER_LIMIT:
            refusal = rows.out_of_bounds(
                "above",
                question.token_in,
                question.amount,
                refused.largest or cap,
            )
        return refused, refusal

    def _stored(self, asked: Asked, route: PricedRoute) -> StoredQuote:
        needs_refund = self._venues.asked(route.legs[0]).traits.requires_refund_address
        return rows.stored(
            route,
            asked,
            quote_id=new_object_id(self._rng),
            created=self._clock.now(),
            requires_refund_address=asked.question.terms.fixed or needs_refund,
        )

    def _row(
        self, route: PricedRoute, stored: StoredQuote, asked: Asked, bounds: PairBounds | None
    ) -> Quote:
        token_in = asked.question.token_in
        if stored.route == "private":
            return rows.private_row(stored, route, asked, bounds)
        provider = self._venues.asked(route.legs[0]).provider
        return rows.standard_row(stored, route, provider, token_in, asked)

    def _losers(self, answer: Priced, question: RouteQuestion) -> list[Quote]:
        waited = answer.waited
        lost = [
            rows.standard_error_row(
                route, question, waited, self._venues.asked(route.legs[0]).provider
            )
            for route in unpriced(answer.standard)
        ]
        if not priced(answer.private):
            lost += [
                rows.private_error_row(route, question, waited, answer.bounds)
                for route in rows.summed_up(answer.private)
            ]
        return lost


def _stated(bounds: VenueLimits, least_out: Decimal, most_out: Decimal) -> Limits:
    return Limits(
        min=short(bounds.minimum), max=short(bounds.maximum), min_out=least_out, max_out=most_out
    )

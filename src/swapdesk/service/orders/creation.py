"""Creates, looks up and lists the orders of a partner. A quote becomes at most one order (contract
7.6); after a crash the worker finishes it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Iterable
from weakref import WeakValueDictionary

from swapdesk.service.access import Caller
from swapdesk.service.catalog import page_count
from swapdesk.service.dex.desk import Detail, DexDesk
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.orders.draft import (
    RATE_ENDED,
    Purpose,
    account_of,
    check_destinations,
    check_refund,
    digest_of,
    draft,
    given_out,
    unusable,
    usable,
)
from swapdesk.service.orders.order_routes import repriced
from swapdesk.service.orders.presentation import (
    Presentation,
    visible,
    window_start,
)
from swapdesk.service.orders.route_opening import CARRY_SECONDS, Opening, OpeningUnknown
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.room import Room, Shared
from swapdesk.service.store.records import (
    Counting,
    PayoutsChanged,
    QuoteConsumed,
    QuoteGone,
    RecentPayouts,
    StoredOrder,
    StoredQuote,
)
from swapdesk.service.venues.registry import within
from swapdesk.wire.encoding.timestamps import rfc3339
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.exchanges import ExchangeRequest, PrivateSendRequest
from swapdesk.wire.orders import Order, OrderQuery, OrderStatusCode
from swapdesk.wire.tokens import Token

log = logging.getLogger(__name__)

_TWIN_POLL_SECONDS = 0.2

_NOT_OPENED = "No exchange opened this order. Nothing was charged; ask for a new quote."
_FAILURES = {
    ErrorCode.STATIC_DEPOSIT_IN_USE: (
        "All deposit addresses of this exchange are held by open orders. Nothing was charged;"
        " choose another quote, or ask again when one of those orders has ended."
    ),
    ErrorCode.FIXED_RATE_QUOTE_EXPIRED: RATE_ENDED,
}


class OrderDesk(Room):
    def __init__(self, shared: Shared, engine: QuoteEngine, dex: DexDesk) -> None:
        super().__init__(shared)
        self._in_flight: dict[str, asyncio.Event] = {}
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self.rotation = engine.rotation
        self._engine = engine
        self.dex = dex
        self.opening = Opening(shared, engine)
        self.presentation = Presentation(self._catalog, self._venues)

    async def create(
        self,
        caller: Caller,
        request: ExchangeRequest | PrivateSendRequest,
        purpose: Purpose,
        call: Counting | None = None,
    ) -> Order:
        """Creates the order of a quote; a repeated request gets the same order. ``call`` is counted
        only if the exchange begins. Raises ServiceError: INVALID_SWAP, FIXED_RATE_QUOTE_EXPIRED,
        FIXED_RATE_NOT_ALLOWED, VALIDATION_ERROR, TOKEN_DISABLED, STATIC_DEPOSIT_IN_USE,
        PROVIDER_EXCHANGE_FAILED, SERVICE_UNAVAILABLE if the outcome is unknown, or what
        ``call.take`` raises."""
        partner_id = caller.partner.partner_id
        # Twins take turns until the first has begun: nothing is prepared for the others.
        turn = self._turns.setdefault((partner_id, request.quote_id), asyncio.Lock())
        async with turn:
            earlier, stored = None, await self._store.quotes.get(partner_id, request.quote_id)
            if stored is None or stored.consumed_by is not None:
                earlier = await self._store.orders.of_quote(partner_id, request.quote_id)
            if earlier is None:
                quote = await self._acceptable(caller, stored, request, purpose)
                notes = await self._prepared(quote, request)
                try:
                    order = await self._begin(
                        quote, request, digest_of(request, purpose), notes, call, caller.payment
                    )
                except QuoteGone:
                    raise unusable() from None
                except QuoteConsumed as consumed:
                    earlier = await self._store.orders.current(consumed.service_id)
                    if earlier is None:
                        raise unusable() from None
        if earlier is not None:
            if caller.payment is not None:
                # Whoever pays for a create whose own payment failed is told of its order.
                await self._store.payments.pay_for(caller.payment, earlier.service_id)
            return await self._replay(earlier, _digests(request, purpose))
        try:
            return self._answer(await self._carry(order))
        finally:
            self._land(order)

    async def _acceptable(
        self,
        caller: Caller,
        stored: StoredQuote | None,
        request: ExchangeRequest | PrivateSendRequest,
        purpose: Purpose,
    ) -> StoredQuote:
        quote = usable(stored, purpose, self._clock.now())
        if quote.fixed and not caller.partner.fixed_rates:
            raise ServiceError(ErrorCode.FIXED_RATE_NOT_ALLOWED, "This account has no fixed rates.")
        token_in = self._catalog.enabled_token(quote.token_in_id, "from")
        token_out = self._catalog.enabled_token(quote.token_out_id, "to")
        check_destinations(request, token_in, token_out)
        await self.check_given_out(request, token_in, token_out)
        check_refund(request, quote)
        return await repriced(self._venues, self._engine, quote, request, token_in, token_out)

    async def check_given_out(
        self, request: PrivateSendRequest, token_in: Token, token_out: Token
    ) -> None:
        """Raises VALIDATION_ERROR if the payout or refund address, however it is spelled, is the
        deposit address of an order (contract 7.15)."""
        since = window_start(self._clock.now())
        named = (
            ("addressTo", request.address_to, token_out),
            ("refundAddress", request.refund_address, token_in),
        )
        for field, address, token in named:
            if address and await self._store.orders.gave_out(account_of(address, token), since):
                raise given_out(field, address)

    async def _prepared(
        self, quote: StoredQuote, request: ExchangeRequest | PrivateSendRequest
    ) -> Detail | None:
        if quote.route != "dex":
            return None
        if not isinstance(request, ExchangeRequest):
            raise unusable()
        return await self.dex.prepare(quote, request)

    async def get(self, caller: Caller, service_id: str) -> Order:
        """Returns an order of the caller. Raises NOT_FOUND, also if the order is another partner's
        or too old."""
        return self.presentation.order(await self._found(caller, service_id))

    async def encoded(self, caller: Caller, service_id: str) -> bytes:
        """Returns an order as JSON, in its present state. Raises like :meth:`get`."""
        if self.presentation.is_written(service_id):
            held = await self._store.orders.version(caller.partner.partner_id, service_id)
            if held is None or not visible(held[1], self._clock.now()):
                raise _no_such_order()
            written = self.presentation.written(service_id, held[0])
            if written is not None:
                return written
        return self.presentation.encoded(await self._found(caller, service_id))

    async def _found(self, caller: Caller, service_id: str) -> StoredOrder:
        order = await self.find(caller.partner.partner_id, service_id)
        if order is None:
            raise _no_such_order()
        return order

    async def find(self, partner_id: str, service_id: str) -> StoredOrder | None:
        order = await self._store.orders.get(partner_id, service_id)
        if order is None or not visible(order.created, self._clock.now()):
            return None
        return order

    async def known(self, partner_id: str, service_ids: Iterable[str]) -> set[str]:
        since = window_start(self._clock.now())
        return await self._store.orders.known(partner_id, service_ids, since)

    async def encoded_list(self, caller: Caller, query: OrderQuery) -> bytes:
        """Returns a page of the caller's orders as JSON. Orders older than 48 hours are not listed,
        even if ``from`` is earlier. Raises VALIDATION_ERROR if ``from`` is after ``to``."""
        if query.from_ is not None and query.to is not None and query.from_ > query.to:
            raise invalid("from", "'from' must not be after 'to'", rfc3339(query.from_))
        since = window_start(self._clock.now())
        since = since if query.from_ is None else max(since, query.from_)
        orders, total = await self._store.orders.page(caller.partner.partner_id, since, query)
        written = b",".join(map(self.presentation.listed, orders))
        pages = page_count(total, query.page_size)
        return b'{"orders":[%b],"total":%d,"totalPages":%d}' % (written, total, pages)

    async def _begin(
        self,
        quote: StoredQuote,
        request: ExchangeRequest | PrivateSendRequest,
        digest: str,
        notes: Detail | None,
        call: Counting | None,
        payment: str | None,
    ) -> StoredOrder:
        """Stores and returns the new order before any venue is asked. ``notes`` is the ``detail``
        of a DEX order; None for other orders. Raises QuoteGone, QuoteConsumed, INVALID_SWAP, and
        what ``call.take`` raises."""
        if quote.payout_wallet is None:
            return await self._written(self._drafted(quote, request, digest, notes), call, payment)
        while True:
            recent = await self.rotation.recent(quote.choice, quote.partner_id)
            renewed = self.rotation.renewed(quote, recent.wallets)
            if renewed is None:
                twin = await self._store.orders.of_quote(quote.partner_id, quote.quote_id)
                raise unusable() if twin is None else QuoteConsumed(twin.service_id)
            order = self._drafted(renewed, request, digest, notes)
            with contextlib.suppress(PayoutsChanged):
                return await self._written(order, call, payment, recent)

    def _drafted(
        self,
        quote: StoredQuote,
        request: ExchangeRequest | PrivateSendRequest,
        digest: str,
        notes: Detail | None,
    ) -> StoredOrder:
        now = self._clock.now()
        # Drawn per quote, so that a generator that starts over never repeats an order's id.
        rng = random.Random(f"{self._rng.getrandbits(128)} {quote.quote_id} {now}")
        return draft(quote, request, digest, now, rng, notes)

    async def _written(
        self,
        order: StoredOrder,
        call: Counting | None,
        payment: str | None,
        payouts: RecentPayouts | None = None,
    ) -> StoredOrder:
        self._in_flight[order.service_id] = asyncio.Event()
        try:
            await self._store.orders.begin(order, call=call, payouts=payouts, payment=payment)
        except BaseException:
            self._land(order)
            raise
        return order

    def _land(self, order: StoredOrder) -> None:
        self._in_flight.pop(order.service_id).set()

    async def _carry(self, order: StoredOrder) -> StoredOrder:
        try:
            return await self.opening.carry(order, ask_first=False)
        except OpeningUnknown as unknown:
            log.warning("order %s: outcome unknown: %s", order.service_id, unknown)
            raise _outcome_unknown() from unknown

    async def _replay(self, order: StoredOrder, digests: tuple[str, ...]) -> Order:
        """Answers a repeated create request with the order or error of the first request, waiting
        if needed. Raises INVALID_SWAP if the order is not visible or the requests differ,
        SERVICE_UNAVAILABLE if the outcome is not known in time."""
        if not visible(order.created, self._clock.now()):
            raise unusable()
        if order.request_digest not in digests:
            raise ServiceError(
                ErrorCode.INVALID_SWAP, "This quote was already used with other parameters."
            )
        deadline = self._clock.monotonic() + CARRY_SECONDS
        looks = 0
        while order.status < OrderStatusCode.WAITING:
            landed = self._in_flight.get(order.service_id)
            left = deadline - self._clock.monotonic()
            if left <= 0:
                raise _outcome_unknown()
            if landed is not None:
                with contextlib.suppress(TimeoutError):
                    await within(self._clock, left, landed.wait())
            elif looks:
                await self._clock.sleep(_TWIN_POLL_SECONDS)
            looks += 1
            current = await self._store.orders.current(order.service_id)
            if current is None:
                raise unusable()
            if landed is not None and current.status < OrderStatusCode.WAITING:
                raise _outcome_unknown()
            order = current
        return self._answer(order)

    def _answer(self, order: StoredOrder) -> Order:
        if order.failure_code is not None:
            code = ErrorCode(order.failure_code)
            raise ServiceError(code, _FAILURES.get(code, _NOT_OPENED))
        if order.status < OrderStatusCode.WAITING:
            raise _outcome_unknown()
        return self.presentation.order(order, fresh=True)


def _digests(request: ExchangeRequest | PrivateSendRequest, purpose: Purpose) -> tuple[str, ...]:
    """Returns the digest of a create request for each of the two operations that create orders,
    because a request may be repeated at the other operation."""
    other: Purpose = "private_send" if purpose == "exchange" else "exchange"
    return digest_of(request, purpose), digest_of(request, other)


def _no_such_order() -> ServiceError:
    return ServiceError(ErrorCode.NOT_FOUND, "There is no such order.")


def _outcome_unknown() -> ServiceError:
    return ServiceError(
        ErrorCode.SERVICE_UNAVAILABLE,
        "It is not known yet whether the order was opened. Repeat the same request to learn it.",
    )

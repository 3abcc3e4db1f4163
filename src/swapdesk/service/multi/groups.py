"""Creates and shows batches of orders. An order that has a problem gets an error of its own; the
others are created in one commit. Filters: contract 9.2."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.service.access import Caller
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.service.orders.draft import check_destinations, check_refund, draft
from swapdesk.service.orders.lifecycle import Worker
from swapdesk.service.orders.presentation import visible
from swapdesk.service.quoting.asking import in_units, require_self_private
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.quoting.routes import RouteQuestion, require_known
from swapdesk.service.quoting.rows import Asked
from swapdesk.service.room import Room, Shared
from swapdesk.service.store.database import StoreUnavailable
from swapdesk.service.store.records import (
    EVERY_ROUTE,
    Counting,
    PayoutsChanged,
    RecentPayouts,
    RouteChoice,
    StoredGroup,
    StoredOrder,
    StoredQuote,
)
from swapdesk.service.venues.adapter import Terms
from swapdesk.service.venues.registry import Venues, within
from swapdesk.wire.encoding.ids import new_order_id
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.exchanges import ExchangeRequest
from swapdesk.wire.multi import (
    LegProviders,
    MultiExchange,
    MultiExchangeRequest,
    MultiExchangeStatus,
    MultiOrderError,
    MultiOrderRequest,
    MultiOrderResult,
    RouteFilters,
)
from swapdesk.wire.orders import Order, OrderStatusCode
from swapdesk.wire.tokens import Token

log = logging.getLogger(__name__)

_ANSWER_SECONDS = 5.0
_DOUBT_SECONDS = 15.0
"""Seconds to keep asking the database whether a commit succeeded. Clients wait longer for their
answer."""
_DOUBT_POLL_SECONDS = 0.5
_IN_DOUBT = (
    "It is not known yet whether the group was created. Look for its orders in the list of orders"
    " before you send it again."
)


def check_filters(filters: RouteFilters | None, venues: Venues) -> None:
    """Raises VALIDATION_ERROR, with the field's path, if the filters name an unknown provider or if
    ``onlySwaps`` names a disabled one."""
    if filters is None:
        return
    if filters.only_swaps is not None:
        require_known("filters.onlySwaps", filters.only_swaps, venues, routing=True)
    for name, leg in (("inLeg", filters.in_leg), ("outLeg", filters.out_leg)):
        for side, codes in () if leg is None else leg:
            if codes is not None:
                require_known(f"filters.{name}.{side}", codes, venues, routing=False)


def merged(own: RouteFilters | None, group: RouteFilters | None) -> RouteFilters:
    """Returns an order's own filters; each filter that the order does not set is taken from the
    batch."""
    base = group or RouteFilters()
    if own is None:
        return base
    given = {name: getattr(own, name) for name in own.model_fields_set}
    return base.model_copy(
        update={name: value for name, value in given.items() if value is not None}
    )


def choice_of(order: MultiOrderRequest, group: RouteFilters | None) -> RouteChoice:
    filters = merged(order.filters, group)
    only = None if filters.only_swaps is None else tuple(dict.fromkeys(filters.only_swaps))
    if not order.anonymous:
        return replace(EVERY_ROUTE, swaps=only)
    usual = EVERY_ROUTE
    return RouteChoice(
        in_included=_included(filters.in_leg, only, "inLeg"),
        in_excluded=_codes(filters.in_leg, "exclude"),
        out_included=_included(filters.out_leg, only, "outLeg"),
        out_excluded=_codes(filters.out_leg, "exclude"),
        use_xmr=order.use_xmr,
        rotate_payout_wallets=bool(filters.rotate_payout_wallets),
        deviation_threshold=(
            usual.deviation_threshold
            if filters.deviation_threshold is None
            else filters.deviation_threshold
        ),
        rotation_lookback=filters.rotation_lookback or usual.rotation_lookback,
    )


def _codes(leg: LegProviders | None, side: str) -> tuple[str, ...] | None:
    codes: list[str] | None = None if leg is None else getattr(leg, side)
    return None if codes is None else tuple(dict.fromkeys(codes))


def _included(
    leg: LegProviders | None, only: tuple[str, ...] | None, name: str
) -> tuple[str, ...] | None:
    included = _codes(leg, "include")
    if included is None or only is None:
        return included or only
    both = tuple(code for code in included if code in only)
    if not both:
        raise invalid(f"filters.{name}.include", "leaves nobody of onlySwaps", list(included))
    return both


_NO_ROUTE = "No exchange can carry out this order at present."


class Accepted(Struct, frozen=True):
    """An order of a batch that is checked and priced but not created yet. ``quotes`` are
    alternatives that differ in the payout wallet; the first is used."""

    request: ExchangeRequest
    quotes: tuple[StoredQuote, ...]

    @property
    def quote(self) -> StoredQuote:
        return self.quotes[0]


def _as_exchange(order: MultiOrderRequest) -> ExchangeRequest:
    return ExchangeRequest(
        quote_id="none",
        address_to=order.address_to,
        destination_tag=order.destination_tag,
        refund_address=order.refund_address,
        refund_extra_id=order.refund_extra_id,
        wallet_info=order.wallet_info,
    )


def drafted(accepted: Accepted, multi_id: str, now: datetime, rng: random.Random) -> StoredOrder:
    """Returns the row of an order that is priced but not opened (status -1). A worker may handle
    the order at once."""
    row = draft(accepted.quote, accepted.request, f"multi {multi_id}", now, rng)
    return replace(row, status=int(OrderStatusCode.NEW), due_at=row.created, multi_id=multi_id)


_PRICED_AT_ONCE = 25
"""Number of orders priced at a time; more would only wait for the same venues."""

_NO_WALLET = "Every payout wallet in reach of the best price was used lately."


class GroupDesk(Room):
    """Creates batches of orders and shows them. A process has one GroupDesk."""

    def __init__(
        self, shared: Shared, engine: QuoteEngine, desk: OrderDesk, worker: Worker
    ) -> None:
        super().__init__(shared)
        self._engine = engine
        self._desk = desk
        self._worker = worker

    async def create(
        self,
        caller: Caller,
        request: MultiExchangeRequest,
        call: Counting | None = None,
    ) -> MultiExchange:
        """Creates the orders of a batch that can be created; returns errors for the others.
        ``call`` is counted once if any order is created. Raises ServiceError if the whole batch is
        refused: VALIDATION_ERROR, TOKEN_NOT_FOUND, TOKEN_DISABLED, FIXED_RATE_NOT_ALLOWED, or what
        ``call.take`` raises."""
        if any(order.fixed for order in request.orders) and not caller.partner.fixed_rates:
            raise ServiceError(ErrorCode.FIXED_RATE_NOT_ALLOWED, "This account has no fixed rates.")
        check_filters(request.filters, self._venues)
        pairs = [self._tokens(number, order) for number, order in enumerate(request.orders)]
        chain = _one_chain([token_in for token_in, _ in pairs])
        places = asyncio.Semaphore(_PRICED_AT_ONCE)

        async def accepted(number: int) -> Accepted | ServiceError:
            order, (token_in, token_out) = request.orders[number], pairs[number]
            async with places:
                try:
                    return await self._accept(caller, order, request.filters, token_in, token_out)
                except ServiceError as error:
                    return error

        results = await asyncio.gather(*map(accepted, range(len(pairs))))
        while True:
            with contextlib.suppress(PayoutsChanged):
                return await self._begin(caller, chain, list(results), call)

    def _tokens(self, number: int, order: MultiOrderRequest) -> tuple[Token, Token]:
        return (
            self._catalog.enabled_token(order.from_, f"orders.{number}.from"),
            self._catalog.enabled_token(order.to, f"orders.{number}.to"),
        )

    async def _accept(
        self,
        caller: Caller,
        order: MultiOrderRequest,
        group: RouteFilters | None,
        token_in: Token,
        token_out: Token,
    ) -> Accepted:
        """Checks and prices one order of a batch. Raises ServiceError if this order is refused:
        VALIDATION_ERROR, AMOUNT_TOO_LOW, QUOTE_OVER_LIMIT, INVALID_SWAP."""
        check_filters(order.filters, self._venues)
        private, fixed = bool(order.anonymous), bool(order.fixed)
        if token_in.id == token_out.id:
            if not private:
                message = "must differ from 'from'; the same token needs anonymous"
                raise invalid("to", message, order.to)
            require_self_private(token_in, order.from_)
        question = RouteQuestion(
            token_in,
            token_out,
            in_units(token_in, order.amount),
            Terms(fixed, False, caller.partner.default_markup),
            choice_of(order, group),
            frozenset({"private" if private else "standard"}),
            markup_optional=True,
        )
        asked = Asked(
            question,
            caller.partner.partner_id,
            private_send=token_in.id == token_out.id,
            markup_told=False,
        )
        if fixed and order.refund_address is None:
            raise invalid("refundAddress", "is required for a fixed rate")
        request = _as_exchange(order)
        check_destinations(request, token_in, token_out)
        await self._desk.check_given_out(request, token_in, token_out)
        quotes = await self._engine.executable(asked, refundable=order.refund_address is not None)
        if not quotes:
            raise ServiceError(ErrorCode.INVALID_SWAP, _NO_ROUTE)
        check_refund(request, quotes[0])
        return Accepted(request, tuple(quotes))

    async def _begin(
        self,
        caller: Caller,
        chain: str,
        results: list[Accepted | ServiceError],
        call: Counting | None,
    ) -> MultiExchange:
        partner_id, payouts = caller.partner.partner_id, None
        accepted = [result.quote for result in results if isinstance(result, Accepted)]
        rotated = next((quote for quote in accepted if quote.payout_wallet is not None), None)
        if rotated is not None:
            payouts = await self._desk.rotation.recent(rotated.choice, partner_id)
            results = self._with_wallets(results, payouts)
        now = self._clock.now()
        # Drawn for this group, so that a generator that starts over repeats no id.
        rng = random.Random(f"{self._rng.getrandbits(128)} multi {now}")
        multi_id = new_order_id(rng)
        rows: list[StoredOrder | ServiceError] = [
            drafted(result, multi_id, now, rng) if isinstance(result, Accepted) else result
            for result in results
        ]
        group = StoredGroup(multi_id, partner_id, now, chain)
        orders = [row for row in rows if isinstance(row, StoredOrder)]
        begins = call if orders else None
        await self._written(
            partial(
                self._store.groups.begin,
                *(group, orders),
                call=begins,
                payouts=payouts,
                payment=caller.payment,
            )
        )
        by_id = {row.service_id: row for row in await self._set_up(group, orders)}
        return MultiExchange(
            multi_id=multi_id,
            orders=[
                self._told(by_id[row.service_id] if isinstance(row, StoredOrder) else row)
                for row in rows
            ],
        )

    async def _written(self, begin: Callable[..., Awaitable[None]]) -> None:
        """Calls ``begin``, which writes a batch, and repeats the call while it is unknown whether
        the commit succeeded. Raises SERVICE_UNAVAILABLE if this takes too long, StoreUnavailable if
        nothing was written."""
        until = self._clock.monotonic() + _DOUBT_SECONDS
        in_doubt = False
        while True:
            try:
                return await begin(in_doubt=in_doubt)
            except StoreUnavailable as unavailable:
                in_doubt = in_doubt or unavailable.in_doubt
                if not in_doubt:
                    raise
                log.warning("a group is in doubt: %s", unavailable)
                if self._clock.monotonic() >= until:
                    raise ServiceError(ErrorCode.SERVICE_UNAVAILABLE, _IN_DOUBT) from unavailable
            await self._clock.sleep(_DOUBT_POLL_SECONDS)

    async def _set_up(
        self, group: StoredGroup, orders: Sequence[StoredOrder]
    ) -> Sequence[StoredOrder]:
        """Waits up to five seconds until all orders have deposit addresses (contract 9.5); returns
        the orders as they are then."""
        until = self._clock.monotonic() + _ANSWER_SECONDS
        for order in orders:
            self._worker.hint(order.service_id)
        with (
            self._store.database.growth() as grown,
            contextlib.suppress(TimeoutError, StoreUnavailable),
        ):
            while self._worker.runs:
                grown.clear()
                orders = await self._store.groups.orders(group.partner_id, group.multi_id)
                if all(order.status >= OrderStatusCode.WAITING for order in orders):
                    break
                await within(self._clock, until - self._clock.monotonic(), grown.wait())
        return orders

    def _with_wallets(
        self, results: list[Accepted | ServiceError], payouts: RecentPayouts
    ) -> list[Accepted | ServiceError]:
        chosen: list[Accepted | ServiceError] = []
        used = set(payouts.wallets)
        for result in results:
            if not isinstance(result, Accepted) or result.quote.payout_wallet is None:
                chosen.append(result)
                continue
            renewals = (self._desk.rotation.renewed(quote, used) for quote in result.quotes)
            renewed = next((quote for quote in renewals if quote is not None), None)
            if renewed is None:
                chosen.append(ServiceError(ErrorCode.INVALID_SWAP, _NO_WALLET))
                continue
            used.add((renewed.legs[-1], renewed.payout_wallet or 0))
            chosen.append(replace(result, quotes=(renewed,)))
        return chosen

    def _told(self, row: StoredOrder | ServiceError) -> MultiOrderResult:
        if isinstance(row, StoredOrder):
            return MultiOrderResult(order=self._desk.presentation.order(row, fresh=True))
        error = MultiOrderError(message=row.message, code=row.code, fields=row.fields)
        return MultiOrderResult(error=error)

    async def found(self, caller: Caller, multi_id: str) -> StoredGroup:
        """Returns the caller's batch of orders. Raises NOT_FOUND, also if the batch is another
        partner's or too old."""
        group = await self._store.groups.get(caller.partner.partner_id, multi_id)
        if group is None or not visible(group.created, self._clock.now()):
            raise ServiceError(ErrorCode.NOT_FOUND, "There is no such group of orders.")
        return group

    async def status(self, caller: Caller, multi_id: str) -> MultiExchangeStatus:
        """Returns all orders of a batch and the state of its newest bundle. Raises NOT_FOUND like
        :meth:`found`."""
        group = await self.found(caller, multi_id)
        orders = await self._store.groups.orders(group.partner_id, group.multi_id)
        bundles = await self._store.groups.bundles(group.partner_id, group.multi_id)
        shown = [self._shown(row) for row in orders]
        if not bundles:
            return MultiExchangeStatus(multi_id=multi_id, orders=shown)
        newest = bundles[0]
        return MultiExchangeStatus(
            multi_id=multi_id,
            orders=shown,
            bundle_status=newest.state,
            tx_hash=newest.tx_hash,
            failure_reason=newest.failure_reason if newest.state == "failed" else None,
        )

    def _shown(self, row: StoredOrder) -> Order:
        if row.status == OrderStatusCode.DELETED:
            return Order(service_id=row.service_id, status=row.status)
        return self._desk.presentation.order(row)


def _one_chain(sold: list[Token]) -> str:
    chains = list(dict.fromkeys(token.chain_data.short_name for token in sold))
    if len(chains) > 1:
        raise invalid(
            "orders",
            f"all orders of a group sell on one chain; these sell on {', '.join(chains)}",
        )
    return chains[0]

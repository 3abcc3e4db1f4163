"""One order of a group: checked, priced, and drafted as the order it becomes.

What only this order is about is told as its error and leaves the others alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import datetime

from swapdesk.service.access import Caller
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.multi.filters import check_filters, choice_of
from swapdesk.service.orders.draft import draft
from swapdesk.service.orders.quote_use import check_refund
from swapdesk.service.orders.recipients import check_destinations
from swapdesk.service.quoting.asking import in_units, require_self_private
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.quoting.routes import RouteQuestion
from swapdesk.service.quoting.rows import Asked
from swapdesk.service.store.records import StoredOrder, StoredQuote
from swapdesk.service.venues.adapter import Terms
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.exchanges import ExchangeRequest
from swapdesk.wire.multi import MultiOrderRequest, RouteFilters
from swapdesk.wire.orders import OrderStatus
from swapdesk.wire.tokens import Token

_NO_ROUTE = "No exchange can carry out this order at present."


@dataclass(frozen=True)
class Accepted:
    """An order that will be created, from the first of ``quotes`` unless its payout has to be
    rotated on; they were given to nobody."""

    request: ExchangeRequest
    quotes: tuple[StoredQuote, ...]

    @property
    def quote(self) -> StoredQuote:
        return self.quotes[0]


class OrderAsking:
    """Reads orders against the venues and the market."""

    def __init__(self, venues: Venues, engine: QuoteEngine) -> None:
        self._venues = venues
        self._engine = engine

    async def accept(
        self,
        caller: Caller,
        order: MultiOrderRequest,
        group: RouteFilters | None,
        token_in: Token,
        token_out: Token,
    ) -> Accepted:
        """Raises ServiceError for what is wrong with this order alone: VALIDATION_ERROR,
        AMOUNT_TOO_LOW, QUOTE_OVER_LIMIT, INVALID_SWAP when nothing routes it."""
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
        quotes = await self._engine.executable(asked, refundable=order.refund_address is not None)
        if not quotes:
            raise ServiceError(ErrorCode.INVALID_SWAP, _NO_ROUTE)
        check_refund(request, quotes[0])
        return Accepted(request, tuple(quotes))


def _as_exchange(order: MultiOrderRequest) -> ExchangeRequest:
    """What a create of this order alone would say; there is no quote that it could name."""
    return ExchangeRequest(
        quote_id="none",
        address_to=order.address_to,
        destination_tag=order.destination_tag,
        refund_address=order.refund_address,
        refund_extra_id=order.refund_extra_id,
        wallet_info=order.wallet_info,
    )


def drafted(accepted: Accepted, multi_id: str, now: datetime, rng: random.Random) -> StoredOrder:
    """The row at -1: priced, opened by nobody yet, and due at once."""
    row = draft(accepted.quote, accepted.request, f"multi {multi_id}", now, rng)
    return replace(row, status=int(OrderStatus.NEW), due_at=row.created, multi_id=multi_id)

"""The routes of an order: its legs and their keys, the next best route, and repricing (contract
7.11). A leg's key is never used at two venues (contract 17.5)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Literal

from msgspec.structs import replace

from swapdesk.service.errors import ServiceError
from swapdesk.service.orders.draft import is_address
from swapdesk.service.orders.states import centralized
from swapdesk.service.quoting.engine import QuoteEngine
from swapdesk.service.quoting.routes import in_usd, leg_filters
from swapdesk.service.store.records import RouteChoice, StoredOrder, StoredQuote
from swapdesk.service.venues.adapter import (
    DepositInstruction,
    LegOrder,
    Terms,
)
from swapdesk.service.venues.registry import Venues
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.exchanges import PrivateSendRequest
from swapdesk.wire.tokens import Token

Position = Literal["in", "out", "back"]
"""A leg of an order; ``back`` returns the token originally sent if a private order fails
part-way."""

SECOND_LEG_PATIENCE = timedelta(hours=24)
"""How much longer than the first deposit address of a private order the second stays open. The
first leg pays to the second address."""


def codes_of(order: StoredOrder, name: Literal["refusals", "openedInVain", "moves"]) -> list[str]:
    """Returns the venues that an order no longer uses, from the list ``name`` in its ``detail``:
    ``refusals`` (legs, as ``in:code`` or ``out:code``), ``openedInVain`` (second legs whose first
    leg was refused) or ``moves`` (legs given up after the deposit)."""
    listed = order.text(name)
    return listed.split(",") if listed else []


def leg_key(order: StoredOrder, position: Position) -> str:
    """Returns the key by which a venue knows a leg: ``<serviceId>:in``, or ``<serviceId>:in#2`` on
    the second route. If the venue took over the leg from another venue, the key is stored in the
    order."""
    number = len(codes_of(order, "refusals")) + 1
    return order.text(f"{position}Key") or _numbered(order, position, number)


def next_key(order: StoredOrder, position: Position) -> str:
    return _numbered(
        order, position, len(codes_of(order, "refusals")) + len(codes_of(order, "moves")) + 2
    )


def _numbered(order: StoredOrder, position: Position, number: int) -> str:
    return f"{order.service_id}:{position}" + (f"#{number}" if number > 1 else "")


def terms_of(order: StoredOrder, position: Position) -> Terms:
    pays_out = position == "out" or order.route == "standard"
    return Terms(order.fixed, order.receive, order.markup if pays_out else Decimal(0))


def _rate(order: StoredOrder, number: int) -> str | None:
    return order.rates[number] if order.fixed and len(order.rates) > number else None


def routes_with(
    refused: Iterable[str],
    opened: Iterable[str],
    codes: Iterable[str],
    route: Literal["standard", "private"],
) -> frozenset[tuple[str, ...]]:
    """Returns the routes between ``codes`` that an order must not use. Such a route contains a
    venue that refused a leg, or begins with a venue in ``opened``, which opened a second leg in
    vain and would know both ends."""
    everyone = tuple(codes)
    routes: set[tuple[str, ...]] = set()
    for refusal in refused:
        code = refusal.partition(":")[2]
        if route == "standard":
            routes.add((code,))
        else:
            routes.update((code, other) for other in everyone)
            routes.update((other, code) for other in everyone)
    for code in opened:
        routes.update((code, other) for other in everyone)
    return frozenset(routes)


def only_leg(order: StoredOrder, token_in: Token, token_out: Token) -> LegOrder:
    return LegOrder(
        key=leg_key(order, "in"),
        token_in=token_in,
        token_out=token_out,
        amount_in=order.amount_in,
        amount_out=order.amount_out,
        payout_address=order.receiver_address,
        payout_tag=order.receiver_tag,
        refund_address=order.refund_address,
        refund_tag=order.refund_tag,
        expires=order.expires,
        terms=terms_of(order, "in"),
        rate=_rate(order, 0),
        payout_wallet=order.payout_wallet,
    )


def second_leg(order: StoredOrder, middle: Token, token_out: Token) -> LegOrder:
    """Returns a private order's second leg, which swaps the intermediary token ``middle`` and pays
    the receiver."""
    return LegOrder(
        key=leg_key(order, "out"),
        token_in=middle,
        token_out=token_out,
        amount_in=order.middle_amount or order.amount_in,
        amount_out=order.amount_out,
        payout_address=order.receiver_address,
        payout_tag=order.receiver_tag,
        refund_address=intermediate_refund(order, middle),
        refund_tag=None,
        expires=order.expires + SECOND_LEG_PATIENCE,
        terms=terms_of(order, "out"),
        rate=_rate(order, 1),
        payout_wallet=order.payout_wallet,
    )


def intermediate_refund(order: StoredOrder, middle: Token) -> str | None:
    """Returns the address for a refund in the intermediary token ``middle``. None if no valid
    address was given, or if the order is fixed and thus refunded in the token sent."""
    given = order.text("intermediateRefundAddress")
    if order.fixed or given is None or not is_address(given, middle):
        return None
    return given


def first_leg(
    order: StoredOrder, token_in: Token, middle: Token, second: DepositInstruction
) -> LegOrder:
    """Returns a private order's first leg, which takes the deposit and pays ``middle`` to the
    deposit address in ``second``."""
    return LegOrder(
        key=leg_key(order, "in"),
        token_in=token_in,
        token_out=middle,
        amount_in=order.amount_in,
        amount_out=order.middle_amount or second.amount_in,
        payout_address=second.address,
        payout_tag=second.tag,
        refund_address=order.refund_address,
        refund_tag=order.refund_tag,
        expires=order.expires,
        terms=terms_of(order, "in"),
        rate=_rate(order, 0),
    )


def needing_refund_address(venues: Venues) -> set[str]:
    return {v.provider.short_name for v in venues if v.traits.requires_refund_address}


_FILTERS = ("in_included", "in_excluded", "out_included", "out_excluded")


async def repriced(
    venues: Venues,
    routes: QuoteEngine,
    quote: StoredQuote,
    request: PrivateSendRequest,
    token_in: Token,
    token_out: Token,
) -> StoredQuote:
    """Returns the quote of a create request, priced again if the request changes markup or
    providers. Raises INVALID_SWAP if no route fits, VALIDATION_ERROR for an unknown provider."""
    markup = quote.markup if request.markup is None else request.markup
    choice = _asked(quote, leg_filters(request, venues))
    if markup == quote.markup and _same(choice, quote.choice):
        return quote
    if quote.fixed or quote.route == "dex":
        raise ServiceError(
            ErrorCode.INVALID_SWAP,
            "This quote keeps its markup and its filters. Ask for a new quote.",
        )
    barred = frozenset() if request.refund_address is not None else _wary(venues, quote)
    best = partial(
        routes.best_legs,
        *(token_in, token_out, quote.amount_in, centralized(quote.route)),
        exclude=barred,
        markup=markup,
        partner_id=quote.partner_id,
    )
    # The venues that were chosen come first; others only when these do not fit any more.
    route = None
    if choice.admits(quote.legs):
        route = await best(choice=_only(choice, quote))
    if route is None:
        route = await best(choice=choice)
    if route is None:
        raise ServiceError(
            ErrorCode.INVALID_SWAP, "No route of this type fits the markup and filters now."
        )
    # The estimate of a private pair, not of the venues that were found.
    minutes = quote.minutes if quote.route == "private" else route.minutes
    return replace(
        quote,
        amount_in_usd=in_usd(token_in, route.amount_in),
        amount_out_usd=in_usd(token_out, route.amount_out),
        choice=choice,
        **route.route_terms() | {"minutes": minutes, "markup": markup},
    )


def _wary(venues: Venues, quote: StoredQuote) -> frozenset[tuple[str, ...]]:
    codes = [venue.provider.short_name for venue in venues]
    wary = [f"in:{code}" for code in needing_refund_address(venues)]
    return routes_with(wary, (), codes, centralized(quote.route))


def _asked(quote: StoredQuote, filters: dict[str, tuple[str, ...] | None]) -> RouteChoice:
    if quote.route == "standard":
        return quote.choice
    return replace(
        quote.choice,
        in_included=filters["in_included"] or quote.choice.in_included,
        in_excluded=filters["in_excluded"] or quote.choice.in_excluded,
        out_included=filters["out_included"] or quote.choice.out_included,
        out_excluded=filters["out_excluded"] or quote.choice.out_excluded,
    )


def _same(left: RouteChoice, other: RouteChoice) -> bool:
    return all(_as_set(getattr(left, name)) == _as_set(getattr(other, name)) for name in _FILTERS)


def _as_set(codes: tuple[str, ...] | None) -> frozenset[str] | None:
    return None if codes is None else frozenset(codes)


def _only(choice: RouteChoice, quote: StoredQuote) -> RouteChoice:
    if quote.route == "standard":
        return replace(choice, swaps=quote.legs)
    return replace(choice, in_included=quote.legs[:1], out_included=quote.legs[1:])

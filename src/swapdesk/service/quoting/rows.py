"""Rows in the answer to a request for quotes: what a route pays, or why it has no price (contract
6.7)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.service.errors import ServiceError
from swapdesk.service.quoting.routes import (
    Cause,
    PairBounds,
    PricedRoute,
    Route,
    RouteQuestion,
    UnpricedRoute,
    in_usd,
    loses_too_much,
    swap_cap,
)
from swapdesk.service.store.records import EVERY_ROUTE, StoredQuote
from swapdesk.service.venues.adapter import VenueLimits
from swapdesk.service.venues.onchain.adapter import DexQuestion
from swapdesk.wire.chains import SwapProvider
from swapdesk.wire.choices import RouteType, SortOrder
from swapdesk.wire.encoding.numbers import plain, quantize, short
from swapdesk.wire.errors import ErrorCode, FieldProblem
from swapdesk.wire.quotes import (
    AmountType,
    FilteredReason,
    MarkupType,
    PrivateSendQuote,
    Quote,
    QuoteSort,
)
from swapdesk.wire.tokens import Token

QUOTE_VALID = timedelta(seconds=60)
"""Time for which a floating quote, and every private send, may be executed (contract 6.28)."""


class Asked(Struct, frozen=True):
    """A request for quotes, and its partner. ``private_send`` is True if both tokens are the same;
    ``markup_told`` is True if the rows state the markup."""

    question: RouteQuestion
    partner_id: str
    private_send: bool
    markup_told: bool
    onchain: DexQuestion | None = None
    """The question to on-chain venues; None if no DEX routes are asked for."""


def standard_row(
    stored: StoredQuote, route: PricedRoute, provider: SwapProvider, token_in: Token, asked: Asked
) -> Quote:
    return Quote(
        type=RouteType.STANDARD,
        swap=provider.short_name,
        swap_name=provider.name,
        logo_url=provider.logo_url,
        markup_supported=provider.markup_supported,
        provider_eta=stored.minutes,
        rate_id=route.rates[0] if stored.fixed else None,
        **_figures(stored, offered(route.limits, token_in), asked),
    )


def private_row(
    stored: StoredQuote, route: PricedRoute, asked: Asked, bounds: PairBounds | None
) -> Quote:
    """Returns the row of a private route. Providers are left out and ids of fixed rates are hashed,
    because they would reveal the venues."""
    return Quote(
        type=RouteType.PRIVATE,
        rate_id=_veiled(route.rates) if stored.fixed else None,
        **_figures(stored, _of_pair(bounds, stored.amount_in), asked),
    )


def _of_pair(bounds: PairBounds | None, amount_in: Decimal | None) -> VenueLimits | None:
    if bounds is None:
        return None
    least, most = bounds.minimum, bounds.maximum
    if amount_in is not None:
        least, most = min(least, amount_in), max(most, amount_in)
    return VenueLimits(short(least), short(most))


def _figures(stored: StoredQuote, limits: VenueLimits | None, asked: Asked) -> dict[str, Any]:
    figures: dict[str, Any] = {
        "quote_id": stored.quote_id,
        "duration": stored.minutes,
        "amount_in": stored.amount_in,
        "amount_out": stored.amount_out,
        "net_amount_out": stored.amount_out,
        "amount_out_usd": stored.amount_out_usd,
        "amount_in_usd": stored.amount_in_usd if stored.receive else None,
        "amount_type": AmountType.RECEIVE if stored.receive else AmountType.SEND,
        "requires_refund_address": stored.requires_refund_address,
        "rewards_available": False,
        "fixed": stored.fixed,
        "valid_until": stored.expires,
        "filtered": stored.filtered,
        "filtered_reason": FilteredReason.PRICE_IMPACT if stored.filtered else None,
        **_ends(limits),
    }
    if asked.markup_told:
        figures |= {
            "applied_api_markup": stored.markup,
            "api_markup_value": stored.markup,
            "markup_type": MarkupType.PERCENTAGE,
        }
    return figures


def _veiled(rates: tuple[str | None, ...]) -> str:
    return hashlib.sha256(repr(rates).encode()).hexdigest()[:24]


def _ends(limits: VenueLimits | None) -> dict[str, Decimal]:
    return {} if limits is None else {"min": limits.minimum, "max": limits.maximum}


def private_send_row(stored: StoredQuote, bounds: PairBounds | None) -> PrivateSendQuote:
    return PrivateSendQuote(
        quote_id=stored.quote_id,
        amount_in=stored.amount_in,
        amount_out=stored.amount_out,
        amount_out_usd=stored.amount_out_usd,
        duration=stored.minutes,
        fixed=stored.fixed,
        valid_until=stored.expires,
        **_ends(_of_pair(bounds, stored.amount_in)),
    )


def standard_error_row(
    route: UnpricedRoute, question: RouteQuestion, waited: float, provider: SwapProvider
) -> Quote:
    limits = offered(route.limits, question.token_in) if route.limits is not None else None
    return Quote(
        type=RouteType.STANDARD,
        swap=provider.short_name,
        swap_name=provider.name,
        logo_url=provider.logo_url,
        **_unpriced(route, question, waited, limits),
    )


def private_error_row(
    route: UnpricedRoute, question: RouteQuestion, waited: float, bounds: PairBounds | None
) -> Quote:
    return Quote(
        type=RouteType.PRIVATE,
        duration=bounds.minutes if bounds is not None else None,
        **_unpriced(route, question, waited, _of_pair(bounds, None)),
    )


def _unpriced(
    route: UnpricedRoute, question: RouteQuestion, waited: float, limits: VenueLimits | None
) -> dict[str, Any]:
    receive = question.terms.receive
    return {
        "amount_in": None if receive else question.amount,
        "amount_out": question.amount if receive else None,
        "error": why(route, question, waited),
        "fixed": question.terms.fixed,
        **_ends(limits),
    }


_WITHOUT_FIGURE = {
    "leg filters": "no exchange is left for both legs by the leg filters",
    "xmr": "no route passes through XMR",
    "rotation": "every payout wallet in reach of the best price was used lately",
}


def why(route: UnpricedRoute, question: RouteQuestion, waited: float) -> str:
    """Returns the text of ``error`` for a route without a price. ``waited`` is the number of
    seconds spent waiting for venues."""
    token = question.stated
    does = "pays" if question.terms.receive else "takes"
    if route.cause == "below" and route.bound is not None:
        return f"below minimum: this route {does} {_bound(route.bound, token, up=True)} or more"
    if route.cause == "above" and route.bound is not None:
        return f"above maximum: this route {does} {_bound(route.bound, token, up=False)} or less"
    if route.cause == "silent":
        return f"no answer within {round(waited, 1):g} s"
    return _WITHOUT_FIGURE.get(route.cause, "this route could not be priced")


def _bound(bound: Decimal, token: Token, *, up: bool) -> str:
    return f"{plain(short(quantize(bound, token.decimals, up=up)))} {token.symbol}"


def offered(limits: VenueLimits, token_in: Token) -> VenueLimits:
    """Returns the limits, rounded to the decimals of the token sent and capped at SWAP_CAP_USD. The
    maximum can then be below the minimum."""
    largest = quantize(limits.maximum, token_in.decimals, up=False)
    cap = swap_cap(token_in)
    if cap is not None:
        largest = min(largest, cap)
    least = quantize(limits.minimum, token_in.decimals, up=True)
    return VenueLimits(short(least), short(largest))


def summed_up(routes: Iterable[Route]) -> list[UnpricedRoute]:
    """Returns one unpriced route for each cause: the route whose bound is nearest to the requested
    amount."""
    kept: dict[Cause, UnpricedRoute] = {}
    for route in routes:
        if isinstance(route, UnpricedRoute):
            rival = kept.get(route.cause)
            if rival is None or _more_generous(route, rival):
                kept[route.cause] = route
    return list(kept.values())


def _more_generous(route: UnpricedRoute, rival: UnpricedRoute) -> bool:
    if route.bound is None or rival.bound is None:
        return rival.bound is None and route.bound is not None
    return route.bound < rival.bound if route.cause == "below" else route.bound > rival.bound


def out_of_bounds(cause: Cause, token: Token, amount: Decimal, bound: Decimal) -> ServiceError:
    """Returns the error for an amount outside the bounds: AMOUNT_TOO_LOW or QUOTE_OVER_LIMIT,
    naming the nearest amount that a route takes."""
    low = cause == "below"
    code = ErrorCode.AMOUNT_TOO_LOW if low else ErrorCode.QUOTE_OVER_LIMIT
    end = "smallest" if low else "largest"
    message = f"The {end} amount for this swap is {_bound(bound, token, up=low)}."
    return ServiceError(
        code, message, fields={"amount": FieldProblem(message=message, value=amount)}
    )


_SORTED_BY = {
    QuoteSort.AMOUNT_OUT: "amount_out",
    QuoteSort.AMOUNT_OUT_USD: "amount_out_usd",
    QuoteSort.AMOUNT_IN: "amount_in",
    QuoteSort.DURATION: "duration",
}


def in_order(rows: list[Quote], sort: QuoteSort, order: SortOrder) -> list[Quote]:
    """Returns usable rows, then filtered rows, then rows without a price. The first two groups are
    sorted by ``sort``, in the direction ``order``."""
    name = _SORTED_BY[sort]
    usable = [row for row in rows if row.error is None]
    ranked = [row for row in usable if getattr(row, name) is not None]
    ranked.sort(key=lambda row: getattr(row, name), reverse=order is SortOrder.DESC)
    figured = ranked + [row for row in usable if getattr(row, name) is None]
    return [
        *(row for row in figured if not row.filtered),
        *(row for row in figured if row.filtered),
        *(row for row in rows if row.error is not None),
    ]


def stored(
    route: PricedRoute,
    asked: Asked,
    *,
    quote_id: str,
    created: datetime,
    requires_refund_address: bool,
) -> StoredQuote:
    question = asked.question
    usd_in = in_usd(question.token_in, route.amount_in)
    usd_out = in_usd(question.token_out, route.amount_out)
    private = route.middle_token_id is not None
    floating_end = created + QUOTE_VALID
    expires = route.valid_until or floating_end
    return StoredQuote(
        quote_id=quote_id,
        partner_id=asked.partner_id,
        purpose="private_send" if asked.private_send else "exchange",
        route="private" if private else "standard",
        created=created,
        # A private send ends after a minute whatever its venues promise (contract 6.28).
        expires=min(expires, floating_end) if asked.private_send else expires,
        token_in_id=question.token_in.id,
        token_out_id=question.token_out.id,
        amount_in_usd=usd_in,
        amount_out_usd=usd_out,
        fixed=question.terms.fixed,
        receive=question.terms.receive,
        requires_refund_address=requires_refund_address,
        filtered=loses_too_much(usd_in, usd_out),
        choice=question.choice if private else replace(EVERY_ROUTE, swaps=question.choice.swaps),
        **route.route_terms() | ({} if question.terms.fixed else {"rates": ()}),
    )

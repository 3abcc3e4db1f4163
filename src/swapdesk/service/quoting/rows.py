"""Rows of a quote answer: what a route pays, or why it has no price (spec: Quote)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from swapdesk.service.errors import ServiceError
from swapdesk.service.quoting.routes import Cause, PricedRoute, Route, UnpricedRoute
from swapdesk.service.quoting.valuation import in_usd, swap_cap
from swapdesk.service.store.protocol import StoredQuote
from swapdesk.service.venues.adapter import VenueLimits
from swapdesk.wire.encoding.numbers import plain, quantize
from swapdesk.wire.errors import ErrorCode, FieldProblem
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.quotes import PrivateSendQuote, Quote, QuoteSort, RouteType, SortOrder
from swapdesk.wire.tokens import Token


def standard_row(
    stored: StoredQuote, route: PricedRoute, provider: SwapProvider, token_in: Token
) -> Quote:
    limits = offered(route.limits, token_in)
    return Quote(
        quote_id=stored.quote_id,
        type=RouteType.STANDARD,
        swap=provider.short_name,
        swap_name=provider.name,
        logo_url=provider.logo_url,
        markup_supported=provider.markup_supported,
        duration=stored.minutes,
        provider_eta=stored.minutes,
        amount_in=stored.amount_in,
        amount_out=stored.amount_out,
        net_amount_out=stored.amount_out,
        amount_out_usd=stored.amount_out_usd,
        requires_refund_address=False,
        rewards_available=False,
        valid_until=stored.expires,
        min=limits.minimum,
        max=limits.maximum,
    )


def private_row(stored: StoredQuote, route: PricedRoute, token_in: Token) -> Quote:
    """Names no provider: knowing the venues would undo the privacy of the route."""
    limits = offered(route.limits, token_in)
    return Quote(
        quote_id=stored.quote_id,
        type=RouteType.PRIVATE,
        duration=stored.minutes,
        amount_in=stored.amount_in,
        amount_out=stored.amount_out,
        net_amount_out=stored.amount_out,
        amount_out_usd=stored.amount_out_usd,
        requires_refund_address=False,
        rewards_available=False,
        valid_until=stored.expires,
        min=limits.minimum,
        max=limits.maximum,
    )


def private_send_row(stored: StoredQuote, route: PricedRoute, token: Token) -> PrivateSendQuote:
    limits = offered(route.limits, token)
    return PrivateSendQuote(
        quote_id=stored.quote_id,
        amount_in=stored.amount_in,
        amount_out=stored.amount_out,
        amount_out_usd=stored.amount_out_usd,
        duration=stored.minutes,
        min=limits.minimum,
        max=limits.maximum,
    )


def error_row(
    route: UnpricedRoute,
    amount: Decimal,
    token_in: Token,
    waited: float,
    provider: SwapProvider | None,
) -> Quote:
    """A route without a price; ``provider`` only on standard routes."""
    limits = offered(route.limits, token_in) if route.limits is not None else None
    return Quote(
        type=RouteType.PRIVATE if provider is None else RouteType.STANDARD,
        swap=provider.short_name if provider is not None else None,
        swap_name=provider.name if provider is not None else None,
        logo_url=provider.logo_url if provider is not None else None,
        amount_in=amount,
        error=why(route, token_in, waited),
        min=limits.minimum if limits is not None else None,
        max=limits.maximum if limits is not None else None,
    )


def why(route: UnpricedRoute, token_in: Token, waited: float) -> str:
    """The sentence of ``error``; it states the figure."""
    if route.cause is Cause.BELOW and route.bound is not None:
        least = plain(quantize(route.bound, token_in.decimals, up=True).normalize())
        return f"below minimum: this route takes {least} {token_in.symbol} or more"
    if route.cause is Cause.ABOVE and route.bound is not None:
        most = plain(quantize(route.bound, token_in.decimals, up=False).normalize())
        return f"above maximum: this route takes {most} {token_in.symbol} or less"
    if route.cause is Cause.SILENT:
        return f"no answer within {round(waited, 1):g} s"
    return "this route could not be priced"


def offered(limits: VenueLimits, token_in: Token) -> VenueLimits:
    """Limits in whole units of the token sent, under the cap of 400,000 USD."""
    largest = quantize(limits.maximum, token_in.decimals, up=False)
    cap = swap_cap(token_in)
    if cap is not None:
        largest = min(largest, cap)
    return VenueLimits(quantize(limits.minimum, token_in.decimals, up=True), largest)


def summed_up(routes: Iterable[Route]) -> list[UnpricedRoute]:
    """One unpriced route per cause, with the most generous bound: private rows name no venue."""
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
    return route.bound < rival.bound if route.cause is Cause.BELOW else route.bound > rival.bound


def too_low(token_in: Token, amount: Decimal, least: Decimal) -> ServiceError:
    """AMOUNT_TOO_LOW that names the smallest amount any asked route takes."""
    figure = plain(quantize(least, token_in.decimals, up=True).normalize())
    message = f"The smallest amount for this swap is {figure} {token_in.symbol}."
    return _amount_problem(ErrorCode.AMOUNT_TOO_LOW, message, amount)


def over_limit(token_in: Token, amount: Decimal, most: Decimal) -> ServiceError:
    """QUOTE_OVER_LIMIT that names the largest amount any asked route takes."""
    figure = plain(quantize(most, token_in.decimals, up=False).normalize())
    message = f"The largest amount for this swap is {figure} {token_in.symbol}."
    return _amount_problem(ErrorCode.QUOTE_OVER_LIMIT, message, amount)


def _amount_problem(code: ErrorCode, message: str, amount: Decimal) -> ServiceError:
    return ServiceError(
        code, message, fields={"amount": FieldProblem(message=message, value=plain(amount))}
    )


_SORTED_BY = {
    QuoteSort.AMOUNT_OUT: "amount_out",
    QuoteSort.AMOUNT_OUT_USD: "amount_out_usd",
    QuoteSort.AMOUNT_IN: "amount_in",
    QuoteSort.DURATION: "duration",
}


def in_order(rows: list[Quote], sort: QuoteSort, order: SortOrder) -> list[Quote]:
    """Usable rows by the asked figure, those without it after them, unpriced rows last."""
    name = _SORTED_BY[sort]
    usable = [row for row in rows if row.error is None]
    known = [row for row in usable if getattr(row, name) is not None]
    known.sort(key=lambda row: getattr(row, name), reverse=order is SortOrder.DESC)
    unknown = [row for row in usable if getattr(row, name) is None]
    return known + unknown + [row for row in rows if row.error is not None]


def stored(
    route: PricedRoute,
    *,
    quote_id: str,
    partner_id: str,
    private_send: bool,
    created: datetime,
    expires: datetime,
    token_in: Token,
    token_out: Token,
) -> StoredQuote:
    """The quote as it is kept until it is consumed or long expired."""
    return StoredQuote(
        quote_id=quote_id,
        partner_id=partner_id,
        purpose="private_send" if private_send else "exchange",
        route="standard" if route.middle_token_id is None else "private",
        created=created,
        expires=expires,
        token_in_id=token_in.id,
        token_out_id=token_out.id,
        amount_in=route.amount_in,
        amount_out=route.amount_out,
        amount_in_usd=in_usd(token_in, route.amount_in),
        amount_out_usd=in_usd(token_out, route.amount_out),
        minutes=route.minutes,
        legs=route.legs,
        middle_token_id=route.middle_token_id,
        middle_amount=route.middle_amount,
    )

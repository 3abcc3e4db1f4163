"""Writes sentences of the screens that contain amounts, times and orders."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from swapdesk.client.errors import (
    AnswerRefused,
    ApiError,
    ClientError,
    NotPaid,
    OutcomeUnknown,
    RateLimited,
)
from swapdesk.flows.failure_messages import Failure, failure_of, unsent, with_payment
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.notation import clock_time, countdown, exact_amount, short_clock, table_amount
from swapdesk.flows.orders.order_fields import short_id, symbols
from swapdesk.wire.orders import Order

if TYPE_CHECKING:
    from swapdesk.flows.quotes.quoting import QuoteResult


def quotes_arrived(quotes: QuoteResult) -> str:
    """Returns a sentence that counts routes: ``9 usable routes, 4 not. Nothing has moved.``"""
    usable, not_usable = len(quotes.ranking.rows), len(quotes.ranking.unusable)
    word = "route" if usable == 1 else "routes"
    rest = f", {not_usable} not" if not_usable else ""
    return f"{usable} usable {word}{rest}. Nothing has moved."


def no_usable_route(quotes: QuoteResult) -> str:
    """Returns why no route can be chosen, with the smallest usable amount if it is known."""
    token, verb = (
        (quotes.token_out, "pays") if quotes.request.receive else (quotes.token_in, "takes")
    )
    sentence = f"No route {verb} {exact_amount(quotes.amount)} {token.symbol}"
    failed, routes = quotes.failed, len(quotes.ranking.unusable)
    if failed:
        of = f" for {failed} of {routes}" if failed < routes else ""
        return f"{sentence} now. The amount is not the reason{of}."
    if unknown := quotes.not_known:
        return f"{sentence} here. {unknown} of {routes} are of a type this desk does not know."
    smallest = quotes.smallest_usable
    if smallest is None:
        return f"{sentence}."
    least = f"{exact_amount(smallest[0])} {token.symbol}"
    at = f" at {smallest[1]}" if smallest[1] else ""
    return f"{sentence}. The smallest usable amount is {least}{at}."


def without_route_next(quotes: QuoteResult | None) -> str:
    if quotes is not None and quotes.failed:
        alone = quotes.failed == len(quotes.ranking.unusable)
        return "you: ask again" if alone else "you: ask again, or change the amount"
    if quotes is not None and quotes.not_known:
        return "you: a newer version of this desk may know these routes"
    return "you: change the amount or the tokens"


def quote_ended(expired_at: datetime) -> str:
    return f"This quote ended at {short_clock(expired_at)}. Your funds are in your wallet."


def rate_worse(symbol: str, figure: Decimal, percent: Decimal, *, receive: bool) -> str:
    """Returns how much worse a new quote is than the confirmed quote. ``figure`` is the new quote's
    output, or its input if the user stated the output (``receive``)."""
    gives, less = ("asks for", "more") if receive else ("gives", "less")
    return (
        f"The new quote {gives} {table_amount(figure)} {symbol},"
        f" {percent:.2f}% {less} than you confirmed. Nothing was created."
    )


def rate_limited(error: RateLimited, seconds: float | None, again: str = "") -> str:
    """Returns a sentence about a rate limit. ``again`` says when the desk repeats the call; if it
    is empty, the sentence says how long to wait."""
    if again:
        return (
            f"The calls of this window are used up: {again}. Orders and deposits are not affected."
        )
    wait = error.retry_after if error.retry_after is not None else seconds
    after = f" Next one in {countdown(wait)}." if wait is not None and wait > 0 else ""
    return f"The calls of this window are used up.{after} Orders and deposits are not affected."


def order_open(order: Order, intent: Intent | None = None) -> str:
    """Returns what to send for an open order: ``Order m1Xc7D is open. Send 2,500 XRP before
    14:34:28. The money is still yours.``"""
    sent, _ = symbols(order, intent)
    amount = exact_amount(order.in_amount) if order.in_amount is not None else "?"
    before = f" before {clock_time(order.expires)}" if order.expires is not None else ""
    name = short_id(order.service_id)
    return f"Order {name} is open. Send {amount} {sent}{before}. The money is still yours."


def found_again(order: Order) -> str:
    return f"The order exists: {short_id(order.service_id)}. It was not created twice."


def failure_of_error(error: ClientError) -> Failure:
    if isinstance(error, ApiError):
        return with_payment(failure_of(error.code or f"HTTP_{error.status}", error.status), error)
    if isinstance(error, AnswerRefused):
        return with_payment(failure_of("", None), error)
    return unsent(error)


def code_and_request(error: ClientError) -> str:
    """Returns the error code and, if known, the request's id: ``RATE_LIMIT_EXCEEDED · request
    6f1d-22c9``."""
    code, request = "", None
    if isinstance(error, ApiError):
        code, request = error.code or f"HTTP {error.status}", error.request_id
    elif isinstance(error, OutcomeUnknown):
        code, request = error.code or "NO_ANSWER", error.request_id
    elif isinstance(error, AnswerRefused):
        code, request = error.reason, error.request_id
    elif isinstance(error, NotPaid):
        code = error.code
    parts = [code or type(error).__name__]
    if request:
        parts.append(f"request {request}")
    return " · ".join(parts)


def refused_fields(error: ClientError) -> Sequence[str]:
    """Returns ``field: reason`` for every rejected request field; empty if the error is not an
    answer of the service."""
    if not isinstance(error, ApiError):
        return ()
    return [f"{name}: {problem.message}" for name, problem in error.fields.items()]

"""Amounts of a plan against the limits of their pairs (contract 6.1), and about what they
buy: no quote is asked for before a group is created."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Context, Decimal

from swapdesk.flows.batch.finding import Finding, problem
from swapdesk.flows.batch.planned import PlannedOrder
from swapdesk.flows.batch.sheet import Column
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.quotes.amount_check import bounds_of, outside_limits
from swapdesk.wire.encoding.numbers import ROUGH
from swapdesk.wire.pair_limits import Limits, PairLimits
from swapdesk.wire.quotes import RouteType

Pair = tuple[str, str]
"""Ids of what is sold and what is bought."""

CODE = "LIMITS"
_SIX = Context(prec=6)


def limit_finding(order: PlannedOrder, known: Mapping[Pair, PairLimits]) -> Finding | None:
    """Why no exchange takes the amount of this order; None also where limits are not known."""
    limits = known.get(order.pair)
    types = (RouteType.PRIVATE if order.route == "private" else RouteType.STANDARD,)
    reason = outside_limits(order.amount, order.token_in.symbol, limits, types)
    bounds = bounds_of(limits, types) if limits is not None else None
    if reason is None or bounds is None:
        return None
    low = order.amount < bounds.smallest
    bound = bounds.smallest if low or bounds.largest is None else bounds.largest
    do = f"Write {exact_amount(bound)} or {'more' if low else 'less'}."
    return problem(
        CODE,
        Column.SELL_AMOUNT,
        reason,
        do,
        f"at {'least' if low else 'most'} {exact_amount(bound)}",
    )


def arrives_about(order: PlannedOrder, known: Mapping[Pair, PairLimits]) -> Decimal | None:
    """About what the recipient gets, in units of the token that is bought, to six digits; None
    when unknown.

    By the prices of the token list, else between what the two limits buy; of an amount within the
    limits never outside of what they state as received (``minOut``, ``maxOut``). Fees beyond that
    are not in it.
    """
    limits = known.get(order.pair)
    bucket = None if limits is None else limits.private if order.route == "private" else limits.cex
    about = _by_price(order)
    if about is None and bucket is not None:
        about = _between(order.amount, bucket)
    if about is not None and bucket is not None:
        if order.amount >= bucket.min:
            about = max(about, bucket.min_out or about)
        # A service may write 0 for "no bound" (contract 6.2).
        if order.amount <= bucket.max or not bucket.max:
            about = min(about, bucket.max_out or about)
    return None if about is None else _SIX.plus(about)


def _by_price(order: PlannedOrder) -> Decimal | None:
    sold, bought = order.token_in, order.token_out
    if sold.id == bought.id:
        return order.amount
    if sold.price is None or bought.price is None or sold.price <= 0 or bought.price <= 0:
        return None
    return ROUGH.divide(ROUGH.multiply(order.amount, sold.price), bought.price)


def _between(amount: Decimal, bucket: Limits) -> Decimal | None:
    """On the line between what the smallest and what the largest amount buy."""
    if bucket.min_out is None or bucket.max_out is None or not bucket.min <= amount <= bucket.max:
        return None
    span = ROUGH.subtract(bucket.max, bucket.min)
    if span <= 0:
        return bucket.min_out
    share = ROUGH.divide(ROUGH.subtract(amount, bucket.min), span)
    gained = ROUGH.multiply(share, ROUGH.subtract(bucket.max_out, bucket.min_out))
    return ROUGH.add(bucket.min_out, gained)

"""Amounts of a plan against the limits of their pairs (spec: GET /minMax)."""

from __future__ import annotations

from collections.abc import Mapping

from swapdesk.flows.batch.finding import Finding, problem
from swapdesk.flows.batch.planned import PlannedOrder
from swapdesk.flows.batch.sheet import Column
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.quotes.amount_check import bounds_of, outside_limits
from swapdesk.wire.pair_limits import PairLimits
from swapdesk.wire.quotes import RouteType

Pair = tuple[str, str]
"""Ids of what is sold and what is bought."""

CODE = "LIMITS"


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
    side = "below the minimum of" if low else "above the maximum of"
    do = f"Write {exact_amount(bound)} or {'more' if low else 'less'}."
    return problem(CODE, Column.AMOUNT, reason, do, f"{side} {exact_amount(bound)}")

"""Which kind of route an order takes."""

from __future__ import annotations

from swapdesk.wire.orders import Order
from swapdesk.wire.quotes import RouteType


def route_of(order: Order) -> RouteType:
    """``isDex`` and ``anonymous`` of the order as one word (contract 8.1)."""
    if order.is_dex:
        return RouteType.DEX
    return RouteType.PRIVATE if order.anonymous else RouteType.STANDARD

"""States of an order: which may follow which, what is displayed, and how far it has come.

Pure functions of the three numbers in an order row (contract 8.4 to 8.9).
"""

from __future__ import annotations

from swapdesk.service.store.records import CentralizedRoute, Route
from swapdesk.service.venues.adapter import LegReport
from swapdesk.wire.orders import DisplayStatus, LegStatus, OrderStatusCode

TRANSITIONS: dict[OrderStatusCode, frozenset[OrderStatusCode]] = {
    OrderStatusCode(before): frozenset(map(OrderStatusCode, after))
    for before, after in {
        -2: (-1, 0, 6, 8),
        -1: (0, 6, 8),
        0: (1, 5, 6, 8),
        1: (2, 6, 7),
        2: (3, 4, 6, 7),
        3: (4, 6, 7),
        4: (),
        5: (7, 8),
        6: (7, 8),
        7: (),
        8: (),
    }.items()
}

_RANKS = {display: rank for rank, display in enumerate(DisplayStatus)}
_MONEY_PATH: dict[Route, tuple[OrderStatusCode, ...]] = {
    "standard": tuple(map(OrderStatusCode, (0, 1, 2, 4))),
    "private": tuple(map(OrderStatusCode, (0, 1, 2, 3, 4))),
    "dex": tuple(map(OrderStatusCode, (0, 1, 2, 4))),
}
_PAID = frozenset({LegStatus.FINISHED, LegStatus.FALLBACK})
_DIRECT = {
    OrderStatusCode.FINISHED: DisplayStatus.SWAP_COMPLETED,
    OrderStatusCode.EXPIRED: DisplayStatus.EXPIRED,
    OrderStatusCode.FAILED: DisplayStatus.FAILED,
    OrderStatusCode.REFUNDED: DisplayStatus.REFUNDED,
    OrderStatusCode.DELETED: DisplayStatus.DELETED,
}
_SECOND_LEG = {
    LegStatus.CONFIRMING: DisplayStatus.INITIATING_SECOND_EXCHANGE,
    LegStatus.EXCHANGING: DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS,
    LegStatus.VERIFYING: DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS,
    LegStatus.SENDING: DisplayStatus.SENDING_TO_RECEIVER,
    # The money is on its way back; the order has not ended before it is there.
    LegStatus.FAILED: DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS,
}
# What each state of the leg that holds the money means for the order.
_BY_FIRST_LEG = {
    LegStatus.NEW: OrderStatusCode.WAITING,
    LegStatus.WAITING: OrderStatusCode.WAITING,
    LegStatus.CONFIRMING: OrderStatusCode.CONFIRMING,
    LegStatus.EXCHANGING: OrderStatusCode.EXCHANGING,
    LegStatus.VERIFYING: OrderStatusCode.EXCHANGING,
    LegStatus.SENDING: OrderStatusCode.EXCHANGING,
    LegStatus.FAILED: OrderStatusCode.FAILED,
    LegStatus.REFUNDED: OrderStatusCode.REFUNDED,
    LegStatus.EXPIRED: OrderStatusCode.EXPIRED,
}


def centralized(route: Route) -> CentralizedRoute:
    """The route of an order that has legs at exchanges. Raises ValueError for a DEX order."""
    if route == "dex":
        raise ValueError("a DEX order has no legs at exchanges")
    return route


def allowed(before: int, after: int, route: Route) -> bool:
    """Whether ``after`` may directly follow ``before``; 3 belongs to private orders."""
    if after == OrderStatusCode.ANONYMIZING and route != "private":
        return False
    return OrderStatusCode(after) in TRANSITIONS[OrderStatusCode(before)]


def display(status: int, in_status: int, out_status: int | None, route: Route) -> DisplayStatus:
    """The displayed state of an order from its numbers."""
    direct = _DIRECT.get(OrderStatusCode(status))
    if direct is not None:
        return direct
    if status <= OrderStatusCode.WAITING:
        return DisplayStatus.WAITING_FOR_DEPOSIT
    if status == OrderStatusCode.CONFIRMING:
        return DisplayStatus.DEPOSIT_DETECTED
    if status == OrderStatusCode.EXCHANGING:
        if in_status != LegStatus.SENDING:
            return DisplayStatus.EXCHANGE_IN_PROGRESS
        if route == "private":
            return DisplayStatus.SENDING_TO_INTERMEDIARY
        return DisplayStatus.SENDING_TO_RECEIVER
    leg = LegStatus(out_status or 0)
    return _SECOND_LEG.get(leg, DisplayStatus.REACHED_INTERMEDIARY)


def rank(shown: DisplayStatus) -> int:
    """How far a displayed state is along the one way; it never falls."""
    return _RANKS[shown]


def non_refundable(
    status: int, in_status: int, out_status: int | None, route: Route, *, fixed: bool
) -> bool:
    """Whether the deposited token can no longer come back, on an order that has not ended well.

    A private order holds another token from its first payout on; a fixed one returns what was
    sent until the receiver is being paid (contract 8.15).
    """
    if status not in (
        OrderStatusCode.EXCHANGING,
        OrderStatusCode.ANONYMIZING,
        OrderStatusCode.FAILED,
    ):
        return False
    last = out_status if route == "private" and fixed else in_status
    return last in (LegStatus.SENDING, *_PAID)


def deposit_seen(report: LegReport) -> bool:
    """Whether money has arrived at the venue for this leg."""
    return report.deposit_arrived or report.status in (
        LegStatus.CONFIRMING,
        LegStatus.EXCHANGING,
        LegStatus.SENDING,
        LegStatus.FINISHED,
        LegStatus.REFUNDED,
        LegStatus.VERIFYING,
        LegStatus.FALLBACK,
    )


def status_of_legs(first: LegReport, second: LegReport | None) -> OrderStatusCode:
    """The order's state that the legs amount to; ``second`` exists on private orders only."""
    if second is None:
        if first.status in _PAID:
            return OrderStatusCode.FINISHED
    elif first.status in _PAID or deposit_seen(second):
        return _status_of_second(second)
    return _BY_FIRST_LEG[first.status]


def _status_of_second(second: LegReport) -> OrderStatusCode:
    if second.status in _PAID:
        return OrderStatusCode.FINISHED
    if second.status in (LegStatus.FAILED, LegStatus.EXPIRED, LegStatus.REFUNDED):
        # The second venue gives back the intermediary, not what was deposited: no refund of
        # the order, which returns the deposited token on its own chain (contract 8.15).
        return OrderStatusCode.FAILED
    return OrderStatusCode.ANONYMIZING


def way(before: int, after: int, route: Route, *, deposited: bool) -> list[OrderStatusCode]:
    """The states to pass from ``before`` to ``after``, both the last one included.

    A venue that is asked seldom reports a finished leg whose steps nobody saw; the order
    passes them all the same. Empty when ``after`` cannot be reached.
    """
    start, end = OrderStatusCode(before), OrderStatusCode(after)
    path = _MONEY_PATH[route]
    if start in path and end in path and path.index(start) < path.index(end):
        return list(path[path.index(start) + 1 : path.index(end) + 1])
    ended_badly = end in (OrderStatusCode.FAILED, OrderStatusCode.REFUNDED)
    if start == OrderStatusCode.WAITING and deposited and ended_badly:
        return [OrderStatusCode.CONFIRMING, end]
    return [end] if allowed(start, end, route) else []

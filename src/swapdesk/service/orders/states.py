"""Allowed, displayed and next states of an order, as pure functions of its row and the reports on
its legs (contract 8.4 to 8.9, 17.6). A report never moves an order backward."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from msgspec.structs import replace

from swapdesk.service.quoting.routes import rescaled
from swapdesk.service.store.records import CentralizedRoute, Route, StoredOrder
from swapdesk.service.venues.adapter import LegReport
from swapdesk.wire.encoding.timestamps import rfc3339
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
    """Returns ``route`` if its legs are at exchanges. Raises ValueError for a DEX order."""
    if route == "dex":
        raise ValueError("a DEX order has no legs at exchanges")
    return route


def allowed(before: int, after: int, route: Route) -> bool:
    """Returns whether status ``after`` may directly follow ``before``. Only private orders may have
    status 3 (ANONYMIZING)."""
    if after == OrderStatusCode.ANONYMIZING and route != "private":
        return False
    return OrderStatusCode(after) in TRANSITIONS[OrderStatusCode(before)]


def display(status: int, in_status: int, out_status: int | None, route: Route) -> DisplayStatus:
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
    """Returns the progress of a displayed state as a number. The number never falls during the life
    of an order."""
    return _RANKS[shown]


def non_refundable(
    status: int, in_status: int, out_status: int | None, route: Route, *, fixed: bool
) -> bool:
    """Returns whether the deposited token can no longer be returned, because the first venue (for a
    fixed private order, the second) has begun to pay out (contract 8.15). False for orders that
    await a deposit or are finished."""
    if status not in (
        OrderStatusCode.EXCHANGING,
        OrderStatusCode.ANONYMIZING,
        OrderStatusCode.FAILED,
    ):
        return False
    last = out_status if route == "private" and fixed else in_status
    return last in (LegStatus.SENDING, *_PAID)


def deposit_seen(report: LegReport) -> bool:
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
    """Returns an order's status from the last reports of its legs. ``second`` is None except for
    private orders."""
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
    """Returns the statuses after ``before`` up to ``after``, including those that a venue did not
    report; empty if ``after`` cannot be reached. ``deposited`` says whether the deposit was
    seen."""
    start, end = OrderStatusCode(before), OrderStatusCode(after)
    path = _MONEY_PATH[route]
    if start in path and end in path and path.index(start) < path.index(end):
        return list(path[path.index(start) + 1 : path.index(end) + 1])
    ended_badly = end in (OrderStatusCode.FAILED, OrderStatusCode.REFUNDED)
    if start == OrderStatusCode.WAITING and deposited and ended_badly:
        return [OrderStatusCode.CONFIRMING, end]
    return [end] if allowed(start, end, route) else []


_GIVEN_UP = frozenset({LegStatus.FAILED, LegStatus.EXPIRED})
_UNFULFILLED = (OrderStatusCode.EXPIRED, OrderStatusCode.FAILED)


def next_rows(
    row: StoredOrder,
    first: LegReport,
    second: LegReport | None,
    now: datetime,
    *,
    asked: datetime | None = None,
) -> list[StoredOrder]:
    """Returns the rows to commit, in sequence, one for each status passed; empty if nothing
    changed. ``asked`` is the time of the reports; None means ``now``. An order expires only by
    reports made at its deadline or later."""
    if row.status == OrderStatusCode.FINISHED:
        return _flagged(row, first, second, now)
    target = status_of_legs(first, second)
    arrived = deposit_seen(first)
    waits = target == row.status == OrderStatusCode.WAITING
    if waits and not arrived and (asked or now) >= row.expires:
        target = OrderStatusCode.EXPIRED
    if target == OrderStatusCode.EXPIRED and row.status in (
        OrderStatusCode.CONFIRMING,
        OrderStatusCode.EXCHANGING,
        OrderStatusCode.ANONYMIZING,
    ):
        # The money was seen before: whatever the venue calls it, it has to come back.
        target = OrderStatusCode.FAILED
    steps = [] if target == row.status else way(row.status, target, row.route, deposited=arrived)
    rows = [_passing(row, status, now) for status in steps[:-1]]
    end = steps[-1] if steps else OrderStatusCode(row.status)
    last = _told(row, end, first, second, now)
    if steps or _shows(last) != _shows(row):
        rows.append(replace(last, modified=now))
    # A venue that takes a step back is not followed.
    reached, kept = row.rank, []
    for changed in rows:
        if changed.rank >= reached:
            reached = changed.rank
            kept.append(changed)
    return kept


def rows_of_return(
    row: StoredOrder, report: LegReport, chain: str, now: datetime
) -> list[StoredOrder]:
    out = int(LegStatus.REFUNDED)
    if report.payout_hash is not None and report.status in (LegStatus.SENDING, *_PAID):
        detail = row.detail | {
            "refundHash": report.payout_hash,
            "refundChain": chain,
            "refundAmount": _text(report.amount_out),
        }
        return [
            replace(moved(row, OrderStatusCode.REFUNDED, row.in_status, out, now), detail=detail)
        ]
    if report.status in (*_GIVEN_UP, LegStatus.REFUNDED):
        detail = row.detail | {"actionRequired": True}
        failed = int(LegStatus.FAILED)
        return [
            replace(moved(row, OrderStatusCode.FAILED, row.in_status, failed, now), detail=detail)
        ]
    return []


def _shows(row: StoredOrder) -> tuple[object, ...]:
    return (row.status, row.in_status, row.out_status, row.amount_out, row.detail)


def _passing(row: StoredOrder, status: OrderStatusCode, now: datetime) -> StoredOrder:
    in_status = {
        OrderStatusCode.CONFIRMING: LegStatus.CONFIRMING,
        OrderStatusCode.EXCHANGING: LegStatus.EXCHANGING,
        OrderStatusCode.ANONYMIZING: LegStatus.FINISHED,
    }.get(status, LegStatus(row.in_status))
    return moved(row, status, int(in_status), row.out_status, now)


def _told(
    row: StoredOrder,
    status: OrderStatusCode,
    first: LegReport,
    second: LegReport | None,
    now: datetime,
) -> StoredOrder:
    in_status = int(first.status)
    if status == OrderStatusCode.EXPIRED and first.status in (LegStatus.NEW, LegStatus.WAITING):
        in_status = int(LegStatus.EXPIRED)
    if status == OrderStatusCode.ANONYMIZING and first.status == LegStatus.SENDING:
        in_status = int(LegStatus.FINISHED)  # the second venue has the money already
    out_status = row.out_status if second is None else int(second.status)
    changed = moved(row, status, in_status, out_status, now)
    paying = first if second is None else second
    # Before the deposit a venue's figure only follows the market; what was ordered stands.
    settled = deposit_seen(first) and paying.amount_out is not None
    amount_out = paying.amount_out if settled and paying.amount_out else row.amount_out
    amount_out_usd = row.amount_out_usd
    if amount_out_usd is not None and amount_out != row.amount_out and row.amount_out > 0:
        amount_out_usd = rescaled(amount_out_usd, amount_out, row.amount_out)
    detail = row.detail | _found(row, status, first, second)
    unseen = row.status <= OrderStatusCode.WAITING and "deposited" not in detail
    if unseen and deposit_seen(first):
        detail["deposited"] = rfc3339(now)
    if status == OrderStatusCode.FINISHED and "finished" not in detail:
        detail["finished"] = rfc3339(now)
    return replace(changed, amount_out=amount_out, amount_out_usd=amount_out_usd, detail=detail)


def _found(
    row: StoredOrder, status: OrderStatusCode, first: LegReport, second: LegReport | None
) -> dict[str, str | bool | None]:
    """Returns the values of ``detail`` that follow from the reports. Only the return of the deposit
    counts as a refund, not the return of a second leg's intermediary tokens."""
    paying = first if second is None else second
    reported: dict[str, str | bool | None] = {
        "depositHash": first.deposit_hash,
        "payoutHash": paying.payout_hash,
        "refundHash": first.refund_hash,
        "refundChain": first.refund_chain,
        "refundAmount": _text(first.refund_amount),
    }
    detail: dict[str, str | bool | None] = {
        name: value for name, value in reported.items() if value is not None
    }
    flagged = row.detail.get("actionRequired")
    if status in _UNFULFILLED:
        # A leg that expired is no lost cause: what comes late is on its way back.
        given_up = (
            _GIVEN_UP - {LegStatus.EXPIRED} if status == OrderStatusCode.EXPIRED else _GIVEN_UP
        )
        stranded = (
            deposit_seen(first)
            and paying.status not in _PAID
            and (
                row.refund_address is None
                or bool({first.status, paying.status} & given_up)
                or (second is not None and second.status == LegStatus.REFUNDED)
            )
        )
        if stranded or flagged is not None:
            detail["actionRequired"] = stranded or (flagged is True and paying.status not in _PAID)
    elif flagged is not None:
        detail["actionRequired"] = False
    if _holds(first, second):
        detail["actionRequired"] = True
    return detail


def _holds(first: LegReport, second: LegReport | None) -> bool:
    return first.held or (second is not None and second.held)


def _flagged(
    row: StoredOrder, first: LegReport, second: LegReport | None, now: datetime
) -> list[StoredOrder]:
    """Returns a list with the finished order if ``actionRequired`` must now be set, because a venue
    holds a further deposit. Otherwise returns an empty list."""
    if not _holds(first, second) or row.detail.get("actionRequired") is True:
        return []
    detail = row.detail | {"actionRequired": True}
    return [replace(row, detail=detail, modified=now, attempt=0)]


def moved(
    row: StoredOrder, status: OrderStatusCode, in_status: int, out_status: int | None, now: datetime
) -> StoredOrder:
    shown = display(status, in_status, out_status, row.route)
    return replace(
        row,
        status=int(status),
        in_status=in_status,
        out_status=out_status,
        display_status=shown.value,
        rank=rank(shown),
        modified=now,
        attempt=0,
    )


def _text(amount: Decimal | None) -> str | None:
    return None if amount is None else format(amount, "f")

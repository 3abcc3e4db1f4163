"""What venue reports change about an order: pure, from a row and its legs to the next rows.

A report never moves an order backward, and the absence of a report never moves it at all
(contract 8.7, 17.6).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from swapdesk.service.orders.states import (
    deposit_seen,
    display,
    rank,
    status_of_legs,
    way,
)
from swapdesk.service.quoting.routes import rescaled
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.venues.adapter import LegReport
from swapdesk.wire.encoding.timestamps import rfc3339
from swapdesk.wire.orders import LegStatus, OrderStatusCode

_PAID = (LegStatus.FINISHED, LegStatus.FALLBACK)
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
    """The rows to commit one after another; empty when nothing changed.

    ``asked`` is when the venues were asked: an answer that left before the deadline and came
    after it says nothing about a deposit made in between.

    Intermediate rows differ in their state alone, so that every step is announced; what the
    reports tell (hashes, amounts, flags) comes with the last one.
    """
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
    """The rows to commit for a leg that returns the token originally sent, on its own chain."""
    out = int(LegStatus.REFUNDED)
    if report.payout_hash is not None and report.status in (LegStatus.SENDING, *_PAID):
        detail = row.detail | {
            "refundHash": report.payout_hash,
            "refundChain": chain,
            "refundAmount": _text(report.amount_out),
        }
        return [replace(_at(row, OrderStatusCode.REFUNDED, row.in_status, out, now), detail=detail)]
    if report.status in (*_GIVEN_UP, LegStatus.REFUNDED):
        detail = row.detail | {"actionRequired": True}
        failed = int(LegStatus.FAILED)
        return [
            replace(_at(row, OrderStatusCode.FAILED, row.in_status, failed, now), detail=detail)
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
    return _at(row, status, int(in_status), row.out_status, now)


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
    changed = _at(row, status, in_status, out_status, now)
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
    """Hashes, refund and flags; what a report leaves out keeps what was known.

    The refund is what came back of the deposit; what a second leg gives back is another token
    and stays with the service, for somebody to act on.
    """
    paying = first if second is None else second
    found: dict[str, str | bool | None] = {
        "depositHash": first.deposit_hash,
        "payoutHash": paying.payout_hash,
        "refundHash": first.refund_hash,
        "refundChain": first.refund_chain,
        "refundAmount": _text(first.refund_amount),
    }
    told: dict[str, str | bool | None] = {
        name: value for name, value in found.items() if value is not None
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
            told["actionRequired"] = stranded or (flagged is True and paying.status not in _PAID)
    elif flagged is not None:
        told["actionRequired"] = False
    if _holds(first, second):
        told["actionRequired"] = True
    return told


def _holds(first: LegReport, second: LegReport | None) -> bool:
    return first.held or (second is not None and second.held)


def _flagged(
    row: StoredOrder, first: LegReport, second: LegReport | None, now: datetime
) -> list[StoredOrder]:
    """A finished order says one thing more: that a later deposit needs somebody."""
    if not _holds(first, second) or row.detail.get("actionRequired") is True:
        return []
    detail = row.detail | {"actionRequired": True}
    return [replace(row, detail=detail, modified=now, attempt=0)]


def _at(
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

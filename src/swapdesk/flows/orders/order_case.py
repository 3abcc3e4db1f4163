"""Which of the situations a person must tell apart an order is in.

A pure function of what the service says: displayed state, leg states and flags. Every
combination has exactly one case, unknown values among them; the words stand in
``order_words`` (contract 8.4 to 8.16).
"""

from __future__ import annotations

from enum import StrEnum

from swapdesk.flows.journal.folding import PROGRESS, display_of, ended
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order


class Case(StrEnum):
    """What is going on, and with whom the money is."""

    NOT_SAID = "not said"
    UNKNOWN_STATE = "unknown state"
    # under way
    SETTING_UP = "setting up"
    WAITING = "waiting"
    DEPOSIT_AHEAD = "deposit ahead"
    """The exchange has the deposit, the order still waits for it."""
    DEPOSIT_SEEN = "deposit seen"
    CHAIN_AWAITED = "chain awaited"
    """A swap on chains whose transaction the service has not seen."""
    CHAIN_SEEN = "chain seen"
    """A swap on chains whose transaction was seen."""
    EXCHANGING = "exchanging"
    TO_MIDDLE = "to middle"
    AT_MIDDLE = "at middle"
    SECOND_STARTS = "second starts"
    SECOND_EXCHANGE = "second exchange"
    PAYING_OUT = "paying out"
    FALLBACK_PAYING = "fallback paying"
    HELD = "held"
    FLAGGED = "flagged"
    """Open, and marked for support."""
    LEG_FAILED = "leg failed"
    LEG_RETURNED = "leg returned"
    LEG_EXPIRED = "leg expired"
    # completed
    COMPLETED = "completed"
    REROUTED = "rerouted"
    PAID_BY_FALLBACK = "paid by fallback"
    PART_RETURNED = "part returned"
    COMPLETED_FLAGGED = "completed flagged"
    # ended otherwise
    EXPIRED = "expired"
    CHAIN_EXPIRED = "chain expired"
    CHAIN_FAILED = "chain failed"
    """A swap on chains of which nothing arrived at the venue."""
    LATE_RETURNING = "late returning"
    LATE_STUCK = "late stuck"
    NEVER_SET_UP = "never set up"
    FAILED_BEFORE = "failed before"
    FAILED_UNCLEAR = "failed unclear"
    FAILED_RETURNING = "failed returning"
    FAILED_STUCK = "failed stuck"
    NOT_REFUNDABLE = "not refundable"
    REFUNDED = "refunded"
    REFUNDED_FIRST_TOKEN = "refunded first token"
    """A private fixed order that failed part-way."""
    DELETED = "deleted"
    DELETED_WITH_MONEY = "deleted with money"


_UNDER_WAY: dict[str, Case] = {
    DisplayStatus.DEPOSIT_DETECTED: Case.DEPOSIT_SEEN,
    DisplayStatus.EXCHANGE_IN_PROGRESS: Case.EXCHANGING,
    DisplayStatus.SENDING_TO_INTERMEDIARY: Case.TO_MIDDLE,
    DisplayStatus.REACHED_INTERMEDIARY: Case.AT_MIDDLE,
    DisplayStatus.INITIATING_SECOND_EXCHANGE: Case.SECOND_STARTS,
    DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS: Case.SECOND_EXCHANGE,
    DisplayStatus.SENDING_TO_RECEIVER: Case.PAYING_OUT,
}

_OF_CHAIN: dict[str, Case] = {
    DisplayStatus.WAITING_FOR_DEPOSIT: Case.CHAIN_AWAITED,
    DisplayStatus.DEPOSIT_DETECTED: Case.CHAIN_SEEN,
}

_PAID = frozenset(PROGRESS[1:]) | {DisplayStatus.SWAP_COMPLETED, DisplayStatus.REFUNDED}
"""States that no order comes to without its deposit."""

_ARRIVED = frozenset(
    {
        LegStatus.CONFIRMING,
        LegStatus.EXCHANGING,
        LegStatus.SENDING,
        LegStatus.FINISHED,
        LegStatus.REFUNDED,
        LegStatus.VERIFYING,
        LegStatus.FALLBACK,
    }
)


_PAST_WAITING = frozenset(one for one in LegStatus if one >= LegStatus.CONFIRMING)
_LEG_STATUSES = frozenset(LegStatus)


def case_of(order: Order) -> Case:
    """The case of an order."""
    display = display_of(order)
    if display is None:
        return Case.NOT_SAID
    if display == DisplayStatus.SWAP_COMPLETED:
        return _completed(order)
    if display == DisplayStatus.REFUNDED:
        part_way = order.anonymous is True and order.fixed
        return Case.REFUNDED_FIRST_TOKEN if part_way else Case.REFUNDED
    if display == DisplayStatus.DELETED:
        return Case.DELETED_WITH_MONEY if deposit_arrived(order) else Case.DELETED
    if display == DisplayStatus.EXPIRED:
        return _expired(order)
    if display == DisplayStatus.FAILED:
        return _failed(order)
    return _open(order, display)


STRANDED = frozenset(
    {
        Case.COMPLETED_FLAGGED,
        Case.LATE_STUCK,
        Case.FAILED_STUCK,
        Case.NOT_REFUNDABLE,
        Case.DELETED_WITH_MONEY,
    }
)
"""Ends of an order in which its money is, or may be, with the service and stays there until the
owner acts."""


def needs_owner(order: Order) -> bool:
    """Whether an order that ended waits for its owner all the same (contract 8.13)."""
    return ended(display_of(order)) and case_of(order) in STRANDED


def on_hold(order: Order) -> bool:
    """Leg status 8: a provider holds the money for a check."""
    return LegStatus.VERIFYING in _legs(order) and not ended(display_of(order))


def awaits_deposit(order: Order) -> bool:
    """Whether it waits for its deposit by its state and by its legs: a leg may tell of a deposit,
    or of a trouble, before the state does."""
    return case_of(order) in (Case.WAITING, Case.SETTING_UP)


def in_second_leg(order: Order) -> bool:
    """Whether the funds of a private order left its first exchange."""
    return order.anonymous is True and second_leg_paid(order)


def second_leg_paid(order: Order) -> bool:
    """Whether the payout leg is past waiting; a leg status that nobody knows says nothing."""
    return order.out_status in _PAST_WAITING


def deposit_arrived(order: Order) -> bool:
    """Whether the service says that money of this order reached it: by the state, whatever the
    legs are said to be, or by a leg or a hash."""
    if display_of(order) in _PAID:
        return True
    if order.action_required or order.refund_hash or order.out_transaction_out_hash:
        return True
    if second_leg_paid(order):
        return True
    return order.in_status is not None and order.in_status in _ARRIVED


def _legs(order: Order) -> tuple[int | None, int | None]:
    return order.in_status, order.out_status


def _completed(order: Order) -> Case:
    if order.action_required:
        return Case.COMPLETED_FLAGGED
    if LegStatus.FALLBACK in _legs(order):
        return Case.PAID_BY_FALLBACK
    if order.rerouted:
        return Case.REROUTED
    if order.refund_hash or order.refund_amount is not None:
        return Case.PART_RETURNED
    return Case.COMPLETED


def _expired(order: Order) -> Case:
    if deposit_arrived(order):
        if order.non_refundable:
            return Case.NOT_REFUNDABLE
        stuck = order.action_required or order.refund_address is None
        return Case.LATE_STUCK if stuck else Case.LATE_RETURNING
    if order.is_dex:
        return Case.CHAIN_EXPIRED
    return Case.EXPIRED if order.deposit_address is not None else Case.NEVER_SET_UP


def _failed(order: Order) -> Case:
    if deposit_arrived(order):
        if order.non_refundable:
            return Case.NOT_REFUNDABLE
        stuck = order.action_required or order.refund_address is None
        return Case.FAILED_STUCK if stuck else Case.FAILED_RETURNING
    if order.is_dex:
        return Case.CHAIN_FAILED
    if order.deposit_address is None:
        return Case.NEVER_SET_UP
    return Case.FAILED_BEFORE if order.in_status in _LEG_STATUSES else Case.FAILED_UNCLEAR


def _open(order: Order, display: str) -> Case:
    legs = _legs(order)
    if on_hold(order):
        return Case.HELD
    if order.action_required:
        return Case.FLAGGED
    if LegStatus.FAILED in legs:
        return Case.LEG_FAILED
    if LegStatus.REFUNDED in legs:
        return Case.LEG_RETURNED
    if LegStatus.EXPIRED in legs:
        return Case.LEG_EXPIRED
    if LegStatus.FALLBACK in legs:
        return Case.FALLBACK_PAYING
    if order.is_dex and display in _OF_CHAIN:
        return _OF_CHAIN[display]
    if display == DisplayStatus.WAITING_FOR_DEPOSIT:
        if deposit_arrived(order):
            return Case.DEPOSIT_AHEAD
        return Case.WAITING if order.deposit_address is not None else Case.SETTING_UP
    return _UNDER_WAY.get(display, Case.UNKNOWN_STATE)

"""One tracked order in the words of the tracker: state, time, money, who acts next.

``order_state`` reads what the service says, ``order_saying`` adds what the desk itself knows. This
puts both together with the time, for every place where an order is told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from swapdesk.flows.journal.folding import display_of
from swapdesk.flows.journal.transaction_log import OrderTransaction
from swapdesk.flows.notation import NOTHING, clock_time, countdown, day, duration, elapsed, expected
from swapdesk.flows.orders.deposit_hash import own_payment
from swapdesk.flows.orders.order_saying import saying_of
from swapdesk.flows.orders.order_state import OrderState
from swapdesk.flows.orders.order_summary import OrderSummary, RowTime
from swapdesk.flows.orders.own_payment import paid_by_desk
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import DisplayStatus

URGENT_SECONDS = 120


def summarise(tracked: TrackedOrder, now: datetime) -> OrderSummary:
    """What the tracker says of one order at ``now``. Pure."""
    state = tracked.state(now)
    left = (state.deadline - now).total_seconds() if state.deadline is not None else None
    said = saying_of(tracked, state, left)
    if tracked.not_signed:
        # Nobody waits for it, whatever the service says of a deadline.
        left = None
    time = _NO_ROW_TIME if tracked.not_signed else _time(state, state.elapsed, left)
    summary = OrderSummary(
        state=state,
        word=said.word,
        sentence=said.sentence,
        level=said.level,
        sign=said.sign,
        time=time.text,
        short_time=time.short,
        late=time.late,
        counting=left is not None and left > 0,
        money=said.money,
        place=said.place or short_place(said.money),
        actor=said.actor,
        due=said.due,
        brief=_brief(said.actor, said.due, state),
        by=said.by,
        notes=_notes(state),
        urgent=said.payable and left is not None and left < URGENT_SECONDS,
        payable=said.payable,
        ended=state.ended or tracked.not_signed,
        not_signed=tracked.not_signed,
        put_away=tracked.put_away,
    )
    waiting = display_of(tracked.order) == DisplayStatus.WAITING_FOR_DEPOSIT
    if tracked.own_payment is None or not waiting or tracked.withheld is not None:
        return summary
    return paid_by_desk(summary, tracked.own_payment)


def summarise_paid(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction]
) -> OrderSummary:
    """As :func:`summarise`, with the transactions of the order as they were read just now; with
    none, as the tracker knows its payment."""
    return summarise(replace(tracked, own_payment=own_payment(made)) if made else tracked, now)


def time_at(summary: OrderSummary, tracked: TrackedOrder, now: datetime) -> RowTime | None:
    """The time in the row of an order of which ``summary`` was said; nothing else in the row is
    another one by then. None when the deadline lies between, which changes more."""
    state, created = summary.state, tracked.order.created
    if tracked.not_signed:
        return _NO_ROW_TIME
    passed = state.elapsed if state.ended or created is None else now - created
    left = (state.deadline - now).total_seconds() if state.deadline is not None else None
    if left is not None and (left > 0) != summary.counting:
        return None
    return _time(state, passed, left)


def created_words(tracked: TrackedOrder, summary: OrderSummary, now: datetime) -> str:
    """``created 13:21:40 · 41m, 27m over the expected time``, for the label of the order."""
    state = summary.state
    created = tracked.order.created
    parts = []
    if created is not None:
        same_day = created.date() == now.date()
        parts.append(f"created {clock_time(created) if same_day else day(created, now)}")
    if state.late_by is not None and state.elapsed is not None:
        passed = elapsed(state.elapsed.total_seconds()).text
        over = elapsed(state.late_by.total_seconds()).text
        parts.append(f"{passed}, {over} over the expected time")
    elif summary.time not in ("", NOTHING):
        parts.append(summary.time)
    if summary.put_away:
        parts.append("put away")
    if tracked.archived(now):
        parts.append("from the journal")
    return " · ".join(parts)


def _notes(state: OrderState) -> tuple[str, ...]:
    if state.late_by is None:
        return state.account.notes
    over = elapsed(state.late_by.total_seconds()).text
    return (f"{over} over the expected time", *state.account.notes)


def _time(state: OrderState, elapsed_time: timedelta | None, left: float | None) -> RowTime:
    if left is not None:
        text = countdown(left)
        return RowTime(f"{text} left" if left > 0 else text, text, late=False)
    if elapsed_time is None:
        return _NO_ROW_TIME
    passed = elapsed_time.total_seconds()
    if state.ended:
        if state.level == "expired":
            return _NO_ROW_TIME
        took = f"took {duration(passed)}"
        return RowTime(took, took, late=False)
    promised = state.expected.total_seconds() if state.expected is not None else None
    said = elapsed(passed, promised)
    return RowTime(said.text, said.short, said.late)


_NO_ROW_TIME = RowTime(NOTHING, NOTHING, late=False)


_BRIEFLY = re.compile(" with order |, or take the money back: ")
"""What follows is said where there is room."""


def _brief(actor: str, due: str, state: OrderState) -> str:
    """``you: write to support``, ``the second exchange, ~8m``."""
    if actor == "you":
        return f"{actor}: {_BRIEFLY.split(due, maxsplit=1)[0]}"
    if state.elapsed is None or state.expected is None or state.ended or state.late_by is not None:
        return actor
    if state.deadline is not None:
        # The expected time counts from the payment, which nobody has seen yet.
        return actor
    return f"{actor}, {expected((state.expected - state.elapsed).total_seconds())}"


def short_place(money: str) -> str:
    """The first part of the sentence: ``in your wallet.``"""
    for rest in (", if ", ", after ", "; "):
        head, found, _ = money.partition(rest)
        if found:
            return f"{head}."
    head, came_from, _ = money.partition(" on the chain it came from")
    return (
        f"{head}."
        if came_from
        else money.replace(" is with the service or ", " with the service or ")
    )

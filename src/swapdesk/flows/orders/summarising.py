"""One tracked order in the words of the tracker: state, time, money, who acts next.

``order_state`` reads what the service says. This adds what the desk itself knows: a withheld
address, a deadline that passed before the service closed the order, the name of the recipient,
and that the service forgets an order after 48 hours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from swapdesk.flows.intents.intent import IntentKind
from swapdesk.flows.intents.standing import Standing
from swapdesk.flows.journal.folding import display_of
from swapdesk.flows.journal.transaction_log import OrderTransaction
from swapdesk.flows.notation import NOTHING, clock_time, countdown, day, duration, elapsed, expected
from swapdesk.flows.orders.batch_payment import PaidTo
from swapdesk.flows.orders.deposit_hash import own_payment
from swapdesk.flows.orders.order_account import pays_otherwise
from swapdesk.flows.orders.order_case import Case
from swapdesk.flows.orders.order_state import OrderState
from swapdesk.flows.orders.order_summary import OrderSummary, RowTime, Sign
from swapdesk.flows.orders.order_words import NO_TIME, PAID_LESS
from swapdesk.flows.orders.own_payment import paid_by_desk
from swapdesk.flows.orders.swap_payment import SwapStage
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.wording import Level
from swapdesk.wire.orders import DisplayStatus

URGENT_SECONDS = 120
PAY_BATCH = "pay the batch; b shows it"
_BY_BATCH = {
    PaidTo.WAY: ("Batch under way", "Its batch is being paid. Do not pay it by itself"),
    PaidTo.ADDRESS: (
        "Paid by batch",
        "Its batch paid the deposit; the service has not seen it yet. Do not pay it by itself",
    ),
}
_DO_NOT_PAY: tuple[str, Level, Sign] = ("Do not pay", "trouble", "trouble")
_WITHHELD: dict[Standing, tuple[str, Level, Sign]] = {
    Standing.FOREIGN: ("Not of this desk", "waiting", "waiting"),
    Standing.UNREPEATED: ("Being compared", "waiting", "waiting"),
    Standing.LOWER: ("Gives less", "trouble", "trouble"),
}


def withheld_next(tracked: TrackedOrder) -> tuple[str, str]:
    """Who acts on an order whose address is hidden, and how."""
    standing = tracked.standing
    if tracked.awaits_address:
        return "the service", "it sets up the deposit address"
    if tracked.in_batch and standing is Standing.FOREIGN:
        payment = tracked.batch_payment
        return (payment.actor, payment.due) if payment is not None else ("you", PAY_BATCH)
    if standing is Standing.FOREIGN:
        return "whoever made it", "this desk pays only what was confirmed here"
    if standing is Standing.UNREPEATED:
        return "the service", "it repeats the order, then the address is shown"
    if standing is Standing.LOWER:
        return "you", "accept less, or let it expire"
    return "you", "do not pay; ask for new quotes"


def summarise(tracked: TrackedOrder, now: datetime) -> OrderSummary:
    """What the tracker says of one order at ``now``. Pure."""
    state = tracked.state(now)
    order = tracked.order
    display = display_of(order)
    word, sentence, level, sign = state.short, state.sentence, state.level, _sign(display, state)
    actor, due, by = state.actor, state.next, state.account.by
    left = (state.deadline - now).total_seconds() if state.deadline is not None else None
    waiting = display == DisplayStatus.WAITING_FOR_DEPOSIT
    money = state.money
    payable = False
    late = waiting and left is not None and left <= 0
    payment = tracked.batch_payment if tracked.standing is Standing.FOREIGN else None
    setting_up = tracked.awaits_address and state.case is Case.SETTING_UP
    refused = tracked.withheld is not None and tracked.standing not in _WITHHELD
    place = ""
    swap = tracked.swap_payment if waiting and not refused else None
    if swap is not None and not (late and swap.at is SwapStage.TO_SIGN):
        word, sentence, level, sign = swap.word, swap.sentence, swap.level, swap.level
        money, actor, due, by = swap.money, swap.actor, swap.due, swap.by or by
    elif payment is not None and payment.begun and waiting:
        word, sentence = _BY_BATCH[payment.at]
        level = sign = "moving"
        money, place, actor, due = payment.money, payment.place, payment.actor, payment.due
        by = NO_TIME
    elif late and not refused:
        word, level, sign = "Deadline over", "expired", "expired"
        sentence = "The deadline passed. Do not send to this order any more"
        money = "in your wallet, if you sent nothing."
        if state.case is Case.CHAIN_AWAITED:
            sentence = "The deadline passed before the service saw this order's transaction"
            money = "in your wallet, if its transaction was not executed."
        actor, due, by = "the service", "it closes the order", NO_TIME
        if payment is not None:
            money, place = payment.money, payment.place
            if payment.at is PaidTo.ACCOUNT:
                actor, due = payment.actor, payment.due
    elif tracked.withheld is not None and not setting_up and (waiting or display is None):
        word, level, sign = _WITHHELD.get(tracked.standing, _DO_NOT_PAY)
        sentence = _sentence(tracked.withheld)
        actor, due = withheld_next(tracked)
        by = "nothing is due"
        if tracked.in_batch and tracked.standing is Standing.FOREIGN:
            word = "With its batch"
            by = state.account.by
        if payment is not None:
            money, place = payment.money, payment.place
    elif state.case is Case.WAITING:
        payable = True
        if left is not None:
            due = f"send the deposit within {countdown(left)}"
    elif display == DisplayStatus.SENDING_TO_RECEIVER:
        word = _sending(tracked, word)
    elif state.case is Case.COMPLETED:
        against = pays_otherwise(order, tracked.intent)
        if against is not None and against < 0:
            word, sign = PAID_LESS, "trouble"
    time = _time(state, state.elapsed, left)
    summary = OrderSummary(
        state=state,
        word=word,
        sentence=sentence,
        level=level,
        sign=sign,
        time=time.text,
        short_time=time.short,
        late=time.late,
        counting=left is not None and left > 0,
        money=money,
        place=place or short_place(money),
        actor=actor,
        due=due,
        brief=_brief(actor, due, state),
        by=by,
        notes=_notes(state),
        urgent=payable and left is not None and left < URGENT_SECONDS,
        payable=payable,
        ended=state.ended,
    )
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
    if tracked.archived(now):
        parts.append("from the journal")
    return " · ".join(parts)


def _sign(display: str | None, state: OrderState) -> Sign:
    if display == DisplayStatus.FAILED:
        return "failed"
    if display is None or state.short.startswith("Other ("):
        return "unknown"
    return state.level


def _notes(state: OrderState) -> tuple[str, ...]:
    if state.late_by is None:
        return state.account.notes
    over = elapsed(state.late_by.total_seconds()).text
    return (f"{over} over the expected time", *state.account.notes)


def _sending(tracked: TrackedOrder, word: str) -> str:
    intent = tracked.intent
    if intent is None or intent.kind is not IntentKind.PRIVATE_SEND:
        return word
    return f"Sending to {intent.recipient_label or 'them'}"


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


def _sentence(text: str) -> str:
    return text.rstrip(".")

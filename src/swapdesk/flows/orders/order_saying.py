"""What is said of one order: as the service says it, or as the desk knows better.

The desk knows of a withheld address, of its own payment by a batch or a swap on chains, and of a
deadline that passed before the service closed the order.
"""

from __future__ import annotations

from typing import NamedTuple

from swapdesk.flows.intents.standing import Standing
from swapdesk.flows.journal.folding import display_of
from swapdesk.flows.notation import countdown
from swapdesk.flows.orders.batch_payment import BatchPayment, PaidTo
from swapdesk.flows.orders.order_account import pays_otherwise
from swapdesk.flows.orders.order_case import Case
from swapdesk.flows.orders.order_state import OrderState
from swapdesk.flows.orders.order_summary import Sign
from swapdesk.flows.orders.order_words import NO_TIME, PAID_LESS
from swapdesk.flows.orders.swap_payment import SwapStage
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.wording import Level
from swapdesk.wire.orders import DisplayStatus

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


class Saying(NamedTuple):
    """``payable``: the deposit may be sent now."""

    word: str
    sentence: str
    level: Level
    sign: Sign
    money: str
    actor: str
    due: str
    by: str
    place: str = ""
    payable: bool = False


def saying_of(tracked: TrackedOrder, state: OrderState, left: float | None) -> Saying:
    """What the service says, or what the desk knows better. ``left``: seconds to the deadline."""
    display = display_of(tracked.order)
    waiting = display == DisplayStatus.WAITING_FOR_DEPOSIT
    late = waiting and left is not None and left <= 0
    refused = tracked.withheld is not None and tracked.standing not in _WITHHELD
    payment = tracked.batch_payment if tracked.standing is Standing.FOREIGN else None
    setting_up = tracked.awaits_address and state.case is Case.SETTING_UP
    said = Saying(
        state.short,
        state.sentence,
        state.level,
        _sign(display, state),
        state.money,
        state.actor,
        state.next,
        state.account.by,
    )
    closed = tracked.not_signed and state.ended
    swap = tracked.swap_payment if closed or (waiting and not refused) else None
    if swap is not None and not (late and swap.at is SwapStage.TO_SIGN):
        by = swap.by or said.by
        level = swap.level
        return Saying(swap.word, swap.sentence, level, level, swap.money, swap.actor, swap.due, by)
    if payment is not None and payment.begun and waiting:
        return _by_batch(payment)
    if late and not refused:
        return _deadline_over(state, payment)
    if tracked.withheld is not None and not setting_up and (waiting or display is None):
        return _withheld(said, tracked, tracked.withheld, payment)
    if state.case is Case.WAITING:
        due = said.due if left is None else f"send the deposit within {countdown(left)}"
        return said._replace(due=due, payable=True)
    if display == DisplayStatus.SENDING_TO_RECEIVER:
        return said._replace(word=_sending(tracked, said.word))
    if state.case is Case.COMPLETED:
        against = pays_otherwise(tracked.order, tracked.intent)
        if against is not None and against < 0:
            return said._replace(word=PAID_LESS, sign="trouble")
    return said


def _by_batch(payment: BatchPayment) -> Saying:
    word, sentence = _BY_BATCH[payment.at]
    return Saying(
        word,
        sentence,
        "moving",
        "moving",
        payment.money,
        payment.actor,
        payment.due,
        NO_TIME,
        payment.place,
    )


def _deadline_over(state: OrderState, payment: BatchPayment | None) -> Saying:
    """Nobody saw a deposit in time, and the service has not closed the order yet."""
    sentence = "The deadline passed. Do not send to this order any more"
    money, place = "in your wallet, if you sent nothing.", ""
    if state.case is Case.CHAIN_AWAITED:
        sentence = "The deadline passed before the service saw this order's transaction"
        money = "in your wallet, if its transaction was not executed."
    actor, due = "the service", "it closes the order"
    if payment is not None:
        money, place = payment.money, payment.place
        if payment.at is PaidTo.ACCOUNT:
            actor, due = payment.actor, payment.due
    return Saying(
        "Deadline over", sentence, "expired", "expired", money, actor, due, NO_TIME, place
    )


def _withheld(
    said: Saying, tracked: TrackedOrder, reason: str, payment: BatchPayment | None
) -> Saying:
    """The address is hidden for this ``reason``."""
    word, level, sign = _WITHHELD.get(tracked.standing, _DO_NOT_PAY)
    actor, due = withheld_next(tracked)
    by = "nothing is due"
    if tracked.in_batch and tracked.standing is Standing.FOREIGN:
        word, by = "With its batch", said.by
    money, place = (said.money, "") if payment is None else (payment.money, payment.place)
    return Saying(word, _sentence(reason), level, sign, money, actor, due, by, place)


def _sign(display: str | None, state: OrderState) -> Sign:
    if display == DisplayStatus.FAILED:
        return "failed"
    if display is None or state.short.startswith("Other ("):
        return "unknown"
    return state.level


def _sending(tracked: TrackedOrder, word: str) -> str:
    label = tracked.intent.recipient_label if tracked.intent is not None else None
    return f"{word} to {label}" if label else word


def _sentence(text: str) -> str:
    return text.rstrip(".")

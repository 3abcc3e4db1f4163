"""What an order means for a person: state in words, stage, where the money is, who acts next.

A pure function of the order, what was confirmed and the time. It never promises; where the
service does not say, neither does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from swapdesk.flows.folding import display_of, ended
from swapdesk.flows.wording import (
    ON_HOLD,
    PRIVATE_STAGE_OF,
    PRIVATE_STAGES,
    STANDARD_STAGE_OF,
    STANDARD_STAGES,
    STATES,
    Level,
    StateWords,
)
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order

SHORT_ID = 6
"""Characters of an order id in lists."""


@dataclass(frozen=True)
class OrderState:
    """``stage`` counts from 0; ``late_by`` is set once the expected time has passed."""

    short: str
    sentence: str
    level: Level
    stage: int
    stages: tuple[str, ...]
    money: str
    actor: str
    next: str
    deadline: datetime | None
    elapsed: timedelta | None
    expected: timedelta | None
    late_by: timedelta | None
    ended: bool


def short_id(service_id: str) -> str:
    return service_id[:SHORT_ID]


def describe(order: Order, *, now: datetime) -> OrderState:
    """The state of ``order`` at ``now`` (the desk's clock)."""
    display = display_of(order)
    private = order.anonymous is True
    words = _words(order, display)
    stages = PRIVATE_STAGES if private else STANDARD_STAGES
    over = ended(display)
    elapsed = now - order.created if order.created is not None else None
    expected = timedelta(minutes=float(order.eta)) if order.eta is not None else None
    if over and order.created is not None:
        finished = order.order_finished_received or order.modified
        elapsed = finished - order.created if finished is not None else None
    waiting = display == DisplayStatus.WAITING_FOR_DEPOSIT
    late_by = None
    if not over and not waiting and elapsed is not None and expected is not None:
        late_by = elapsed - expected if elapsed > expected else None
    money, actor, next_ = _money_and_next(order, display, over)
    return OrderState(
        short=words.short,
        sentence=words.sentence,
        level=words.level,
        stage=_stage(order, display, private),
        stages=stages,
        money=money,
        actor=actor,
        next=next_,
        deadline=order.expires if waiting else None,
        elapsed=elapsed,
        expected=expected,
        late_by=late_by,
        ended=over,
    )


def on_hold(order: Order) -> bool:
    """Leg status 8: a provider holds the money for a check."""
    return LegStatus.VERIFYING in (order.in_status, order.out_status) and not ended(
        display_of(order)
    )


def _words(order: Order, display: str | None) -> StateWords:
    if on_hold(order):
        return ON_HOLD
    if display is None:
        return StateWords("Not known", "The service does not say the state", "waiting")
    known = STATES.get(display)
    if known is None:
        return StateWords(
            f"Other ({display[:12]})", f"A state this desk does not know: {display}", "moving"
        )
    if display == DisplayStatus.FAILED and deposit_arrived(order):
        return StateWords("Failed", "The order failed after the deposit arrived", "trouble")
    return known


def deposit_arrived(order: Order) -> bool:
    """Whether the service says that money of this order reached it."""
    if order.action_required or order.refund_hash or order.out_transaction_out_hash:
        return True
    if order.out_status is not None and order.out_status >= LegStatus.CONFIRMING:
        return True
    return order.in_status is not None and order.in_status in (
        LegStatus.CONFIRMING,
        LegStatus.EXCHANGING,
        LegStatus.SENDING,
        LegStatus.FINISHED,
        LegStatus.REFUNDED,
        LegStatus.VERIFYING,
        LegStatus.FALLBACK,
    )


def _stage(order: Order, display: str | None, private: bool) -> int:
    table = PRIVATE_STAGE_OF if private else STANDARD_STAGE_OF
    if display in table:
        return table[display]
    if display == DisplayStatus.EXPIRED or not deposit_arrived(order):
        return 0
    if not private:
        return 2
    return 6 if (order.out_status or 0) >= LegStatus.CONFIRMING else 2


def _amount(amount: Decimal | None, symbol: str | None) -> str:
    return f"{plain(amount) if amount is not None else '?'} {symbol or '?'}"


def symbols(order: Order) -> tuple[str, str]:
    """Symbols of the sent and received token, from the token objects where they are given."""
    sent = order.in_token.symbol if order.in_token else order.in_symbol
    received = order.out_token.symbol if order.out_token else order.out_symbol
    return sent or "?", received or "?"


def _holder(order: Order) -> str:
    if order.anonymous:
        return "the second exchange" if (order.out_status or 0) >= 2 else "the first exchange"
    return order.swap_name or "the exchange"


def _money_and_next(order: Order, display: str | None, over: bool) -> tuple[str, str, str]:
    """Where the money is, who acts, and what they do."""
    sent, received = symbols(order)
    paid = _amount(order.in_amount, sent)
    got = _amount(order.out_amount, received)
    holder = _holder(order)
    name = short_id(order.service_id)
    if display == DisplayStatus.SWAP_COMPLETED:
        return f"{got} arrived at the recipient.", "nobody", "nothing is left to do"
    if display == DisplayStatus.EXPIRED:
        if order.action_required:
            return (
                f"{paid} arrived after the deadline and is with the service.",
                "you",
                f"write to support with order {name}",
            )
        return (
            "in your wallet, if you sent nothing.",
            "nobody",
            "do not send to this address any more",
        )
    if display == DisplayStatus.FAILED:
        if deposit_arrived(order):
            return f"{paid} is with the service.", "you", f"write to support with order {name}"
        if order.deposit_address is None:
            return "in your wallet.", "you", "ask for new quotes"
        return "in your wallet, if you sent nothing.", "you", "ask for new quotes"
    if display == DisplayStatus.REFUNDED:
        if order.refund_amount is None:
            back = f"the {sent} came back; the service does not say how much."
        else:
            back = f"{_amount(order.refund_amount, sent)} came back on the chain it came from."
        return back, "nobody", "nothing is left to do"
    if display == DisplayStatus.DELETED:
        return "in your wallet, if you sent nothing.", "nobody", "nothing is left to do"
    if on_hold(order):
        return f"{paid}, held at {holder}.", "you", f"write to support with order {name}"
    if display is None:
        return "not known; the service does not say the state.", "the service", "it says more"
    if display == DisplayStatus.WAITING_FOR_DEPOSIT:
        if order.deposit_address is None:
            return "in your wallet.", "the service", "it sets up the deposit address"
        return "in your wallet.", "you", "send the deposit"
    if display == DisplayStatus.DEPOSIT_DETECTED:
        return f"{paid} on its way to {holder}.", "the chain", "it confirms the deposit"
    if display == DisplayStatus.SENDING_TO_RECEIVER:
        return f"{got} on its way to the recipient.", "the chain", "it confirms the payout"
    if display == DisplayStatus.SENDING_TO_INTERMEDIARY:
        return "between the two exchanges.", "the chain", "it carries the funds over"
    return f"with {holder}.", holder, "it exchanges and pays out"

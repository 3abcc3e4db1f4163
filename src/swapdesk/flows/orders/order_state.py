"""Where an order stands at a moment: its account in words, its stage, its times.

A pure function of the order, what was confirmed and the time. It never promises; where the
service does not say, neither does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.folding import display_of, ended
from swapdesk.flows.orders.order_account import Account, account_of, expected_end, short_id
from swapdesk.flows.orders.order_case import Case, deposit_arrived, in_second_leg, on_hold
from swapdesk.flows.orders.order_words import (
    PRIVATE_STAGE_OF,
    PRIVATE_STAGES,
    STANDARD_STAGE_OF,
    STANDARD_STAGES,
)
from swapdesk.flows.wording import Level
from swapdesk.wire.orders import DisplayStatus, Order

__all__ = [
    "OrderState",
    "deposit_arrived",
    "describe",
    "on_hold",
    "sentence_of",
    "short_id",
]


_UNTIL = frozenset({Case.WAITING, Case.SETTING_UP, Case.CHAIN_AWAITED})
"""Cases that end with the order's deadline."""


@dataclass(frozen=True)
class OrderState:
    """``stage`` counts from 0; ``late_by`` is set once the expected time has passed."""

    account: Account
    stage: int
    stages: tuple[str, ...]
    deadline: datetime | None
    elapsed: timedelta | None
    expected: timedelta | None
    late_by: timedelta | None
    ended: bool

    @property
    def case(self) -> Case:
        return self.account.case

    @property
    def short(self) -> str:
        return self.account.short

    @property
    def sentence(self) -> str:
        return self.account.cause

    @property
    def level(self) -> Level:
        return self.account.level

    @property
    def money(self) -> str:
        return self.account.money

    @property
    def actor(self) -> str:
        return self.account.actor

    @property
    def next(self) -> str:
        return self.account.act


def describe(order: Order, intent: Intent | None = None, *, now: datetime) -> OrderState:
    """The state of ``order`` at ``now`` (the desk's clock)."""
    display = display_of(order)
    private = order.anonymous is True
    account = account_of(order, intent, now=now)
    over = ended(display)
    elapsed = now - order.created if order.created is not None else None
    end = expected_end(order)
    expected = end - order.created if end is not None and order.created is not None else None
    if over and order.created is not None:
        finished = order.order_finished_received or order.modified
        elapsed = finished - order.created if finished is not None else None
    waiting = display == DisplayStatus.WAITING_FOR_DEPOSIT
    late_by = None
    if not over and not waiting and elapsed is not None and expected is not None:
        late_by = elapsed - expected if elapsed > expected else None
    return OrderState(
        account=account,
        stage=_stage(order, display, private),
        stages=PRIVATE_STAGES if private else STANDARD_STAGES,
        deadline=order.expires if account.case in _UNTIL else None,
        elapsed=elapsed,
        expected=expected,
        late_by=late_by,
        ended=over,
    )


def sentence_of(order: Order) -> str:
    """The state of an order in one sentence, whatever the time."""
    return f"{account_of(order, None, now=datetime.max.replace(tzinfo=UTC)).cause}."


def _stage(order: Order, display: str | None, private: bool) -> int:
    table = PRIVATE_STAGE_OF if private else STANDARD_STAGE_OF
    if display in table:
        return table[display]
    if display == DisplayStatus.EXPIRED or not deposit_arrived(order):
        return 0
    if not private:
        return 2
    return 6 if in_second_leg(order) else 2

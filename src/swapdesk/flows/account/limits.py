"""How much of each limit is used, when it begins anew, and whether it lasts until then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import ClassVar

from msgspec import Struct

from swapdesk.client.budget import Budget, Window
from swapdesk.flows.notation import Moment, short_clock
from swapdesk.wire.operation import RateClass

NAMES = {RateClass.QUOTE: "quotes", RateClass.EXCHANGE: "exchanges"}

OF_PAYER = (
    "You pay each call: a minute counts calls of every kind, hour and day show quotes and"
    " exchanges alone."
)
"""What the gauges show to who pays each call (contract 14.6)."""

_TELLING = 0.1
"""The part of a window that has to be over before its pace says anything."""


class LimitGauge(Struct, frozen=True):
    """One window of one class of calls. ``used`` counts the calls of this profile, and of the
    partner's other programs where an answer told of them; ``passed`` is in seconds."""

    PRINTED: ClassVar = {
        "calls": "name", "window": "window_name", "used": "used", "limit": "limit",
        "percent": "percent", "resetsAt": "resets_at", "endsAt": "ends_at",
    }  # fmt: skip

    rate_class: RateClass
    window: Window
    limit: int
    used: int
    passed: float
    resets_at: datetime

    @property
    def name(self) -> str:
        """``quotes`` or ``exchanges``."""
        return NAMES[self.rate_class]

    @property
    def window_name(self) -> str:
        """``minute``, ``hour`` or ``day``."""
        return self.window.name.lower()

    @property
    def percent(self) -> int:
        """Whole percent, rounded down; 100 where nothing is allowed."""
        return self.used * 100 // self.limit if self.limit > 0 else 100

    @property
    def resets_in(self) -> float:
        """Seconds."""
        return self.window.value - self.passed

    @property
    def ends_at(self) -> Moment | None:
        """When the limit is used up at the pace of this window; None where it lasts until the
        window ends, and where too little of the window is over to say."""
        now = self.resets_at - timedelta(seconds=self.resets_in)
        if self.used >= self.limit:
            return now
        if self.used == 0 or self.passed < _TELLING * self.window.value:
            return None
        left = (self.limit - self.used) * self.passed / self.used
        return now + timedelta(seconds=left) if left < self.resets_in else None


def limit_gauges(budget: Budget) -> tuple[LimitGauge, ...]:
    """Minute, hour and day of quotes and of exchanges; empty before the limits are known."""
    now = budget.now()
    return tuple(
        LimitGauge(
            rate_class,
            allowance.window,
            allowance.limit,
            allowance.used,
            now.timestamp() % allowance.window.value,
            _window_end(now, allowance.window),
        )
        for rate_class in NAMES
        for allowance in budget.of_profile(rate_class)
    )


def _window_end(now: datetime, window: Window) -> datetime:
    number = int(now.timestamp()) // window.value
    return datetime.fromtimestamp((number + 1) * window.value, UTC)


def over(gauges: tuple[LimitGauge, ...], percent: int) -> tuple[LimitGauge, ...]:
    """Those of which more than so many percent are used."""
    return tuple(gauge for gauge in gauges if gauge.used * 100 > gauge.limit * percent)


def forecast(gauges: tuple[LimitGauge, ...]) -> str | None:
    """One sentence about the limit that would keep the desk waiting for the longest; None where
    all last until their windows end."""
    ending = [(gauge, end) for gauge in gauges if (end := gauge.ends_at) is not None]
    if not ending:
        return None
    gauge, end = max(ending, key=lambda one: one[0].resets_at - one[1])
    window = gauge.window.name.lower()
    if gauge.used >= gauge.limit:
        again = short_clock(gauge.resets_at)
        return f"The {gauge.name} of this {window} are used up. The desk waits until {again}."
    return (
        f"At this pace the {gauge.name} of this {window} end at {short_clock(end)}."
        " The desk then waits."
    )

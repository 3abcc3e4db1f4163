"""In which groups and in which sequence within them orders stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from swapdesk.flows.journal.folding import PROGRESS, display_of, ended
from swapdesk.flows.orders.order_fields import expected_end
from swapdesk.flows.orders.situations import Situation, needs_owner, situation_of
from swapdesk.flows.orders.tracked_order import TrackedOrder

_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


class Group(StrEnum):
    """In their sequence; the value is how it is called on the screen."""

    NEEDS_YOU = "Needs you"
    """Ended orders whose money stays where it is until their owner acts."""
    OPEN = "Open"
    NOT_SIGNED = "Not signed"
    """Swaps on chains that the service still waits for, and nobody will sign."""
    PUT_AWAY = "Put away"
    """Failed ones that their owner dealt with."""
    FINISHED = "Finished"


def group_of(tracked: TrackedOrder) -> Group:
    """Where an order stands."""
    order = tracked.order
    if tracked.put_away:
        return Group.PUT_AWAY
    if not ended(display_of(order)):
        return Group.NOT_SIGNED if tracked.not_signed else Group.OPEN
    return Group.NEEDS_YOU if needs_owner(order) else Group.FINISHED


class Sorting(StrEnum):
    """The value is how it is called on the command line and on the screen."""

    DEADLINE = "deadline"
    """Open ones by their deadline, finished ones newest first."""
    NEWEST = "newest"
    OLDEST = "oldest"
    LATE = "late"
    """What should be done by now first."""
    STATE = "state"
    """What needs you first, then how far it came."""
    PAIR = "pair"
    AMOUNT = "amount"
    """The largest worth in USD at creation first; unknown ones last."""

    def after(self) -> Sorting:
        """The next one, as the key goes through them."""
        all_ = list(Sorting)
        return all_[(all_.index(self) + 1) % len(all_)]


def sort_orders(orders: Iterable[TrackedOrder], by: Sorting) -> list[TrackedOrder]:
    """The groups after one another, each in this sequence; equal ones by their id."""
    groups: dict[Group, list[TrackedOrder]] = {group: [] for group in Group}
    for one in orders:
        groups[group_of(one)].append(one)
    key = _KEYS[by]
    finished = _newest if by in (Sorting.DEADLINE, Sorting.LATE) else key
    for group, found in groups.items():
        asked = key if group is Group.OPEN else finished
        found.sort(key=lambda one, asked=asked: (asked(one), one.service_id))  # type: ignore[misc]
    return [one for found in groups.values() for one in found]


def _newest(one: TrackedOrder) -> float:
    return -(one.order.created or _FIRST).timestamp() if one.order.created else 0.0


def _oldest(one: TrackedOrder) -> datetime:
    return one.order.created or _LAST


def _state(one: TrackedOrder) -> tuple[bool, bool, int]:
    said = situation_of(one.order)
    display = display_of(one.order)
    steps = [str(step) for step in PROGRESS]
    return (
        said.meaning.level != "trouble",
        said is not Situation.WAITING,
        -steps.index(display) if display in steps else 0,
    )


def _amount(one: TrackedOrder) -> tuple[bool, Decimal]:
    worth = one.order.in_amount_usd
    return worth is None, -(worth or Decimal(0))


_KEYS: dict[Sorting, Callable[[TrackedOrder], Any]] = {
    Sorting.DEADLINE: lambda one: one.order.expires or _LAST,
    Sorting.NEWEST: _newest,
    Sorting.OLDEST: _oldest,
    Sorting.LATE: lambda one: expected_end(one.order) or _LAST,
    Sorting.STATE: _state,
    Sorting.PAIR: lambda one: one.symbols,
    Sorting.AMOUNT: _amount,
}

"""Telling that an order ended, once for each end: by the bell and by the terminal's notice.

OSC 9 shows a text outside the window in the terminals that know it; others show nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from swapdesk.tui.spans import printable

if TYPE_CHECKING:
    from swapdesk.flows.orders.tracked_order import TrackedOrder

LONGEST = 120


class Notify(StrEnum):
    """``notify`` in the configuration."""

    AWAY = "away"
    """While the terminal is not known to have the focus."""
    ALWAYS = "always"
    OFF = "off"


class EndBell:
    """``tell`` writes to the terminal: the bell, and a sequence with the sentence."""

    def __init__(self, choice: Notify, tell: Callable[[str], None]) -> None:
        self._choice = choice
        self._tell = tell
        self._told: dict[str, str] = {}
        self.focused = False
        """Whether the terminal said that it has the focus; not every one says."""

    def begin(self, orders: Iterable[TrackedOrder]) -> None:
        """What ended before is no news."""
        self._told |= {one.service_id: _end(one) for one in orders if one.ended}

    def changed(self, orders: Iterable[TrackedOrder], now: datetime) -> list[str]:
        """Tell of those that ended since; the sentences, also when no bell was rung."""
        said: list[str] = []
        for one in orders:
            if not one.ended or self._told.get(one.service_id) == _end(one):
                continue
            self._told[one.service_id] = _end(one)
            said.append(end_sentence(one, now))
        if said and self._choice is not Notify.OFF:
            away = not self.focused or self._choice is Notify.ALWAYS
            if away:
                text = said[0] if len(said) == 1 else f"{len(said)} orders ended. {said[0]}"
                self._tell(text)
        return said


def end_sentence(tracked: TrackedOrder, now: datetime) -> str:
    """``Order m1Xc7D, BTC to ETH: completed.`` Amounts stay on the screen."""
    # Orders and their models load after the first frame.
    from swapdesk.flows.orders.order_status import order_status

    sent, received = tracked.symbols
    word = order_status(tracked, now).word
    return f"Order {tracked.short_id}, {sent} to {received}: {word[:1].lower()}{word[1:]}."


def terminal_notice(text: str) -> str:
    """The bell and the sequence OSC 9, in which no character can end it early."""
    safe = "".join(char for char in printable(text) if char.isprintable())[:LONGEST]
    return f"\a\x1b]9;{safe}\x1b\\"


def _end(one: TrackedOrder) -> str:
    # As above.
    from swapdesk.flows.journal.order_merge import display_of

    return display_of(one.order) or ""

"""What the tracker says of one order: state, time, money, who acts next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from swapdesk.flows.orders.order_case import STRANDED
from swapdesk.flows.orders.order_state import OrderState
from swapdesk.flows.wording import Level

Sign = Literal["waiting", "moving", "done", "trouble", "failed", "back", "expired", "unknown"]
"""Which glyph stands before the word of a state."""


class RowTime(NamedTuple):
    """A countdown, the time passed, or the time it took; ``short`` is for narrow columns."""

    text: str
    short: str
    late: bool


@dataclass(frozen=True)
class OrderSummary:
    """``word`` fits a table cell. ``time`` is a countdown, the time passed, or the time it took;
    ``short_time`` the same for narrow columns. ``money`` is a sentence that follows the word
    Funds and ``place`` its short form; ``actor`` and ``due`` (what they do, by when) follow Next;
    ``brief`` is both in a few words.
    ``by`` is until when, ``notes`` what else is to be known, without closing points.
    """

    state: OrderState
    word: str
    sentence: str
    level: Level
    sign: Sign
    time: str
    short_time: str
    late: bool
    counting: bool
    money: str
    place: str
    actor: str
    due: str
    brief: str
    by: str
    notes: tuple[str, ...]
    urgent: bool
    payable: bool
    ended: bool
    not_signed: bool = False
    """Nobody signed it, and nobody will."""
    put_away: bool = False
    """Its owner dealt with it."""

    @property
    def yours(self) -> bool:
        """Whether you act next: on an open order, or on one that ended with its money stuck."""
        return (
            not self.put_away
            and self.actor == "you"
            and (not self.ended or self.state.case in STRANDED)
        )

    @property
    def told(self) -> str:
        """The sentence with its notes, each with its point."""
        return " ".join(f"{part}." for part in (self.sentence, *self.notes))

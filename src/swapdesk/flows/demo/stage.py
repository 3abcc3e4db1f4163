"""One stage of a demonstration: its row of the table, and what was known when it came."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import ClassVar, Literal

from msgspec import Struct, field

from swapdesk.client.sandbox_control import OrderLeg
from swapdesk.flows.demo.link_search import Comparison, LinkSearch
from swapdesk.flows.notation import clock_time
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.tokens import Token

HOW_FAR = {
    "WAITING": 1,
    "CONFIRMING": 2,
    "VERIFYING": 3,
    "EXCHANGING": 3,
    "SENDING": 4,
    "FINISHED": 5,
    "FALLBACK": 5,
}
"""How far a leg is by its status; one that failed is nowhere on the way."""


class StageRow(Struct, frozen=True):
    """One row of the table of a demonstration. ``act`` is done first; ``reached`` says whether
    the stage, or a later one, has come. ``more`` is told on demand; ``short`` is the name where
    there is little room. ``holder`` is the leg that the money is at, from 0, and the status of it
    that the stage is about; None where the order tells."""

    name: str
    short: str
    title: str
    sentence: str
    more: str
    reached: Callable[[Stage], bool]
    act: Literal["create", "pay", "find_order", "reply"] | None = None
    holder: tuple[int, str] | None = None


class Movement(Struct, frozen=True):
    """A payment on a chain; ``amount`` is None for a token that the catalogue does not have."""

    chain: str
    block: int
    hash: str
    sender: str = field(name="from")
    receiver: str = field(name="to")
    symbol: str
    amount: Decimal | None
    at: datetime


class PaneLine(Struct, frozen=True):
    """``at`` or ``label`` stands before it: a time, or the name of a leg. ``tone`` is strong,
    muted, done, moving, waiting, trouble, or none. ``whole`` is the text where there is room for
    all of it."""

    text: str
    label: str = ""
    tone: str = ""
    whole: str = ""
    at: datetime | None = None

    @property
    def head(self) -> str:
        return clock_time(self.at) if self.at is not None else self.label


class Pane(Struct, frozen=True):
    """What one of the people sees."""

    PRINTED: ClassVar = {"title": "title", "lines": "texts", "ending": "ending"}

    title: str
    lines: tuple[PaneLine, ...]
    ending: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """Its lines, each whole behind its label."""
        return tuple(f"{one.head} {one.whole or one.text}".strip() for one in self.lines)


class Stage(Struct, frozen=True):
    """``number`` is 1 to as many as there are.

    ``moved`` are the payments of the case on the local chains: to and from the addresses of the
    order, oldest first; ``paid`` is the one to the deposit address, ``got`` the one to Bob.
    ``fee`` is what Alice paid to the chain, in its ``coin``. ``letter`` is what she wrote to
    support, ``support`` what that found or answered. ``compared`` is what a watcher can still
    compare.
    """

    number: int
    row: StageRow
    at: datetime
    created: datetime
    sold: Token
    amount: Decimal
    tracked: TrackedOrder
    legs: tuple[OrderLeg, ...]
    money: str
    """Where the money is, and who acts next."""
    next: str
    chains: frozenset[str]
    """The chains that are read."""
    coin: str
    moved: tuple[Movement, ...]
    paid: Movement | None
    got: Movement | None
    fee: Decimal | None
    letter: str
    support: tuple[PaneLine, ...]
    search: LinkSearch | None = None
    compared: tuple[Comparison, ...] = ()

    @property
    def completed(self) -> bool:
        """Whether it ended with what was wanted."""
        return self.tracked.ended and self.legs[-1].status in ("FINISHED", "FALLBACK")

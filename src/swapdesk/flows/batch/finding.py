"""What is wrong with a row, or worth a look: where, why, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from swapdesk.flows.batch.sheet import Column

UNLESS_MEANT = "Nothing, if you mean it."
"""What to do about most of what is only worth a look."""

WRITE = {
    Column.TO: "Write an address of that chain, or a @name of the address book.",
    Column.SELL_AMOUNT: "Write digits with a point, as 1200.50.",
    Column.BUY: "Write what the recipient gets, as ETH.base.",
    Column.CHAIN: "Write the short name of a chain, as ethereum.",
    Column.MEMO: "Write the memo alone.",
    Column.ROUTE: "Write standard or private.",
    Column.SELL: "Write the token that is sold, as USDC.ethereum.",
    Column.REFUND: "Write an address on the chain that is sold on, or nothing.",
}
"""What to do about a cell that says nothing usable, by its column."""


class Level(StrEnum):
    """``problem`` keeps the row from being created, ``look`` never does."""

    LOOK = "look"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """``column`` is None for a row as a whole. ``reason`` and ``do`` are sentences; ``brief``
    says the reason where there is room for a few words."""

    code: str
    level: Level
    column: Column | None
    reason: str
    do: str
    brief: str = ""

    @property
    def short(self) -> str:
        return self.brief or self.reason.rstrip(".")


def problem(code: str, column: Column | None, reason: str, do: str, brief: str = "") -> Finding:
    return Finding(code, Level.PROBLEM, column, reason, do, brief)


def look(code: str, column: Column | None, reason: str, do: str = "", brief: str = "") -> Finding:
    return Finding(code, Level.LOOK, column, reason, do or UNLESS_MEANT, brief)

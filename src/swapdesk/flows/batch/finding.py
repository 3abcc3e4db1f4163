"""What is wrong with a row, or worth a look: where, why, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from swapdesk.flows.batch.sheet import Column

UNLESS_MEANT = "Nothing, if you mean it."
"""What to do about most of what is only worth a look."""


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

"""The result of a check as one line: a level and a sentence. Screens and commands show such
lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

CheckLevel = Literal["ok", "note", "warn", "refuse", "unknown"]
"""How serious a line is: verified, for information, needing attention, blocking, or unknown yet."""


class CheckLine(Struct, frozen=True):
    level: CheckLevel
    text: str
    then: str = ""
    """What the user should do about it, shown muted after the text; empty if nothing."""


def refusal(lines: Iterable[CheckLine]) -> str:
    """Returns the sentence of the first line with the level ``refuse``, which blocks the step.
    Empty if there is none."""
    return next((line.text for line in lines if line.level == "refuse"), "")


def texts(lines: Iterable[CheckLine], level: CheckLevel) -> list[str]:
    """Returns the sentences of the lines that have this level."""
    return [line.text for line in lines if line.level == level]

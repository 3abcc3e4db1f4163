"""A check's result as one line: a level and a sentence. Screens and commands show such lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

CheckLevel = Literal["ok", "note", "warn", "refuse", "unknown"]
"""How serious a check's line is: ``ok`` was verified, ``note`` informs, ``warn`` needs attention,
``refuse`` blocks the step, ``unknown`` waits for an answer."""


class CheckLine(Struct, frozen=True):
    level: CheckLevel
    text: str
    then: str = ""
    """What the user should do; shown muted after the text."""


def refusal(lines: Iterable[CheckLine]) -> str:
    """Returns the first sentence that blocks the step; empty if none does."""
    return next((line.text for line in lines if line.level == "refuse"), "")


def texts(lines: Iterable[CheckLine], level: CheckLevel) -> list[str]:
    """Returns the sentences of one level."""
    return [line.text for line in lines if line.level == level]

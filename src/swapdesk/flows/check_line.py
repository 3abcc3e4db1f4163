"""One line of a check, as a screen or a command shows it: how grave it is, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

CheckLevel = Literal["ok", "note", "warn", "refuse", "unknown"]
"""``ok`` was verified, ``note`` informs, ``warn`` wants attention, ``refuse`` locks the step;
``unknown`` waits for an answer."""


class CheckLine(Struct, frozen=True):
    level: CheckLevel
    text: str
    then: str = ""
    """What to do; muted after the text."""


def refusal(lines: Iterable[CheckLine]) -> str:
    """The first sentence that locks the step; empty if none does."""
    return next((line.text for line in lines if line.level == "refuse"), "")


def texts(lines: Iterable[CheckLine], level: CheckLevel) -> list[str]:
    """The sentences of one level."""
    return [line.text for line in lines if line.level == level]

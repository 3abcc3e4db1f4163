"""One line of a check, as a screen or a command shows it: how grave it is, and a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

CheckLevel = Literal["ok", "note", "warn", "refuse"]
"""``ok`` was verified, ``note`` informs, ``warn`` wants attention, ``refuse`` locks the step."""


class CheckLine(Struct, frozen=True):
    level: CheckLevel
    text: str


def refused(lines: Iterable[CheckLine]) -> bool:
    """Whether any line locks the step."""
    return any(line.level == "refuse" for line in lines)

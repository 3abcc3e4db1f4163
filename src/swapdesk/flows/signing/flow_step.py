"""One step of something that is signed, as its line of steps shows it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Mark(StrEnum):
    """Where a step stands."""

    DONE = "done"
    NOW = "now"
    AHEAD = "ahead"
    FAILED = "failed"


@dataclass(frozen=True)
class FlowStep:
    """``name`` in the fewest words: ``sign 1 permit``."""

    name: str
    mark: Mark

"""What the desk said, kept for the request log: a notice is on the screen for seconds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

MOST_NOTICES = 200
MOST_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class KeptNotice:
    """``at`` is the desk's time, None before the desk knows one; ``number`` counts from 1."""

    number: int
    at: datetime | None
    severity: str
    text: str


class NoticeLog:
    """A ring of the newest notices."""

    def __init__(self) -> None:
        self._kept: deque[KeptNotice] = deque(maxlen=MOST_NOTICES)
        self.count = 0

    def add(self, at: datetime | None, severity: str, text: str) -> None:
        self.count += 1
        self._kept.append(KeptNotice(self.count, at, severity, text[:MOST_CHARACTERS]))

    def __iter__(self) -> Iterator[KeptNotice]:
        """Oldest first."""
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)

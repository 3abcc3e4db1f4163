"""Quotes and exchanges that the desks and commands of one profile asked for, kept for a day.

A service tells its limits and not how much of them is used (contract 12.1), and a command lives
for seconds, so every process of a profile adds a line to one file. Nothing waits for what stands
there: a service that forgot its counts would be waited for in vain.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from swapdesk.paths import write_private
from swapdesk.wire.operation import RateClass

KEPT = (RateClass.QUOTE, RateClass.EXCHANGE)
KEPT_SECONDS = 86_400
"""The longest window there is."""

_LONGEST = 256 * 1024
"""Bytes, from which on the lines of earlier days are left out; PRO has 90 kB a day."""


class OwnCalls:
    """A file of lines ``seconds class``; one that cannot be written or read counts nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, rate_class: RateClass, at: datetime) -> None:
        """One call was charged. Lines are short, so that the appends of processes do not mix."""
        if rate_class not in KEPT:
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        with suppress(OSError):
            handle = os.open(self._path, flags, 0o600)
            try:
                os.write(handle, f"{int(at.timestamp())} {rate_class.value}\n".encode())
                long = os.fstat(handle).st_size > _LONGEST
            finally:
                os.close(handle)
            if long:
                self._shorten(at)

    def used(self, rate_class: RateClass, seconds: int, at: datetime) -> int:
        """Calls of the window of so many seconds that is open at a moment of the service's time."""
        number = int(at.timestamp()) // seconds
        return sum(
            known is rate_class and moment // seconds == number for moment, known in self._lines()
        )

    def _lines(self) -> Iterator[tuple[int, RateClass]]:
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            moment, _, name = line.decode("ascii", "replace").partition(" ")
            with suppress(ValueError):
                yield int(moment), RateClass(name)

    def _shorten(self, at: datetime) -> None:
        since = int(at.timestamp()) - KEPT_SECONDS
        kept = "".join(f"{moment} {name}\n" for moment, name in self._lines() if moment > since)
        write_private(self._path, kept.encode(), replace=True)

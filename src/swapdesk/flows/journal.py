"""The write-ahead log of the desk: intents before their side effect, outcomes before they show.

``journal.intents`` holds what was confirmed and how each request ended, ``journal.orders``
every order this desk knows, ``journal.calls`` writing calls made without an intent. All live
in one file, so that an order and the end of its intent are one commit.
"""

from __future__ import annotations

from pathlib import Path

from swapdesk.clock import Clock
from swapdesk.flows.call_log import CallLog
from swapdesk.flows.intent_log import IntentLog
from swapdesk.flows.journal_file import JournalFile
from swapdesk.flows.order_log import OrderLog


class Journal:
    """Open with :meth:`open`. ``problem`` says why nothing can be written, if so."""

    def __init__(self, file: JournalFile, clock: Clock) -> None:
        self._file = file
        self.orders = OrderLog(file, clock)
        self.intents = IntentLog(file, clock, self.orders)
        self.calls = CallLog(file, clock, self.orders)

    @classmethod
    def open(cls, path: Path, clock: Clock) -> Journal:
        return cls(JournalFile.open(path), clock)

    @property
    def problem(self) -> str | None:
        return self._file.problem

    def close(self) -> None:
        self._file.close()

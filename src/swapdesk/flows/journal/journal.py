"""The write-ahead log of the desk: an operation is written before it has a side effect, and its
outcome is written before it is shown.

``ledger`` has the operations. ``orders`` has every order that this desk knows, with its states and
transactions. Both are in one file, so that an order can be committed together with the end of the
operation that created it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from swapdesk.clock import Clock
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.ledger import Ledger, State
from swapdesk.flows.journal.order_log import OrderLog
from swapdesk.wire.orders import Order


class Journal:
    """A profile's journal. ``problem`` says why it cannot be written; None if it can."""

    def __init__(self, file: JournalFile, clock: Clock, service: Clock | None = None) -> None:
        self._file = file
        self._service = service or clock
        self._second: JournalFile | None = None
        self.ledger = Ledger(file, clock)
        self.orders = OrderLog(file, self._service)

    @classmethod
    def open(cls, path: Path, clock: Clock, service: Clock | None = None) -> Journal:
        """Opens the journal. The clock ``service``, by default ``clock``, dates the orders. Raises
        JournalRefused if the file is not a journal or has a newer version."""
        return cls(JournalFile.open(path), clock, service)

    @property
    def problem(self) -> str | None:
        return self._file.problem

    def version(self) -> tuple[int, int] | None:
        """Returns a value that changes with each commit by any process; None if the journal cannot
        be read."""
        return self._file.version()

    def call_created(self, id_: str, order: Order, **told: Any) -> bool:
        """Records that a call made by hand is done and created ``order``. Returns True if it was
        not recorded as done before."""
        with self.ledger.transaction() as db:
            moved = self.ledger.move(id_, State.DONE, subject=order.service_id, **told)
            self.orders.put(db, order, "create")
            return moved

    def order_writer(self) -> OrderLog:
        """Returns an order log with a connection of its own, for another thread."""
        if self._second is None:
            self._second = self._file.second_connection()
        return OrderLog(self._second, self._service)

    def close(self) -> None:
        if self._second is not None:
            self._second.close()
        self._file.close()

"""The write-ahead log of the desk: operations before their side effect, outcomes before they are
shown.

``ledger`` has the operations, ``orders`` every order this desk knows with its states and
transactions. Both are in one file, so that an order and the end of its create are one commit.
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
    """Open with :meth:`open`. ``problem`` says why nothing can be written, if so."""

    def __init__(self, file: JournalFile, clock: Clock, service: Clock | None = None) -> None:
        self._file = file
        self._service = service or clock
        self._second: JournalFile | None = None
        self.ledger = Ledger(file, clock)
        self.orders = OrderLog(file, self._service)

    @classmethod
    def open(cls, path: Path, clock: Clock, service: Clock | None = None) -> Journal:
        """Opens the journal at ``path``. Raises JournalRefused for a file of an unknown version."""
        return cls(JournalFile.open(path), clock, service)

    @property
    def problem(self) -> str | None:
        return self._file.problem

    def call_created(self, id_: str, order: Order, **told: Any) -> bool:
        """Commits the order that a manual call created together with the end of the call; the order
        even if the call was over. Returns whether the call moved."""
        with self.ledger.transaction() as db:
            moved = self.ledger.move(id_, State.DONE, subject=order.service_id, **told)
            self.orders.put(db, order, "create")
            return moved

    def order_writer(self) -> OrderLog:
        """A second connection to the orders, for writes from a thread."""
        if self._second is None:
            self._second = self._file.second_connection()
        return OrderLog(self._second, self._service)

    def close(self) -> None:
        if self._second is not None:
            self._second.close()
        self._file.close()

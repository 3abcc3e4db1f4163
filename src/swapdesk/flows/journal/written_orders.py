"""What one writer of the journal wrote last, so that it is not read again before each write.

Another desk may write the same file. What is remembered is believed as it is while nobody else
wrote, and is compared with the file otherwise.
"""

from __future__ import annotations

import sqlite3

from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.wire.encoding.codec import CodecError, decode
from swapdesk.wire.orders import Order


class WrittenOrders:
    """Call :meth:`begin` in a transaction, then :meth:`end` or :meth:`taken_back` after it."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file
        self._orders: dict[str, tuple[int, Order]] = {}
        """By the digest of what was written."""
        self._certain: set[str] = set()
        """Those that stand in the file for sure: nobody wrote since."""
        self._version = -1
        self._stood = (-1, -1)

    def begin(self, db: sqlite3.Connection) -> None:
        """A transaction began. Another connection changes the version, another writer over this
        connection the number of its transactions."""
        (self._version,) = db.execute("PRAGMA data_version").fetchone()
        if self._stood != (self._file.writes - 1, self._version):
            self._certain.clear()

    def end(self) -> None:
        """It was committed."""
        self._stood = (self._file.writes, self._version)

    def taken_back(self) -> None:
        """It was not."""
        self._certain.clear()

    def last(self, db: sqlite3.Connection, service_id: str) -> Order | None:
        """The order as it stands in the file, None when it is not there."""
        digest, order = self._orders.get(service_id, (None, None))
        if order is not None and service_id in self._certain:
            return order
        row = db.execute(
            "SELECT last FROM known_order WHERE service_id = ?", (service_id,)
        ).fetchone()
        if row is None:
            return None
        if order is not None and digest == hash(row["last"]):
            return order
        try:
            return decode(Order, row["last"].encode(), side="client")
        except CodecError:
            return Order(service_id=service_id)

    def keep(self, order: Order, raw: str) -> None:
        """Written as ``raw``."""
        self._orders[order.service_id] = (hash(raw), order)

    def trust(self, service_id: str) -> None:
        """It was written in a transaction of :meth:`begin`."""
        if service_id in self._orders:
            self._certain.add(service_id)

    def forget(self, service_id: str) -> None:
        self._orders.pop(service_id, None)
        self._certain.discard(service_id)

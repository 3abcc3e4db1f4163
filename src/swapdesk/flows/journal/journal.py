"""The write-ahead log of the desk: acts before their side effect, outcomes before they show.

``journal.ledger`` holds the acts: what was confirmed, how each request ended (``creates``), files
of recipients and what became of every row. ``journal.orders`` holds every order this desk knows,
``journal.bundles`` how groups are paid, ``journal.payments`` which transactions of the wallet that
takes, ``journal.withdrawals`` what came back from smart accounts, and ``journal.calls`` writing
calls made without an intent. ``journal.transactions`` reads out of all of them which transactions
an order has. All live in one file, so that an order and the end of its create are one commit.
"""

from __future__ import annotations

from pathlib import Path

from swapdesk.clock import Clock
from swapdesk.flows.journal.bundle_log import BundleLog
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.ledger import Ledger
from swapdesk.flows.journal.order_log import OrderLog
from swapdesk.flows.journal.outgoing_writes import CreateRequests, OutgoingWrites
from swapdesk.flows.journal.transaction_log import TransactionLog
from swapdesk.flows.journal.wallet_payment_log import WalletPaymentLog, WithdrawalLog


class Journal:
    """Open with :meth:`open`. ``problem`` says why nothing can be written, if so."""

    def __init__(self, file: JournalFile, clock: Clock, service: Clock | None = None) -> None:
        self._file = file
        self._service = service or clock
        self._second: JournalFile | None = None
        self.ledger = Ledger(file, clock)
        self.orders = OrderLog(file, self._service)
        self.bundles = BundleLog(file, clock)
        self.payments = WalletPaymentLog(file, clock)
        self.withdrawals = WithdrawalLog(file, clock)
        self.calls = OutgoingWrites(file, clock, self.orders)
        self.transactions = TransactionLog(file)
        self.create_requests = CreateRequests(file)

    @classmethod
    def open(cls, path: Path, clock: Clock, service: Clock | None = None) -> Journal:
        """The journal at ``path``. Raises JournalRefused for a file of a version that this program
        does not know."""
        return cls(JournalFile.open(path), clock, service)

    @property
    def problem(self) -> str | None:
        return self._file.problem

    def order_writer(self) -> OrderLog:
        """The orders over a connection of their own, to be written from a thread."""
        if self._second is None:
            self._second = self._file.second_connection()
        return OrderLog(self._second, self._service)

    def close(self) -> None:
        if self._second is not None:
            self._second.close()
        self._file.close()

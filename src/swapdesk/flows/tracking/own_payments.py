"""Orders that wait for a deposit which this desk may have sent by hand.

The service says only that they wait. What was sent stands in the journal, where another desk or a
command may write it too, and is asked for all of them at once.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace

from swapdesk.flows.journal.folding import display_of
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.transaction_log import OrderTransaction, TransactionLog
from swapdesk.flows.orders.deposit_hash import own_payment
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import DisplayStatus

log = logging.getLogger(__name__)


class OwnPayments:
    def __init__(self, transactions: TransactionLog) -> None:
        self._transactions = transactions
        self._waiting: set[str] = set()

    def put(self, tracked: TrackedOrder) -> None:
        """An order of this desk as it stands now."""
        if _awaits_deposit(tracked):
            self._waiting.add(tracked.service_id)
        else:
            self._waiting.discard(tracked.service_id)

    def now(self) -> dict[str, OrderTransaction | None]:
        """Of every order that waits what pays its deposit."""
        return self._read(self._waiting) if self._waiting else {}

    def with_payment(self, tracked: TrackedOrder) -> TrackedOrder:
        """The same, with what the journal says now."""
        if not _awaits_deposit(tracked):
            return tracked
        found = self._read((tracked.service_id,))
        return replace(tracked, own_payment=found.get(tracked.service_id, tracked.own_payment))

    def _read(self, service_ids: Collection[str]) -> dict[str, OrderTransaction | None]:
        try:
            found = self._transactions.deposits(service_ids)
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
            return {}
        return {name: own_payment(found.get(name, ())) for name in service_ids}


def _awaits_deposit(tracked: TrackedOrder) -> bool:
    if tracked.intent is None or tracked.order.is_dex:
        return False
    return display_of(tracked.order) in (DisplayStatus.WAITING_FOR_DEPOSIT, None)

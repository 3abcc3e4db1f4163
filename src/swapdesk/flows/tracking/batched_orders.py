"""Orders that a batch of this desk created: its bundle pays them, and nobody by hand.

The service says only that they wait. How far their payment is stands in the journal, where another
desk may write it too, and is asked for a whole group at once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from swapdesk.flows.intents.standing import IN_BATCH_TEXT, Standing
from swapdesk.flows.journal.batch_log import BatchLog
from swapdesk.flows.journal.folding import display_of
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.orders.batch_payment import BatchPayment
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import DisplayStatus, Order

log = logging.getLogger(__name__)


class BatchPayments(Protocol):
    """How orders of groups are paid; None for no group of this desk. Raises JournalUnavailable."""

    def mark(self, multi_id: str) -> object | None:
        """Another one once the payment of a group moved."""

    def of(self, multi_id: str, service_id: str) -> BatchPayment | None:
        """How one of its orders is paid."""


class BatchedOrders:
    """Without ``payments`` nobody knows how far a batch is paid."""

    def __init__(self, batches: BatchLog, payments: BatchPayments | None) -> None:
        self._batches = batches
        self._payments = payments
        self._groups: dict[str, set[str]] = {}
        """By group the orders that a bundle is to pay, or paid without the service having seen
        it."""
        self._marks: dict[str, object] = {}
        """How the payment of a group stood at the last look."""

    def put(self, tracked: TrackedOrder) -> None:
        """An order of a batch as it stands now."""
        group = tracked.order.multi_id
        if group is None:
            return
        if _awaits_batch(tracked):
            self._groups.setdefault(group, set()).add(tracked.service_id)
        elif group in self._groups:
            self._groups[group].discard(tracked.service_id)

    def moved(self) -> Iterator[str]:
        """Orders of the groups of which the journal says another thing than at the last look."""
        for group in [group for group, names in self._groups.items() if names]:
            if self._payment_moved(group):
                yield from tuple(self._groups[group])

    def with_batch(self, tracked: TrackedOrder, seen: Order) -> TrackedOrder:
        """The same, as one that a batch of this desk created where ``seen`` names its group. The
        group may be written down after its orders were first seen."""
        group = seen.multi_id
        if tracked.standing is not Standing.FOREIGN or group is None:
            return tracked
        if not tracked.in_batch:
            try:
                made = self._batches.made(group)
            except JournalUnavailable as error:
                log.error("the journal cannot be read: %s", error)
                return tracked
            if not made:
                return tracked
            tracked = replace(tracked, in_batch=True, withheld=IN_BATCH_TEXT)
        return self.with_payment(tracked, seen)

    def with_payment(self, tracked: TrackedOrder, seen: Order) -> TrackedOrder:
        """The same, with what the journal says now of its payment by the bundle of its group."""
        group, payments = seen.multi_id, self._payments
        if group is None or payments is None or not _awaits_batch(tracked):
            return tracked
        try:
            payment = payments.of(group, tracked.service_id)
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
            return tracked
        if payment == tracked.batch_payment:
            return tracked
        return replace(tracked, batch_payment=payment)

    def _payment_moved(self, group: str) -> bool:
        """One question for all orders of a group."""
        if self._payments is None:
            return False
        try:
            mark = self._payments.mark(group)
        except JournalUnavailable as error:
            log.error("the journal cannot be read: %s", error)
            return False
        if group in self._marks and self._marks[group] == mark:
            return False
        self._marks[group] = mark
        return True


def _awaits_batch(tracked: TrackedOrder) -> bool:
    """Whether the service has not seen the deposit of an order that no intent stands for."""
    waits = display_of(tracked.order) in (DisplayStatus.WAITING_FOR_DEPOSIT, None)
    return waits and tracked.standing is Standing.FOREIGN

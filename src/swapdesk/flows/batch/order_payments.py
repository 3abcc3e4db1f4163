"""Says how each order of a group is paid: where its money is and who acts next.

This is read from the journal alone. The texts are those of the group's payment, so that an order
and its batch always say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.payment_progress import BatchPayment

if TYPE_CHECKING:
    from swapdesk.flows.batch.progress import GroupStanding

_OF_GROUP = """
subject = ?1 AND kind = 'create_group'
OR parent = (SELECT id FROM operation WHERE subject = ?1 AND kind = 'create_group')
  AND kind IN ('bundle', 'fund', 'part')
OR kind = 'withdraw' AND json_extract(body, '$.chain') = (SELECT json_extract(body, '$.chain')
  FROM operation WHERE subject = ?1 AND kind = 'create_group')
"""


class OrderPayments:
    """Tells how the orders of all batches are paid. A group is read again only after its payment
    changed."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._read: dict[str, tuple[str, GroupStanding]] = {}

    def mark(self, multi_id: str) -> str | None:
        """Returns a text that is different after every change of the group's payment; None if the
        journal has no such group. Raises JournalUnavailable."""
        return self._journal.ledger.mark(_OF_GROUP, multi_id)

    def of(self, multi_id: str, service_id: str) -> BatchPayment | None:
        """Returns how an order is paid, where its money is and who acts next; None if no batch of
        this journal made it. Raises JournalUnavailable."""
        mark = self.mark(multi_id)
        if mark is None:
            return None
        from swapdesk.flows.batch.progress import group_standing, order_payment

        before, standing = self._read.get(multi_id, (None, None))
        if standing is None or mark != before:
            from swapdesk.flows.batch.batches import find_group

            group = find_group(self._journal.ledger, multi_id)
            if group is None:
                return None
            standing = group_standing(self._journal, group)
            self._read[multi_id] = (mark, standing)
        return order_payment(standing, service_id)

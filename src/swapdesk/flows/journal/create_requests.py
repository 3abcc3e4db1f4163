"""The request that created an order, by the service's name for it: support finds it by that.

Nothing is written here. It stands where the create is journaled: with the step of an intent
(``intent_log``), with the group of a batch (``batch_log``), or with a call by hand (``call_log``).
"""

from __future__ import annotations

from swapdesk.flows.journal.call_log import PAYMENTS
from swapdesk.flows.journal.journal_file import JournalFile

_OF_ORDER = """
SELECT step.request_id FROM known_order JOIN step USING (intent_id)
    WHERE known_order.service_id = ?1 AND step.name = 'create'
UNION ALL
SELECT batch_group.request_id FROM batch_row JOIN batch_group
    ON batch_group.batch_id = batch_row.batch_id AND batch_group.number = batch_row.group_number
    WHERE batch_row.service_id = ?1
UNION ALL
SELECT request_id FROM call WHERE service_id = ?1 AND path NOT IN (?2, ?3, ?4)
"""


class CreateRequests:
    """Reading raises JournalUnavailable."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file

    def of(self, service_id: str) -> str | None:
        """None for an order that was not created here, or where the service told none."""
        rows = self._file.read(_OF_ORDER, (service_id, *PAYMENTS))
        return next((str(row["request_id"]) for row in rows if row["request_id"]), None)

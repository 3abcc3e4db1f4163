"""The service's request id of the call that created an order, as the intent, the group or the call
by hand has stored it."""

from __future__ import annotations

from swapdesk.flows.journal.journal_file import JournalFile

_OF_ORDER = """
SELECT json_extract(result, '$.request_id') AS request_id FROM operation
    WHERE subject = ?1 AND kind = 'create'
UNION ALL
SELECT batch_group.request_id FROM batch_row JOIN batch_group
    ON batch_group.batch_id = batch_row.batch_id AND batch_group.number = batch_row.group_number
    WHERE batch_row.service_id = ?1
UNION ALL
SELECT json_extract(result, '$.request_id') FROM operation WHERE subject = ?1 AND kind = 'call'
"""


class CreateRequests:
    """Reading raises JournalUnavailable."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file

    def of(self, service_id: str) -> str | None:
        """None for an order that was not created here, or where the service told none."""
        rows = self._file.read(_OF_ORDER, (service_id,))
        return next((str(row["request_id"]) for row in rows if row["request_id"]), None)

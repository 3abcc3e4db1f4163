"""Writing calls made by hand, without an intent: journaled before they leave, like any other.

There is nothing confirmed to compare the answer with, so nothing is looked for by itself
when the outcome is unknown; the call stands in the journal for a person to settle.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from swapdesk.clock import Clock
from swapdesk.flows.journal_file import JournalFile
from swapdesk.flows.journal_records import StepState
from swapdesk.flows.order_log import OrderLog
from swapdesk.wire.encoding.codec import rfc3339
from swapdesk.wire.orders import Order


@dataclass(frozen=True)
class JournaledCall:
    """One call. ``service_id`` is the order it created, when the answer named one."""

    id: int
    method: str
    path: str
    state: StepState
    sent_at: datetime
    status: int | None
    request_id: str | None
    code: str | None
    service_id: str | None


class CallLog:
    """Every method raises JournalUnavailable when the journal cannot be written."""

    def __init__(self, file: JournalFile, clock: Clock, orders: OrderLog) -> None:
        self._file = file
        self._clock = clock
        self._orders = orders

    def add(self, method: str, path: str, body: bytes) -> int:
        """Commit that the call leaves now; its id in the journal."""
        with self._file.write() as db:
            row = db.execute(
                "INSERT INTO call (method, path, body, state, sent_at) VALUES (?, ?, ?, ?, ?)",
                (
                    method,
                    path,
                    body.decode("utf-8", "replace"),
                    StepState.SENT,
                    rfc3339(self._clock.now()),
                ),
            )
            assert row.lastrowid is not None  # an INSERT just happened
            return row.lastrowid

    def mark_done(self, call_id: int, *, status: int, request_id: str | None) -> None:
        """Commit that the call was answered."""
        self._settle(call_id, StepState.ACKED, status, request_id, None)

    def mark_created(
        self, call_id: int, order: Order, *, status: int, request_id: str | None
    ) -> None:
        """Commit the order the call created together with the end of the call."""
        with self._file.write() as db:
            db.execute(
                "UPDATE call SET state = ?, status = ?, request_id = ?, service_id = ?"
                " WHERE id = ?",
                (StepState.ACKED, status, request_id, order.service_id, call_id),
            )
            self._orders.put(db, order, "create")

    def mark_refused(
        self, call_id: int, *, code: str, status: int | None = None, request_id: str | None = None
    ) -> None:
        """Commit that nothing happened."""
        self._settle(call_id, StepState.REFUSED, status, request_id, code)

    def mark_unknown(
        self, call_id: int, *, code: str, status: int | None = None, request_id: str | None = None
    ) -> None:
        """Commit that nobody knows whether it happened."""
        self._settle(call_id, StepState.UNKNOWN, status, request_id, code)

    def unresolved(self) -> list[JournaledCall]:
        """Calls without a known outcome, oldest first; also those a crash interrupted."""
        rows = self._file.read(
            "SELECT * FROM call WHERE state IN (?, ?) ORDER BY id",
            (StepState.SENT, StepState.UNKNOWN),
        )
        return [
            JournaledCall(
                id=row["id"],
                method=row["method"],
                path=row["path"],
                state=StepState(row["state"]),
                sent_at=datetime.fromisoformat(row["sent_at"]),
                status=row["status"],
                request_id=row["request_id"],
                code=row["code"],
                service_id=row["service_id"],
            )
            for row in rows
        ]

    def _settle(
        self,
        call_id: int,
        state: StepState,
        status: int | None,
        request_id: str | None,
        code: str | None,
    ) -> None:
        with self._file.write() as db:
            db.execute(
                "UPDATE call SET state = ?, status = ?, request_id = ?, code = ? WHERE id = ?",
                (state, status, request_id, code, call_id),
            )

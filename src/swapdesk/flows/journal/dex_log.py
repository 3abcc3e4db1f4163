"""The steps of on-chain swaps in the journal: each committed before what it does.

A step goes PREPARED, SENT, and then ACKED, REFUSED or UNKNOWN. What came of it (a hash, a
signature) stands with it, so that whoever takes the swap on later does not do it twice.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from datetime import datetime
from typing import Any

from msgspec import Struct

from swapdesk.clock import Clock
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal_file import JournalFile, JournalUnavailable, move
from swapdesk.flows.journal.journal_records import (
    LEFT_STEP,
    OPEN_STEP,
    IntentState,
    StepState,
)
from swapdesk.wire.encoding.codec import rfc3339

APPROVE, RESET, SWAP, CONFIRM = "approve", "reset", "swap", "confirm"
"""Names of steps: an allowance, one of nothing that some tokens need before it, the order's
transaction, the word of it to the service."""


class SwapStep(Struct, frozen=True):
    """``told`` is what came of it, by name. ``server_at`` is by the clock of the service."""

    seq: int
    name: str
    state: StepState
    digest: str
    told: dict[str, Any]
    sent_at: datetime | None
    server_at: datetime | None
    code: str | None


class DexLog:
    """Writes raise JournalUnavailable; then nothing with a side effect may be done. What moves a
    step says whether it did."""

    def __init__(self, file: JournalFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock

    def begin(self, intent_id: str, name: str, digest: str) -> int:
        """Commit a step, PREPARED; its place."""
        with self._file.write() as db:
            (last,) = db.execute(
                "SELECT coalesce(max(seq), 0) FROM step WHERE intent_id = ?", (intent_id,)
            ).fetchone()
            db.execute(
                "INSERT INTO step (intent_id, seq, name, state, digest) VALUES (?, ?, ?, ?, ?)",
                (intent_id, last + 1, name, StepState.PREPARED, digest),
            )
            return int(last) + 1

    def sent(
        self, intent_id: str, seq: int, *, server_at: datetime | None = None, **told: Any
    ) -> bool:
        """Commit that what the step does is done now; False when it was before."""
        now = rfc3339(self._clock.now())
        at = None if server_at is None else rfc3339(server_at)
        among = (StepState.PREPARED,)
        return self._move(intent_id, seq, StepState.SENT, among, told, sent_at=now, server_at=at)

    def again(self, intent_id: str, seq: int) -> bool:
        """Commit that what the step does is done once more; only for what may be repeated."""
        return self._move(intent_id, seq, StepState.PREPARED, LEFT_STEP, {})

    def tell(self, intent_id: str, seq: int, **told: Any) -> None:
        """Commit what is known with a step, whose state stays as it is."""
        with self._file.write() as db:
            db.execute(
                "UPDATE step SET result = ? WHERE intent_id = ? AND seq = ?",
                (_with(db, intent_id, seq, told), intent_id, seq),
            )

    def acked(self, intent_id: str, seq: int, **told: Any) -> bool:
        return self._move(intent_id, seq, StepState.ACKED, OPEN_STEP, told)

    def refused(self, intent_id: str, seq: int, code: str) -> bool:
        return self._move(intent_id, seq, StepState.REFUSED, OPEN_STEP, {}, code=code)

    def unknown(self, intent_id: str, seq: int, code: str) -> bool:
        return self._move(intent_id, seq, StepState.UNKNOWN, LEFT_STEP, {}, code=code)

    def steps(self, intent_id: str) -> list[SwapStep]:
        """In the order they were begun."""
        rows = self._file.read("SELECT * FROM step WHERE intent_id = ? ORDER BY seq", (intent_id,))
        return [
            SwapStep(
                row["seq"],
                row["name"],
                StepState(row["state"]),
                row["digest"],
                _told(row["result"]),
                datetime.fromisoformat(row["sent_at"]) if row["sent_at"] else None,
                datetime.fromisoformat(row["server_at"]) if row["server_at"] else None,
                row["code"],
            )
            for row in rows
        ]

    def last(self, intent_id: str, name: str) -> SwapStep | None:
        """The newest step of a name."""
        return next((one for one in self.steps(intent_id)[::-1] if one.name == name), None)

    def order_of(self, intent_id: str) -> str | None:
        """The order that a swap became."""
        rows = self._file.read("SELECT service_id FROM orders WHERE operation = ?", (intent_id,))
        return str(rows[0]["service_id"]) if rows else None

    def open_swaps(self) -> list[Intent]:
        """On-chain swaps that are neither over nor confirmed to the service, oldest first."""
        rows = self._file.read(
            "SELECT intent.frozen FROM intent JOIN step ON step.intent_id = intent.id"
            " AND step.seq = (SELECT max(seq) FROM step WHERE intent_id = intent.id)"
            " WHERE json_extract(intent.frozen, '$.route') = 'dex' AND intent.state IN (?, ?, ?)"
            " AND step.state NOT IN (?, ?) AND NOT (step.name = 'confirm' AND step.state = ?)"
            " ORDER BY intent.created",
            (
                IntentState.OPEN,
                IntentState.UNKNOWN,
                IntentState.CREATED,
                StepState.REFUSED,
                StepState.ABANDONED_BY_USER,
                StepState.ACKED,
            ),
        )
        return [Intent.from_json(json.loads(row["frozen"])) for row in rows]

    def _move(
        self,
        intent_id: str,
        seq: int,
        state: StepState,
        among: Collection[StepState],
        told: dict[str, Any],
        **values: Any,
    ) -> bool:
        with self._file.write() as db:
            if told:
                values["result"] = _with(db, intent_id, seq, told)
            names = (intent_id, seq)
            return move(db, "step", "intent_id = ? AND seq = ?", names, state, among, **values)


def _with(db: sqlite3.Connection, intent_id: str, seq: int, told: dict[str, Any]) -> str:
    """What is known with a step, and what is told now; the caller holds the write lock."""
    row = db.execute(
        "SELECT result FROM step WHERE intent_id = ? AND seq = ?", (intent_id, seq)
    ).fetchone()
    if row is None:
        raise JournalUnavailable(f"no step {seq} of intent {intent_id} in the journal")
    return json.dumps({**_told(row["result"]), **told})


def _told(result: str | None) -> dict[str, Any]:
    """A create keeps the bare id of its order."""
    if not result:
        return {}
    if not result.startswith("{"):
        return {"order": result}
    found = json.loads(result)
    return found if isinstance(found, dict) else {}

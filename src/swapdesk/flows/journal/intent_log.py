"""Intents and the requests they led to, from PREPARED to a known outcome.

Each open intent has an owner; only its owner, or anyone once the owner is dead, moves it on.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from swapdesk.clock import Clock
from swapdesk.flows.intents.intent import FOREIGN, Intent, ReleaseVerdict
from swapdesk.flows.journal.journal_file import (
    JournalFile,
    Ownership,
    ProcessIdentity,
    move,
)
from swapdesk.flows.journal.journal_records import (
    LEFT_STEP,
    OPEN_STEP,
    IntentState,
    JournaledIntent,
    JournaledStep,
    Source,
    StepState,
)
from swapdesk.flows.journal.order_log import OrderLog
from swapdesk.wire.encoding.codec import rfc3339
from swapdesk.wire.orders import Order


class TwinPending(Exception):
    """The same payment was asked before and its outcome is not known yet."""

    def __init__(self, intent_id: str) -> None:
        super().__init__(intent_id)
        self.intent_id = intent_id


class OrderTaken(Exception):
    """The order belongs to another intent of this journal."""


_UNDECIDED = (IntentState.OPEN, IntentState.UNKNOWN)
_NEWEST = "intent_id = ? AND seq = (SELECT max(seq) FROM step WHERE intent_id = ?)"
_WITH_STEP = (
    "id = ? AND EXISTS (SELECT 1 FROM step WHERE intent_id = intent.id"
    " AND seq = (SELECT max(seq) FROM step WHERE intent_id = intent.id) AND state IN ({}))"
)


class IntentLog:
    """What moves an intent or its newest step says whether it did. An intent that was decided
    stays so, whatever is answered later."""

    def __init__(self, file: JournalFile, clock: Clock, orders: OrderLog) -> None:
        self._file = file
        self._clock = clock
        self._orders = orders
        self._ownership = Ownership(file, "intent")

    def add(
        self, intent: Intent, step: str, digest: str, told: dict[str, Any] | None = None
    ) -> None:
        """Commit the intent and its first step, PREPARED, before anything leaves. ``told`` is
        what is known with the step (``SwapStep.told``).

        Raises TwinPending when the same payment has no known outcome yet; the look and the
        commit are one transaction, so two desks cannot both pass.
        """
        with self._file.write() as db:
            twin = db.execute(
                "SELECT id FROM intent WHERE fingerprint = ? AND state IN (?, ?) LIMIT 1",
                (intent.fingerprint, IntentState.OPEN, IntentState.UNKNOWN),
            ).fetchone()
            if twin is not None:
                raise TwinPending(twin["id"])
            db.execute(
                "INSERT INTO intent (id, kind, created, fingerprint, frozen, state, owner_pid,"
                " owner_start) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    intent.id,
                    intent.kind,
                    rfc3339(self._clock.now()),
                    intent.fingerprint,
                    json.dumps(intent.as_json()),
                    IntentState.OPEN,
                    self._ownership.me.pid,
                    self._ownership.me.started,
                ),
            )
            db.execute(
                "INSERT INTO step (intent_id, seq, name, state, digest, result)"
                " VALUES (?, 1, ?, ?, ?, ?)",
                (intent.id, step, StepState.PREPARED, digest, json.dumps(told) if told else None),
            )

    def mark_sent(self, intent_id: str, server_at: datetime) -> bool:
        """Commit that the request leaves now, also by the clock of the service; False when it left
        before: then it must not leave."""
        with self._file.write() as db:
            return move(
                db,
                "step",
                _NEWEST,
                (intent_id, intent_id),
                StepState.SENT,
                (StepState.PREPARED,),
                sent_at=rfc3339(self._clock.now()),
                server_at=rfc3339(server_at),
            )

    def mark_created(
        self,
        intent_id: str,
        order: Order,
        *,
        source: Source,
        verdict: ReleaseVerdict,
        resolved: bool = False,
        request_id: str | None = None,
    ) -> ReleaseVerdict:
        """Commit the order an intent became, before it is shown; what stands afterwards.

        An intent that was decided before stays as it is. The order is kept all the same, as one
        that was not confirmed here (FOREIGN), unless it is the one that the intent became.
        Raises OrderTaken when the journal holds this order for another intent.
        """
        with self._file.write() as db:
            row = db.execute(
                "SELECT operation FROM orders WHERE service_id = ?", (order.service_id,)
            ).fetchone()
            if row is not None and row["operation"] not in (None, intent_id):
                raise OrderTaken(order.service_id)
            step = StepState.RESOLVED_YES if resolved else StepState.ACKED
            told: dict[str, Any] = {"result": order.service_id, "request_id": request_id}
            if self._move(db, intent_id, IntentState.CREATED, step, **told):
                return self._orders.put(db, order, source, verdict=verdict, intent_id=intent_id)
            same = row is not None and row["operation"] == intent_id
            return self._orders.put(db, order, source, verdict=verdict if same else FOREIGN)

    def mark_refused(
        self,
        intent_id: str,
        *,
        code: str,
        status: int | None = None,
        request_id: str | None = None,
    ) -> bool:
        """Commit a definite refusal: nothing was created."""
        told: dict[str, Any] = {"code": code, "status": status, "request_id": request_id}
        with self._file.write() as db:
            return self._move(db, intent_id, IntentState.REFUSED, StepState.REFUSED, **told)

    def mark_unknown(
        self,
        intent_id: str,
        *,
        code: str,
        status: int | None = None,
        request_id: str | None = None,
    ) -> bool:
        """Commit that the outcome is not known. Blocks a twin until it is resolved."""
        told: dict[str, Any] = {"code": code, "status": status, "request_id": request_id}
        with self._file.write() as db:
            return self._move(
                db, intent_id, IntentState.UNKNOWN, StepState.UNKNOWN, LEFT_STEP, **told
            )

    def mark_not_created(self, intent_id: str) -> bool:
        """Commit that the service shows no order of this intent after the wait."""
        with self._file.write() as db:
            return self._move(
                db, intent_id, IntentState.NOT_CREATED, StepState.RESOLVED_NO, LEFT_STEP
            )

    def abandon(self, intent_id: str) -> bool:
        """Commit that the user gave up an unknown outcome; an order of it is not looked for. What
        is on its way at this moment is not given up."""
        among = (StepState.PREPARED, StepState.UNKNOWN)
        with self._file.write() as db:
            return self._move(
                db, intent_id, IntentState.ABANDONED, StepState.ABANDONED_BY_USER, among
            )

    def adopt(self, intent_id: str) -> bool:
        """Take over an intent whose owner is dead; False while the owner lives."""
        return self._ownership.take_over(intent_id)

    def unfinished(self) -> list[JournaledIntent]:
        """Intents without a known outcome, oldest first."""
        rows = self._file.read(
            "SELECT * FROM intent WHERE state IN (?, ?) ORDER BY created",
            (IntentState.OPEN, IntentState.UNKNOWN),
        )
        return [self._intent_of(row) for row in rows]

    def unknown_count(self) -> int:
        """How many creates left of which it is not known whether an order came of them."""
        rows = self._file.read(
            "SELECT count(*) FROM intent WHERE state = ?", (IntentState.UNKNOWN,)
        )
        return int(rows[0][0])

    def get(self, intent_id: str) -> JournaledIntent | None:
        rows = self._file.read("SELECT * FROM intent WHERE id = ?", (intent_id,))
        return self._intent_of(rows[0]) if rows else None

    def recent(self, limit: int) -> list[JournaledIntent]:
        """Intents that became orders, newest first."""
        rows = self._file.read(
            "SELECT * FROM intent WHERE state = ? ORDER BY created DESC LIMIT ?",
            (IntentState.CREATED, limit),
        )
        return [self._intent_of(row) for row in rows]

    def step(self, intent_id: str) -> JournaledStep | None:
        rows = self._file.read(
            "SELECT * FROM step WHERE intent_id = ? ORDER BY seq DESC LIMIT 1", (intent_id,)
        )
        if not rows:
            return None
        row = rows[0]
        return JournaledStep(
            intent_id=row["intent_id"],
            seq=row["seq"],
            name=row["name"],
            state=StepState(row["state"]),
            sent_at=datetime.fromisoformat(row["sent_at"]) if row["sent_at"] else None,
            server_at=datetime.fromisoformat(row["server_at"]) if row["server_at"] else None,
            status=row["status"],
            request_id=row["request_id"],
            code=row["code"],
        )

    def _move(
        self,
        db: sqlite3.Connection,
        intent_id: str,
        state: IntentState,
        step: StepState,
        among: Sequence[StepState] = (),
        **values: Any,
    ) -> bool:
        """Move an undecided intent, whose newest step is in one of ``among`` where any are named.
        The step goes with it where it is open: an approval that was mined before stays so."""
        where, marks = "id = ?", ", ".join("?" * len(among))
        if among:
            where = _WITH_STEP.format(marks)
        if not move(db, "intent", where, (intent_id, *among), state, _UNDECIDED):
            return False
        move(db, "step", _NEWEST, (intent_id, intent_id), step, OPEN_STEP, **values)
        return True

    def _intent_of(self, row: sqlite3.Row) -> JournaledIntent:
        return JournaledIntent(
            intent=Intent.from_json(json.loads(row["frozen"])),
            state=IntentState(row["state"]),
            owner=ProcessIdentity(row["owner_pid"], row["owner_start"]),
        )

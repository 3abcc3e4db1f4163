"""Intents and the requests they led to, from PREPARED to a known outcome.

Each open intent has an owner; only its owner, or anyone once the owner is dead, moves it on.
"""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime
from typing import Any

from swapdesk.clock import Clock
from swapdesk.flows.intents.intent import Intent, ReleaseVerdict
from swapdesk.flows.journal.journal_file import (
    JournalFile,
    JournalUnavailable,
    Ownership,
    ProcessIdentity,
)
from swapdesk.flows.journal.journal_records import (
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


class IntentLog:
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

    def mark_sent(self, intent_id: str, server_at: datetime) -> None:
        """Commit that the request leaves now, also by the clock of the service."""
        with self._file.write() as db:
            self._set_step(
                db,
                intent_id,
                StepState.SENT,
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
        ``request_id`` is that of the answer; one that is known already stays without it.

        Raises OrderTaken when the journal holds this order for another intent.
        """
        with self._file.write() as db:
            row = db.execute(
                "SELECT intent_id FROM known_order WHERE service_id = ?", (order.service_id,)
            ).fetchone()
            if row is not None and row["intent_id"] not in (None, intent_id):
                raise OrderTaken(order.service_id)
            step = StepState.RESOLVED_YES if resolved else StepState.ACKED
            told = {} if request_id is None else {"request_id": request_id}
            self._set_step(db, intent_id, step, result=order.service_id, **told)
            self._set_intent(db, intent_id, IntentState.CREATED)
            return self._orders.put(db, order, source, verdict=verdict, intent_id=intent_id)

    def mark_refused(
        self,
        intent_id: str,
        *,
        code: str,
        status: int | None = None,
        request_id: str | None = None,
    ) -> None:
        """Commit a definite refusal: nothing was created."""
        told = {"code": code, "status": status, "request_id": request_id}
        self._set(intent_id, StepState.REFUSED, IntentState.REFUSED, **told)

    def mark_unknown(
        self,
        intent_id: str,
        *,
        code: str,
        status: int | None = None,
        request_id: str | None = None,
    ) -> None:
        """Commit that the outcome is not known. Blocks a twin until it is resolved."""
        told = {"code": code, "status": status, "request_id": request_id}
        self._set(intent_id, StepState.UNKNOWN, IntentState.UNKNOWN, **told)

    def mark_not_created(self, intent_id: str) -> None:
        """Commit that the service shows no order of this intent after the wait."""
        self._set(intent_id, StepState.RESOLVED_NO, IntentState.NOT_CREATED)

    def abandon(self, intent_id: str) -> None:
        """Commit that the user gave up an unknown outcome; an order of it is not looked for."""
        self._set(intent_id, StepState.ABANDONED_BY_USER, IntentState.ABANDONED)

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

    def _set(self, intent_id: str, step: StepState, state: IntentState, **values: Any) -> None:
        """Commit the newest step and the intent in one."""
        with self._file.write() as db:
            self._set_step(db, intent_id, step, **values)
            self._set_intent(db, intent_id, state)

    def _set_step(
        self, db: sqlite3.Connection, intent_id: str, state: StepState, **values: Any
    ) -> None:
        columns = "".join(f", {name} = ?" for name in values)
        changed = db.execute(
            f"UPDATE step SET state = ?{columns} WHERE intent_id = ? AND seq ="  # noqa: S608
            " (SELECT max(seq) FROM step WHERE intent_id = ?)",
            (state, *values.values(), intent_id, intent_id),
        )
        if changed.rowcount != 1:
            raise JournalUnavailable(f"no step of intent {intent_id} in the journal")

    def _set_intent(self, db: sqlite3.Connection, intent_id: str, state: IntentState) -> None:
        db.execute(
            "UPDATE intent SET state = ?, version = version + 1 WHERE id = ?", (state, intent_id)
        )

    def _intent_of(self, row: sqlite3.Row) -> JournaledIntent:
        return JournaledIntent(
            intent=Intent.from_json(json.loads(row["frozen"])),
            state=IntentState(row["state"]),
            owner=ProcessIdentity(row["owner_pid"], row["owner_start"]),
        )

"""Batches in the journal: every group before it leaves, every row with what became of it.

A group is one request. It is PREPARED until it leaves, SENT from the moment before, and then
what is known of it; SENT without an outcome counts as unknown once its owner is dead. Nothing
is told apart by this desk's memory: a row is found by batch and number for ever.

Batches and their groups as they stand in the journal, row by row.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from swapdesk.clock import Clock
from swapdesk.flows.journal.batch_records import (
    BatchCreatedBefore,
    JournaledBatch,
    JournaledGroup,
    JournaledRow,
    NewGroup,
    RowEnd,
    RowState,
)
from swapdesk.flows.journal.journal_file import JournalFile, Ownership, move
from swapdesk.flows.journal.journal_records import LEFT_STEP, StepState
from swapdesk.wire.encoding.codec import rfc3339


def batch_of(file: JournalFile, found: sqlite3.Row) -> JournaledBatch:
    """A row of ``batch`` with its groups and their rows."""
    rows: dict[int, list[JournaledRow]] = {}
    for row in file.read(
        "SELECT * FROM batch_row WHERE batch_id = ? ORDER BY group_number, place", (found["id"],)
    ):
        rows.setdefault(row["group_number"], []).append(_row(row))
    groups = tuple(
        _group(group, tuple(rows.get(group["number"], ())))
        for group in file.read(
            "SELECT * FROM batch_group WHERE batch_id = ? ORDER BY number", (found["id"],)
        )
    )
    return JournaledBatch(
        found["id"], datetime.fromisoformat(found["created"]), found["file"], groups
    )


def group_called(file: JournalFile, multi_id: str) -> tuple[str, JournaledGroup] | None:
    """The id of the batch that has a group, and the group."""
    found = file.read("SELECT * FROM batch_group WHERE multi_id = ?", (multi_id,))
    if not found:
        return None
    batch_id = str(found[0]["batch_id"])
    rows = file.read(
        "SELECT * FROM batch_row WHERE batch_id = ? AND group_number = ? ORDER BY place",
        (batch_id, found[0]["number"]),
    )
    return batch_id, _group(found[0], tuple(_row(row) for row in rows))


def payment_mark(file: JournalFile, multi_id: str) -> tuple[object, ...] | None:
    """What is another one once anything moved that says how a group is paid: its bundles, the
    transactions of the wallet for them, withdrawals. None for no such group."""
    found = file.read(_MARK, (multi_id,))
    return tuple(found[0]) if found else None


_MARK = """
SELECT
  (SELECT group_concat(number || state || length(result)) FROM operation
    WHERE parent = g.batch_id || '/' || g.number AND kind IN ('bundle', 'fund', 'part')),
  (SELECT group_concat(number || state || coalesce(ended_at, sent_at, '')) FROM operation
    WHERE kind = 'withdraw' AND json_extract(body, '$.chain') = g.chain)
FROM batch_group AS g WHERE g.multi_id = ?
"""


def _group(found: sqlite3.Row, rows: tuple[JournaledRow, ...]) -> JournaledGroup:
    return JournaledGroup(
        found["number"],
        found["chain"],
        found["paid"],
        found["body"],
        StepState(found["state"]),
        found["multi_id"],
        datetime.fromisoformat(found["server_at"]) if found["server_at"] else None,
        found["code"],
        rows,
    )


def _row(found: sqlite3.Row) -> JournaledRow:
    return JournaledRow(
        found["number"],
        found["line"],
        found["group_number"],
        found["place"],
        json.loads(found["cells"]),
        RowState(found["state"]),
        found["service_id"],
        found["code"],
        found["reason"],
    )


class BatchLog:
    """What moves a group or a row says whether it did."""

    def __init__(self, file: JournalFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._ownership = Ownership(file, "batch")

    def add(
        self,
        batch_id: str,
        file: str,
        digest: str,
        groups: Sequence[NewGroup],
        *,
        again: bool = False,
        payer: str | None = None,
    ) -> None:
        """Commit a batch before anything of it leaves. ``payer``: all groups are to be paid, one
        after another, from the accounts of this name or address; empty for the first of each
        chain, None where nobody asked for that.

        Raises BatchCreatedBefore when the same rows are on their way with unknown outcome, or
        became orders before and ``again`` does not ask for them anew.
        """
        blocking = [StepState.SENT, StepState.UNKNOWN, StepState.PREPARED]
        if not again:
            blocking += [StepState.ACKED, StepState.RESOLVED_YES]
        marks = ", ".join("?" * len(blocking))
        with self._file.write() as db:
            twin = db.execute(
                "SELECT batch.id FROM batch JOIN batch_group ON batch_id = batch.id"  # noqa: S608
                f" WHERE digest = ? AND state IN ({marks}) LIMIT 1",
                (digest, *blocking),
            ).fetchone()
            if twin is not None:
                raise BatchCreatedBefore(twin["id"])
            db.execute(
                "INSERT INTO batch (id, created, file, digest, owner_pid, owner_start)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    batch_id,
                    rfc3339(self._clock.now()),
                    file,
                    digest,
                    self._ownership.me.pid,
                    self._ownership.me.started,
                ),
            )
            if payer is not None:
                db.execute(
                    "INSERT INTO batch_payer (batch_id, account) VALUES (?, ?)", (batch_id, payer)
                )
            for number, group in enumerate(groups, start=1):
                db.execute(
                    "INSERT INTO batch_group (batch_id, number, chain, paid, body, state)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    (batch_id, number, group.chain, group.paid, group.body, StepState.PREPARED),
                )
                db.executemany(
                    "INSERT INTO batch_row (batch_id, number, line, group_number, place, cells,"
                    " state) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    [
                        (
                            batch_id,
                            row.number,
                            row.line,
                            number,
                            place,
                            json.dumps(dict(row.cells)),
                            RowState.PLANNED,
                        )
                        for place, row in enumerate(group.rows)
                    ],
                )

    def mark_sent(self, batch_id: str, group: int, server_at: datetime) -> bool:
        """Commit that the request of a group leaves now; False when it left before, or was
        decided: then it must not leave."""
        with self._file.write() as db:
            moved = self._move(
                db,
                batch_id,
                group,
                StepState.SENT,
                (StepState.PREPARED,),
                sent_at=rfc3339(self._clock.now()),
                server_at=rfc3339(server_at),
            )
            if moved:
                self._set_rows(db, batch_id, group, RowState.UNKNOWN)
            return moved

    def mark_not_sent(self, batch_id: str, group: int) -> bool:
        """Commit that nothing was created for certain: the group may leave again."""
        with self._file.write() as db:
            moved = self._move(db, batch_id, group, StepState.PREPARED)
            if moved:
                self._set_rows(db, batch_id, group, RowState.PLANNED)
            return moved

    def mark_unknown(
        self, batch_id: str, group: int, *, code: str, status: int | None, request_id: str | None
    ) -> bool:
        told: dict[str, Any] = {"code": code, "status": status, "request_id": request_id}
        with self._file.write() as db:
            return self._move(db, batch_id, group, StepState.UNKNOWN, **told)

    def mark_refused(
        self,
        batch_id: str,
        group: int,
        ends: Sequence[RowEnd],
        *,
        code: str,
        status: int | None,
        request_id: str | None,
    ) -> bool:
        """Commit a refusal of the whole group; no order exists."""
        told: dict[str, Any] = {"code": code, "status": status, "request_id": request_id}
        with self._file.write() as db:
            moved = self._move(db, batch_id, group, StepState.REFUSED, **told)
            if moved:
                self._end_rows(db, batch_id, group, ends)
            return moved

    def mark_created(
        self,
        batch_id: str,
        group: int,
        multi_id: str,
        ends: Sequence[RowEnd],
        *,
        resolved: bool = False,
        request_id: str | None = None,
    ) -> bool:
        """Commit the id of a group and what became of its rows, before either is shown.
        ``request_id`` is that of the answer; one that is known already stays without it."""
        state = StepState.RESOLVED_YES if resolved else StepState.ACKED
        with self._file.write() as db:
            moved = self._move(db, batch_id, group, state, multi_id=multi_id, request_id=request_id)
            if moved:
                self._end_rows(db, batch_id, group, ends)
            return moved

    def mark_not_created(self, batch_id: str, group: int) -> bool:
        """Commit that the service shows no order of this group after the wait."""
        with self._file.write() as db:
            moved = self._move(db, batch_id, group, StepState.RESOLVED_NO, code="NOT_CREATED")
            if moved:
                self._set_rows(
                    db,
                    batch_id,
                    group,
                    RowState.FAILED,
                    code="NOT_CREATED",
                    reason="The service shows no such order.",
                )
            return moved

    def mark_differs(self, batch_id: str, row: int, reason: str) -> bool:
        """Commit that the order of a row turned out to be another one than was asked for."""
        said = f"{reason[:1].upper()}{reason[1:]}. Do not pay it."
        with self._file.write() as db:
            return move(
                db,
                "batch_row",
                "batch_id = ? AND number = ?",
                (batch_id, row),
                RowState.DIFFERS,
                (RowState.CREATED,),
                code="ORDER_DIFFERS",
                reason=said,
            )

    def adopt(self, batch_id: str) -> bool:
        """Take over a batch whose owner is dead; False while another owner lives."""
        return self._ownership.take_over(batch_id)

    def get(self, batch_id: str) -> JournaledBatch | None:
        """A batch by its id or the unique beginning of it, at least four characters."""
        if len(batch_id) < 4 or not batch_id.isalnum():
            return None
        found = self._file.read(
            "SELECT * FROM batch WHERE id = ? OR id LIKE ? LIMIT 2", (batch_id, f"{batch_id}%")
        )
        return batch_of(self._file, found[0]) if len(found) == 1 else None

    def newest(self, limit: int = 50) -> list[JournaledBatch]:
        rows = self._file.read(
            "SELECT * FROM batch ORDER BY created DESC, rowid DESC LIMIT ?", (limit,)
        )
        return [batch_of(self._file, row) for row in rows]

    def unfinished(self) -> list[JournaledBatch]:
        """Batches with a group of unknown outcome, oldest first."""
        rows = self._file.read(
            "SELECT DISTINCT batch.* FROM batch JOIN batch_group ON batch_id = batch.id"
            " WHERE state IN (?, ?) ORDER BY created",
            (StepState.SENT, StepState.UNKNOWN),
        )
        return [batch_of(self._file, row) for row in rows]

    def multi_ids(self) -> set[str]:
        """Groups of this journal."""
        rows = self._file.read("SELECT multi_id FROM batch_group WHERE multi_id NOT NULL", ())
        return {row["multi_id"] for row in rows}

    def service_ids(self) -> set[str]:
        """Orders that rows of this journal became."""
        rows = self._file.read("SELECT service_id FROM batch_row WHERE service_id NOT NULL", ())
        return {row["service_id"] for row in rows}

    def made(self, multi_id: str) -> bool:
        """Whether a batch of this journal has this group."""
        return bool(self._file.read("SELECT 1 FROM batch_group WHERE multi_id = ?", (multi_id,)))

    def group(self, multi_id: str) -> tuple[str, JournaledGroup] | None:
        """A group by the service's id for it, with the id of its batch."""
        return group_called(self._file, multi_id)

    def groups_of(self, service_ids: Collection[str]) -> list[str]:
        """The groups that these orders are of, by the service's ids for them."""
        rows = self._file.read(
            "SELECT DISTINCT g.multi_id FROM batch_row AS r JOIN batch_group AS g"
            " ON g.batch_id = r.batch_id AND g.number = r.group_number"
            " WHERE g.multi_id > '' AND r.service_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(service_ids)),),
        )
        return [row["multi_id"] for row in rows]

    def payment_mark(self, multi_id: str) -> tuple[object, ...] | None:
        """Another one once anything moved that says how a group is paid; None for no group of
        this journal."""
        return payment_mark(self._file, multi_id)

    def payer(self, batch_id: str) -> str | None:
        """Which account pays the batch as a whole; None where that was never asked for."""
        rows = self._file.read("SELECT account FROM batch_payer WHERE batch_id = ?", (batch_id,))
        return str(rows[0]["account"]) if rows else None

    def _move(
        self,
        db: sqlite3.Connection,
        batch_id: str,
        group: int,
        state: StepState,
        among: Collection[StepState] = LEFT_STEP,
        **values: Any,
    ) -> bool:
        """Only what is on its way gets an outcome."""
        names = (batch_id, group)
        return move(db, "batch_group", "batch_id = ? AND number = ?", names, state, among, **values)

    def _set_rows(
        self, db: sqlite3.Connection, batch_id: str, group: int, state: RowState, **values: Any
    ) -> None:
        """Of a group that moved: its rows are asked for, or are not, with it."""
        among = (RowState.PLANNED, RowState.UNKNOWN)
        names = (batch_id, group)
        where = "batch_id = ? AND group_number = ?"
        move(db, "batch_row", where, names, state, among, **values)

    def _end_rows(
        self, db: sqlite3.Connection, batch_id: str, group: int, ends: Sequence[RowEnd]
    ) -> None:
        for end in ends:
            move(
                db,
                "batch_row",
                "batch_id = ? AND group_number = ? AND place = ?",
                (batch_id, group, end.place),
                end.state,
                (RowState.UNKNOWN,),
                service_id=end.service_id,
                code=end.code,
                reason=end.reason,
            )

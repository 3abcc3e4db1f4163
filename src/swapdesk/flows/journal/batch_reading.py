"""Batches and their groups as they stand in the journal, row by row."""

from __future__ import annotations

import json
import sqlite3
from datetime import datetime

from swapdesk.flows.journal.batch_records import (
    JournaledBatch,
    JournaledGroup,
    JournaledRow,
    RowState,
)
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.journal_records import StepState


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
  (SELECT max(number) FROM bundle AS b
    WHERE b.batch_id = g.batch_id AND b.group_number = g.number),
  (SELECT state FROM bundle AS b
    WHERE b.batch_id = g.batch_id AND b.group_number = g.number ORDER BY number DESC LIMIT 1),
  (SELECT group_concat(p.number || p.state) FROM bundle_payment AS p
    WHERE p.batch_id = g.batch_id AND p.group_number = g.number),
  (SELECT group_concat(w.state || w.moved) FROM withdrawal AS w WHERE w.chain = g.chain)
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

"""Batches in the ledger: a file, its groups under it, and the rows of each group under that.

A group is one request. It is committed before it leaves and moves together with its rows, one
commit for all of them. Whoever moves a group is told whether it moved; where not, what stands was
decided before and is what counts. Nothing is told apart by this desk's memory: a row is found by
batch and number for ever.

The batch holds the claim on its rows until all of its groups are refused. One that was asked for
``again`` takes the claim of a batch that is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from swapdesk.flows.batch.rows import (
    ORDER_DIFFERS,
    Group,
    Row,
    sheet_cells,
)
from swapdesk.flows.journal.ledger import LEFT, OPEN, ClaimTaken, Ledger, Operation, State


class Batch(Struct, frozen=True):
    operation: Operation
    groups: tuple[Group, ...]

    @property
    def id(self) -> str:
        return self.operation.id

    @property
    def created(self) -> datetime:
        return self.operation.prepared_at

    @property
    def file(self) -> str:
        return str(self.operation.body["file"])

    @property
    def payer(self) -> str | None:
        """Which account pays all of it, one group after another: empty for the first of each
        chain, None where nobody asked for that."""
        return self.operation.body.get("payer")

    @property
    def rows(self) -> tuple[Row, ...]:
        """In the order of the file."""
        rows = [row for group in self.groups for row in group.rows]
        return tuple(sorted(rows, key=lambda row: row.number))


# Reading


def find_batch(ledger: Ledger, name: str) -> Batch | None:
    """A batch by its id or the unique beginning of it, at least four characters."""
    if len(name) < 4 or not name.isalnum():
        return None
    begun = name.lower()
    acts = ledger.where("kind = 'batch' AND id BETWEEN ? AND ?", begun, f"{begun}~")
    return _batch(ledger, acts[0]) if len(acts) == 1 else None


def newest_batches(ledger: Ledger, limit: int) -> list[Batch]:
    """The newest first."""
    newest = "SELECT number FROM operation WHERE kind = 'batch' ORDER BY number DESC LIMIT ?"
    acts = ledger.where(f"number IN ({newest})", limit)
    return [_batch(ledger, act) for act in reversed(acts)]


def find_group(ledger: Ledger, multi_id: str) -> Group | None:
    """The group of this home with the service's id for it."""
    acts = ledger.where("subject = ? AND kind = 'create_group'", multi_id)
    return _group(acts[0], ledger.parts(acts[0].id, "row")) if acts else None


def read_group(ledger: Ledger, group_id: str) -> Group:
    """A group with its rows, by its act. Raises KeyError for no such act."""
    act = ledger.get(group_id)
    if act is None:
        raise KeyError(group_id)
    return _group(act, ledger.parts(group_id, "row"))


def _batch(ledger: Ledger, act: Operation) -> Batch:
    groups = ledger.parts(act.id, "create_group")
    rows: dict[str | None, list[Operation]] = {}
    # One question for all rows, by the index of their groups: + keeps it from that of all rows.
    parents = "SELECT id FROM operation WHERE parent = ? AND kind = 'create_group'"
    for row in ledger.where(f"+kind = 'row' AND parent IN ({parents})", act.id):
        rows.setdefault(row.parent, []).append(row)
    return Batch(act, tuple(_group(group, rows.get(group.id, [])) for group in groups))


def _group(act: Operation, rows: Sequence[Operation]) -> Group:
    said = act.body
    return Group(said["number"], said["chain"], said["paid"], tuple(map(_row, rows)), act)


def _row(act: Operation) -> Row:
    said = act.body
    return Row(said["number"], said["line"], sheet_cells(said["cells"]), outcome=act)


# Moving


def begin_batch(
    ledger: Ledger,
    batch_id: str,
    file: str,
    digest: str,
    groups: Sequence[tuple[Group, str]],
    *,
    again: bool = False,
    payer: str | None = None,
) -> None:
    """Commit a batch before anything of it leaves: each group with its request as it will leave,
    byte for byte. ``payer`` as :attr:`Batch.payer`.

    Raises ClaimTaken when the same rows are on their way or wait to be, or became orders before
    and ``again`` does not ask for them anew.
    """
    claim = f"batch:{digest}"
    body: dict[str, Any] = {"file": file, "digest": digest}
    if payer is not None:
        body["payer"] = payer
    with ledger.transaction():
        if again:
            ledger.free(claim)
        elif over := _created_before(ledger, digest):
            raise ClaimTaken(over)
        ledger.begin("batch", body, id=batch_id, claim=claim)
        for group, request in groups:
            said = {"number": group.number, "chain": group.chain, "paid": group.paid}
            act = ledger.begin("create_group", {**said, "body": request}, parent=batch_id)
            ledger.begin_parts(
                act.id,
                "row",
                [
                    {"number": row.number, "line": row.line, "place": place, "cells": row.cells}
                    for place, row in enumerate(group.rows)
                ],
            )


def _created_before(ledger: Ledger, digest: str) -> Operation | None:
    """The newest batch of these rows that became orders; it may have lost its claim to one that was
    asked for again and refused."""
    same = "kind = 'batch' AND state = ? AND json_extract(body, '$.digest') = ?"
    acts = ledger.where(same, State.DONE, digest)
    return acts[-1] if acts else None


def move_group(
    ledger: Ledger,
    group: Group,
    state: State,
    *,
    code: str | None = None,
    reasons: Sequence[str] = (),
    multi_id: str | None = None,
    server_at: datetime | None = None,
    status: int | None = None,
    request_id: str | None = None,
) -> bool:
    """Commit how the request of a group stands, and its rows with it; whether it moved.

    Sent: it leaves now; where it did not move, it left before or was decided, and must not leave.
    Prepared: nothing was created for certain, and it may leave again. Unknown: ``code`` says why
    nobody knows. Refused: no order of it exists, with the reason of each row in a sentence. Done:
    ``multi_id`` is its id, and what became of its rows is committed in the same transaction by
    :func:`move_row`; ``code`` says how the answer was lost where it was found by a look. Not where
    another group of this home has that id.
    """
    over = state in (State.DONE, State.REFUSED)
    with ledger.transaction():
        if multi_id is not None and find_group(ledger, multi_id) is not None:
            return False
        moved = ledger.move(
            group.act.id,
            state,
            among=LEFT if over else None,
            code=code,
            subject=multi_id,
            server_at=server_at,
            status=status,
            request_id=request_id,
        )
        if not moved:
            return False
        if state is State.REFUSED:
            for row, reason in zip(group.rows, reasons, strict=True):
                move_row(ledger, row, state, code=code, reason=reason)
        if over:
            _end_batch(ledger, group)
            return True
        ledger.move_parts(group.act.id, "row", state)
        if state is State.SENT:
            ledger.move(str(group.act.parent), state)
        return True


def move_row(
    ledger: Ledger,
    row: Row,
    state: State,
    *,
    service_id: str | None = None,
    code: str | None = None,
    reason: str | None = None,
) -> None:
    """What became of a row of a group that moves in the same transaction; ``reason`` is a
    sentence."""
    ledger.move(row.act.id, state, among=LEFT, subject=service_id, code=code, reason=reason)


def mark_differing(ledger: Ledger, row: Row, reason: str) -> bool:
    """Commit that the order of a row turned out to be another one than was asked for; ``reason`` is
    without its point. False where that is known, or there is no order."""
    said = f"{reason[:1].upper()}{reason[1:]}. Do not pay it."
    with ledger.transaction():
        act = ledger.get(row.act.id)
        if act is None or act.code is not None:
            return False
        return ledger.tell(act.id, among=(State.DONE,), code=ORDER_DIFFERS, reason=said)


def _end_batch(ledger: Ledger, group: Group) -> None:
    """The batch ends with the last of its groups: refused where all are, so that nothing stands
    against asking for its rows once more."""
    parent = str(group.act.parent)
    with ledger.transaction() as db:
        rows = db.execute(
            "SELECT DISTINCT state FROM operation WHERE parent = ? AND +kind = 'create_group'",
            (parent,),
        )
        states = {State(row["state"]) for row in rows}
    if states.isdisjoint(OPEN):
        refused = states == {State.REFUSED}
        ledger.move(parent, State.REFUSED if refused else State.DONE)

"""Batches in the ledger. A batch is one file; its groups are its parts, and the rows of a group are
the group's parts.

A group is one create request. It is committed before the request is sent. Later, the states of the
group and of its rows change in one commit. Each function that changes a state returns whether it
changed; if not, an earlier decision is in the ledger and is the valid one. Nothing depends on the
memory of a process, because the batch id and the row number identify a row for good.

A batch claims its rows, so that no other batch of the same rows can begin, until all its groups are
refused. If the user asks for the same rows ``again`` after the batch is done, the new batch takes
the claim.
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
        """The name or address of the account that pays the batch; empty if the first account of
        each chain pays. None if the batch is not paid directly after its creation."""
        return self.operation.body.get("payer")

    @property
    def rows(self) -> tuple[Row, ...]:
        rows = [row for group in self.groups for row in group.rows]
        return tuple(sorted(rows, key=lambda row: row.number))


# Reading


def find_batch(ledger: Ledger, name: str) -> Batch | None:
    """Returns the batch whose id begins with ``name``. Returns None if no batch or more than one
    fits, or if ``name`` has fewer than four characters."""
    if len(name) < 4 or not name.isalnum():
        return None
    begun = name.lower()
    acts = ledger.where("kind = 'batch' AND id BETWEEN ? AND ?", begun, f"{begun}~")
    return _batch(ledger, acts[0]) if len(acts) == 1 else None


def newest_batches(ledger: Ledger, limit: int) -> list[Batch]:
    """Returns the ``limit`` most recent batches, newest first."""
    newest = "SELECT number FROM operation WHERE kind = 'batch' ORDER BY number DESC LIMIT ?"
    acts = ledger.where(f"number IN ({newest})", limit)
    return [_batch(ledger, act) for act in reversed(acts)]


def find_group(ledger: Ledger, multi_id: str) -> Group | None:
    """Returns the group with the id ``multi_id`` at the service; None if this journal has no such
    group."""
    acts = ledger.where("subject = ? AND kind = 'create_group'", multi_id)
    return _group(acts[0], ledger.parts(acts[0].id, "row")) if acts else None


def read_group(ledger: Ledger, group_id: str) -> Group:
    """Returns the group with the operation id ``group_id`` from the journal. Raises KeyError if
    there is none."""
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
    body = act.body
    return Group(body["number"], body["chain"], body["paid"], tuple(map(_row, rows)), act)


def _row(act: Operation) -> Row:
    body = act.body
    return Row(body["number"], body["line"], sheet_cells(body["cells"]), outcome=act)


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
    """Records a new batch before its requests are sent. ``groups`` pairs each group of rows with
    the exact text of its request. Raises ClaimTaken if the same rows are under way, or if they
    became orders and ``again`` is False."""
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
    """Records the new state of a group and of its rows. Returns False if nothing changed or another
    group has ``multi_id``.

    Before sending, record SENT: the request may be sent only if True is returned. For REFUSED,
    ``reasons`` needs a sentence for each row. After DONE, call :func:`move_row` for every row in
    the same database transaction.
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
    """Records the outcome of one row. Call it inside the database transaction that changes the
    row's group. ``service_id`` is the row's order; ``reason`` says why there is no order, or why
    the order must not be paid."""
    ledger.move(row.act.id, state, among=LEFT, subject=service_id, code=code, reason=reason)


def mark_differing(ledger: Ledger, row: Row, reason: str) -> bool:
    """Records that a row's order differs from what the row asked for; ``reason`` says how. Returns
    False if the row has no order or already has a problem."""
    sentence = f"{reason[:1].upper()}{reason[1:]}. Do not pay it."
    with ledger.transaction():
        act = ledger.get(row.act.id)
        if act is None or act.code is not None:
            return False
        return ledger.tell(act.id, among=(State.DONE,), code=ORDER_DIFFERS, reason=sentence)


def _end_batch(ledger: Ledger, group: Group) -> None:
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

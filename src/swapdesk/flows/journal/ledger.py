"""The ledger of operations. An operation is anything that creates an order or moves money; each has
one row.

An operation is committed as prepared before its side effect, is then sent, and ends as done or
refused. While its answer is lost, it is unknown. Only :meth:`Ledger.move` changes its state, and
only from the states that the same statement names, so an answer that is late, repeated or from
another process never changes a decision. The caller learns whether the state changed; if not, the
state in the ledger is the valid one.

A claim is a text that names a payment, a deposit or a file. Only one operation at a time can hold
it: if two desks pay the same deposit, the second one gets ClaimTaken. An operation loses its claim
if it is refused; the kinds in ``FREED_WHEN_DONE`` lose it also when they are done.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from swapdesk.acts import LEFT as LEFT
from swapdesk.acts import OPEN as OPEN
from swapdesk.acts import State as State
from swapdesk.clock import Clock
from swapdesk.flows.journal.journal_file import JournalFile, ProcessIdentity
from swapdesk.wire.encoding.codec import rfc3339

MAY_FOLLOW: Mapping[State, tuple[State, ...]] = {
    State.PREPARED: LEFT,  # what left did not arrive for certain: it may leave again
    State.SENT: (State.PREPARED,),
    State.UNKNOWN: LEFT,  # again only with another reason
    State.DONE: OPEN,
    State.REFUSED: OPEN,
}
"""For each state, the states from which an operation may move to this state."""

Kind = Literal[
    "create", "approve", "reset", "sign", "swap", "confirm", "call", "deposit",
    "batch", "create_group", "row", "bundle", "fund", "part", "withdraw",
]  # fmt: skip
"""The kinds of operations. A table in ``docs/architecture.md`` says what each kind stands for."""

FREED_WHEN_DONE: tuple[Kind, ...] = ("create", "bundle", "fund", "part", "withdraw")
"""Kinds of operations that give up their claim when done, so that the same payment can be requested
again."""

EXECUTED_IN_VAIN = "FAILED"
"""The code of an operation whose transaction was executed and failed. One that never executed has
another code."""


class Operation(Struct, frozen=True):
    """One row of the ledger, such as a payment or a call."""

    number: int
    id: str
    kind: Kind
    parent: str | None
    """The id of the operation that this one is a part of."""
    subject: str | None
    """The id of the order or group, once known."""
    claim: str | None
    """Names a payment that must not be made twice."""
    state: State
    body: dict[str, Any]
    """What was confirmed or is to be sent."""
    result: dict[str, Any]
    """Facts about the outcome, such as ``hash``."""
    code: str | None
    prepared_at: datetime
    sent_at: datetime | None
    """The time of sending by the desk's clock."""
    server_at: datetime | None
    """The time of sending by the service's clock."""
    ended_at: datetime | None
    owner: ProcessIdentity

    @property
    def open(self) -> bool:
        return self.state in OPEN

    @property
    def left(self) -> bool:
        """True if the operation may have been sent, and is neither done nor refused."""
        return self.state in LEFT

    @property
    def hash(self) -> str | None:
        hash_ = self.result.get("hash")
        return str(hash_) if hash_ else None

    @property
    def moved_at(self) -> datetime:
        return self.ended_at or self.sent_at or self.prepared_at


class ClaimTaken(Exception):
    """Raised if another operation, ``holder``, already has the claim and may have made the same
    payment. Do not pay again."""

    def __init__(self, holder: Operation) -> None:
        super().__init__(f"{holder.claim} is held by {holder.id}, which is {holder.state}")
        self.holder = holder


class Ledger:
    """Reads and writes operations. Every method may raise JournalUnavailable; the caller must then
    do nothing that has a side effect."""

    def __init__(self, file: JournalFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._me = ProcessIdentity.current()

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Returns a context manager that commits all writes of its ``with`` block together, or
        none."""
        return self._file.write()

    def begin(
        self,
        kind: Kind,
        body: Mapping[str, Any],
        /,
        *,
        id: str | None = None,  # noqa: A002 - as the column
        parent: str | None = None,
        subject: str | None = None,
        claim: str | None = None,
        state: State = State.PREPARED,
        **result: Any,
    ) -> Operation:
        """Commits a new operation. Call it before the side effect. Raises ClaimTaken if another
        operation already holds ``claim`` (the name of a payment)."""
        now = self._clock.now()
        at = rfc3339(now)
        left, ended = state is not State.PREPARED, state in (State.DONE, State.REFUSED)
        with self._file.write() as db:
            holder = self.holder(claim) if claim else None
            if holder is not None:
                raise ClaimTaken(holder)
            row = db.execute(
                "INSERT INTO operation (id, kind, parent, subject, claim, state, body, result,"
                " prepared_at, sent_at, ended_at, owner_pid, owner_start)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *",
                (
                    id or uuid.uuid4().hex,
                    kind,
                    parent,
                    subject,
                    claim,
                    state,
                    json.dumps(body),
                    json.dumps(_named(result)),
                    at,
                    at if left else None,
                    at if ended else None,
                    self._me.pid,
                    self._me.started,
                ),
            ).fetchone()
            return _operation(row)

    def begin_parts(self, parent: str, kind: Kind, bodies: Iterable[Mapping[str, Any]]) -> None:
        """Commits an operation for each of ``bodies``, in order, as children of ``parent``."""
        rest = (rfc3339(self._clock.now()), self._me.pid, self._me.started)
        with self._file.write() as db:
            db.executemany(
                "INSERT INTO operation (id, kind, parent, state, body, prepared_at, owner_pid,"
                " owner_start) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (f"{parent}-{place}", kind, parent, State.PREPARED, json.dumps(body), *rest)
                    for place, body in enumerate(bodies)
                ),
            )

    def move(
        self,
        id: str,  # noqa: A002
        state: State,
        *,
        among: Collection[State] | None = None,
        code: str | None = None,
        subject: str | None = None,
        server_at: datetime | None = None,
        **result: Any,
    ) -> bool:
        """Changes an operation's state if ``MAY_FOLLOW`` and ``among`` permit it; returns True if
        the state changed. Facts in ``result`` are added, but a None erases nothing. ``code`` always
        replaces the old code."""
        moved = self._update("id = ?", (id,), state, among, code, subject, server_at, result)
        return moved == 1

    def move_parts(
        self,
        parent: str,
        kind: Kind,
        state: State,
        *,
        among: Collection[State] | None = None,
        code: str | None = None,
        **result: Any,
    ) -> int:
        """Changes the state of all children of one kind, like :meth:`move`; returns how many
        changed."""
        where = "parent = ? AND kind = ?"
        return self._update(where, (parent, kind), state, among, code, None, None, result)

    def tell(
        self,
        id: str,  # noqa: A002
        *,
        among: Collection[State] = tuple(State),
        code: str | None = None,
        **result: Any,
    ) -> bool:
        """Adds facts to an operation's result. Returns False, and changes nothing, if the
        operation's state is not in ``among``. If ``code`` is None, the old code stays."""
        marks = ", ".join("?" * len(among))
        with self._file.write() as db:
            merged, values = _merging(result)
            changed = db.execute(
                f"UPDATE operation SET result = {merged}, code = coalesce(?, code)"  # noqa: S608
                f" WHERE id = ? AND state IN ({marks})",
                (*values, code, id, *among),
            )
            return changed.rowcount == 1

    def hand_over(self, id: str, parent: str) -> bool:  # noqa: A002
        """Moves an operation of unknown outcome to a new ``parent``, if its old parent has ended.
        Returns True if it was moved."""
        with self._file.write() as db:
            given = db.execute(
                "UPDATE operation SET parent = ? WHERE id = ? AND state = ? AND NOT EXISTS"
                " (SELECT 1 FROM operation AS before WHERE before.id = operation.parent"
                " AND before.state IN (?, ?, ?))",
                (parent, id, State.UNKNOWN, *OPEN),
            )
            return given.rowcount == 1

    def free(self, claim: str) -> None:
        """Removes a claim (the name of a payment) if the operation that holds it is done. The same
        payment can then be requested again."""
        with self._file.write() as db:
            db.execute(
                "UPDATE operation SET claim = NULL WHERE claim = ? AND state = ?",
                (claim, State.DONE),
            )

    def take_over(self, id: str) -> bool:  # noqa: A002
        """Makes this process the owner of an operation. Returns False if the present owner still
        runs, or if there is no such operation."""
        with self._file.write() as db:
            row = db.execute(
                "SELECT owner_pid, owner_start FROM operation WHERE id = ?", (id,)
            ).fetchone()
            if row is None or not self._me.may_take_over(ProcessIdentity(*row)):
                return False
            # The transaction has the write lock since before it read.
            db.execute(
                "UPDATE operation SET owner_pid = ?, owner_start = ? WHERE id = ?",
                (self._me.pid, self._me.started, id),
            )
            return True

    def mark(self, condition: str, *values: object) -> str | None:
        """Returns a text that changes with the state or result of the operations that meet an SQL
        condition; None if no operation meets it."""
        rows = self._file.read(
            "SELECT group_concat(number || state || length(result) || coalesce(ended_at,"  # noqa: S608
            f" sent_at, '')) AS mark FROM operation WHERE {condition}",
            values,
        )
        return rows[0]["mark"] if rows else None

    def get(self, id: str) -> Operation | None:  # noqa: A002
        return next(iter(self.where("id = ?", id)), None)

    def holder(self, claim: str) -> Operation | None:
        """Returns the operation that holds ``claim``; None if none does."""
        return next(iter(self.where(f"claim = ? AND state <> '{State.REFUSED}'", claim)), None)

    def parts(self, parent: str, *kinds: Kind) -> list[Operation]:
        """Returns the children of an operation, oldest first. If ``kinds`` are given, only children
        of these kinds are returned."""
        if not kinds:
            return self.where("parent = ?", parent)
        marks = ", ".join("?" * len(kinds))
        return self.where(f"parent = ? AND kind IN ({marks})", parent, *kinds)

    def subjects(self, kind: Kind) -> set[str]:
        """Returns the known ids of the orders or groups that operations of this kind are about."""
        rows = self._file.read(
            f"SELECT subject FROM operation WHERE kind = '{kind}' AND subject IS NOT NULL",  # noqa: S608
            (),
        )
        return {row["subject"] for row in rows}

    def where(self, condition: str, *values: object) -> list[Operation]:
        """Returns the operations that meet an SQL condition, oldest first. ``values`` are for its
        placeholders."""
        rows = self._file.read(
            f"SELECT * FROM operation WHERE {condition} ORDER BY number",  # noqa: S608
            values,
        )
        return [_operation(row) for row in rows]

    def _update(
        self,
        where: str,
        names: tuple[str, ...],
        state: State,
        among: Collection[State] | None,
        code: str | None,
        subject: str | None,
        server_at: datetime | None,
        result: Mapping[str, Any],
    ) -> int:
        among = MAY_FOLLOW[state] if among is None else among
        assert set(among) <= set(MAY_FOLLOW[state])
        at = rfc3339(self._clock.now())
        columns, values = "", list[object]()
        if state is State.SENT:
            columns = ", sent_at = ?, server_at = coalesce(?, server_at)"
            values = [at, server_at and rfc3339(server_at)]
        elif state in (State.DONE, State.REFUSED):
            columns, values = ", ended_at = ?", [at]
        if state is State.DONE:
            freed = ", ".join(f"'{kind}'" for kind in FREED_WHEN_DONE)
            columns += f", claim = CASE WHEN kind IN ({freed}) THEN NULL ELSE claim END"
        marks = ", ".join("?" * len(among))
        merged, facts = _merging(result)
        with self._file.write() as db:
            moved = db.execute(
                "UPDATE operation SET state = ?, code = ?, subject = coalesce(?, subject),"  # noqa: S608
                f" result = {merged}{columns} WHERE {where} AND state IN ({marks})",
                (state, code, subject, *facts, *values, *names, *among),
            )
            return moved.rowcount


def _named(result: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if value is not None}


def _merging(result: Mapping[str, Any]) -> tuple[str, list[str]]:
    facts = [
        text
        for name, value in _named(result).items()
        for text in (f'$."{name}"', json.dumps(value))
    ]
    return f"json_set(result{', ?, json(?)' * (len(facts) // 2)})", facts


def _operation(row: sqlite3.Row) -> Operation:
    # By place: a journal has tens of thousands, and a look-up by name takes as long as the rest.
    number, id_, kind, parent, subject, claim, state, body, result, code, *moments, pid, start = row
    prepared, sent, server, ended = moments
    return Operation(
        number,
        id_,
        kind,
        parent,
        subject,
        claim,
        State(state),
        read_json(body),
        read_json(result),
        code,
        datetime.fromisoformat(prepared),
        datetime.fromisoformat(sent) if sent else None,
        datetime.fromisoformat(server) if server else None,
        datetime.fromisoformat(ended) if ended else None,
        ProcessIdentity(pid, start),
    )


def read_json(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        # Half of a surrogate pair, which somebody pasted, is JSON to Python alone.
        members: dict[str, Any] = json.loads(text)
        return members

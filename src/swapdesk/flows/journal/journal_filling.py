"""What a journal of version 1 to 7 holds, as acts, orders and events.

Those versions had a table for each kind of act and for each fact about an order. Version 1 grew
without another number: a table or column that is missing holds nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

OLD_TABLES = (
    "intent", "step", "known_order", "event", "call", "accepted_output", "batch", "batch_group",
    "batch_row", "bundle", "bundle_payment", "batch_payer", "withdrawal", "told_deposit",
    "put_away", "chain_payment",
)  # fmt: skip
_FIRST_TABLES = OLD_TABLES[:4]

_STATES = {
    # Requests and transactions
    "PREPARED": "prepared",
    "SENT": "sent",
    "UNKNOWN": "unknown",
    "ACKED": "done",
    "RESOLVED_YES": "done",
    "REFUSED": "refused",
    "RESOLVED_NO": "refused",
    "ABANDONED_BY_USER": "refused",
    # Intents
    "unknown": "unknown",
    "created": "done",
    "refused": "refused",
    "not_created": "refused",
    "abandoned": "refused",
    # Bundles
    "built": "prepared",
    "signed": "prepared",
    "sent": "sent",
    "submitted": "sent",
    "confirmed": "done",
    "failed": "refused",
    "withdrawn": "refused",
    "replaced": "refused",
    # Rows
    "planned": "prepared",
    "differs": "done",
}
_CODES = {"RESOLVED_NO": "NOT_CREATED", "ABANDONED_BY_USER": "ABANDONED"}
"""Of what an intent ended with it."""
_PAYMENTS = {
    "/sandbox/deposits": "faucet",
    "/wallet/deposits": "wallet",
    "/wallet/bundles": "bundle",
}
_LEFT = ("sent", "unknown")
_FREED_WHEN_DONE = ("create", "bundle", "fund", "part", "withdraw")
_NOBODY = (1 << 22, 0)
"""Owner of what had none: no process of Linux has this number."""

_Row = dict[str, Any]


def fill(db: sqlite3.Connection) -> None:
    """Write what the old tables hold into the new ones, in a transaction of the caller. Raises
    LookupError or ValueError for what no swapdesk wrote."""
    acts = [*_creates(db), *_batches(db), *_calls(db), *_withdrawals(db)]
    acts.sort(key=lambda act: str(act["prepared_at"]))
    _settle_claims(acts)
    _insert(db, "operation", ({**act, "number": at} for at, act in enumerate(acts, start=1)))
    _insert(db, "orders", _orders(db))
    db.execute("INSERT INTO events SELECT id, service_id, at, source, raw FROM event")


def _orders(db: sqlite3.Connection) -> Iterator[_Row]:
    facts = {
        "accepted": {row["service_id"]: row["out_amount"] for row in _rows(db, "accepted_output")},
        "put_away": {row["service_id"]: row["trouble"] for row in _rows(db, "put_away")},
        "deposit": {row["service_id"]: row["hash"] for row in _rows(db, "told_deposit")},
        "payments": {
            service_id: json.dumps(
                {f"{row['hash']} {row['token']}": json.loads(row["raw"]) for row in rows}
            )
            for service_id, rows in _by(db, "chain_payment", "service_id").items()
        },
    }
    for row in _rows(db, "known_order"):
        known = {name: values.get(row["service_id"]) for name, values in facts.items()}
        yield {**row, **known, "number": row["rowid"], "operation": row["intent_id"] or None}


def _creates(db: sqlite3.Connection) -> Iterator[_Row]:
    orders = {row["intent_id"]: row["service_id"] for row in _rows(db, "known_order")}
    steps = _by(db, "step", "intent_id", "seq")
    for intent in _rows(db, "intent"):
        yield from _create(intent, steps[intent["id"]], orders.get(intent["id"]))


def _create(intent: _Row, steps: Sequence[_Row], order: str | None) -> Iterator[_Row]:
    word, owner = intent["state"], (intent["owner_pid"], intent["owner_start"])
    requests = [step for step in steps if step["name"] == "create"]
    request: _Row = requests[-1] if requests else {}
    first, last = (steps[0], steps[-1]) if steps else ({}, {})
    if word == "open":
        state = _STATES[request.get("state", "PREPARED")]
        # The intent would have ended in the same commit.
        state = "sent" if state == "done" else state
    else:
        state = _STATES[word]
    code = (last if state == "refused" else request).get("code")
    yield _act(
        "create",
        intent["id"],
        state,
        {
            "intent": json.loads(intent["frozen"]),
            "digest": (request or first).get("digest", ""),
        },
        intent["created"],
        owner,
        subject=order,
        claim=f"twin:{intent['fingerprint']}",
        code=word.upper() if word in ("not_created", "abandoned") else code,
        times=request,
        plan=_told(first).get("plan"),
        request_id=request.get("request_id"),
        status=request.get("status"),
    )
    at = intent["created"]
    for step in steps:
        name, _, _ = step["name"].partition(" ")
        at = max(at, step["sent_at"] or at)
        if name in ("approve", "reset", "sign", "swap", "confirm"):
            names = {"name": step["name"]} if name == "sign" else {}
            yield _act(
                name,
                f"{intent['id']}/{step['seq']}",
                _STATES[step["state"]],
                {"digest": step["digest"], **names},
                at,
                owner,
                parent=intent["id"],
                code=_CODES.get(step["state"], step["code"]),
                times=step,
                **_told(step),
                request_id=step["request_id"],
                status=step["status"],
            )


def _told(step: _Row) -> _Row:
    """What is known with a step. That of a create is the bare id of its order."""
    result = step.get("result") or ""
    return json.loads(result) if result.startswith("{") else {}


def _batches(db: sqlite3.Connection) -> Iterator[_Row]:
    payers = {row["batch_id"]: row["account"] for row in _rows(db, "batch_payer")}
    batches = {row["id"]: row for row in _rows(db, "batch")}
    owners = {id_: (row["owner_pid"], row["owner_start"]) for id_, row in batches.items()}
    groups = _by(db, "batch_group", "batch_id")
    requests = {_group(row): row for rows in groups.values() for row in rows}
    for id_, batch in batches.items():
        payer = {"payer": payers[id_]} if id_ in payers else {}
        yield _act(
            "batch",
            id_,
            _batch_state({_STATES[group["state"]] for group in groups[id_]}),
            {"file": batch["file"], "digest": batch["digest"], **payer},
            batch["created"],
            owners[id_],
            claim=f"batch:{batch['digest']}",
        )
    for id_, group in requests.items():
        yield _act(
            "create_group",
            id_,
            _STATES[group["state"]],
            _members(group, "number", "chain", "paid", "body"),
            batches[group["batch_id"]]["created"],
            owners[group["batch_id"]],
            parent=group["batch_id"],
            subject=group["multi_id"],
            # Of one that was found by a look, how its answer was lost.
            code=group["code"] or ("NO_ANSWER" if group["state"] == "RESOLVED_YES" else None),
            times=group,
            **_members(group, "request_id", "status"),
        )
    for row in _rows(db, "batch_row", "batch_id, group_number, place"):
        id_ = _group(row, "group_number")
        state = _STATES[row["state"]]
        yield _act(
            "row",
            f"{id_}/{row['number']}",
            _asked(requests[id_]) if state == "unknown" else state,
            {
                **_members(row, "number", "line", "place"),
                "cells": json.loads(row["cells"]),
            },
            batches[row["batch_id"]]["created"],
            owners[row["batch_id"]],
            parent=id_,
            subject=row["service_id"],
            code=row["code"],
            reason=row["reason"],
        )
    for row in _rows(db, "bundle"):
        id_ = _group(row, "group_number")
        state = _STATES[row["state"]]
        yield _act(
            "bundle",
            _bundle(row),
            state,
            {**json.loads(row["built"]), "number": row["number"]},
            row["created"],
            owners[row["batch_id"]],
            parent=id_,
            subject=requests[id_]["multi_id"],
            claim=f"bundle:{id_}",
            code=row["state"].upper() if state == "refused" else None,
            times=row,
            signatures=json.loads(row["signatures"] or "null"),
            accepted=True if row["state"] == "submitted" else None,
            hash=row["tx_hash"],
            said=row["code"],
            reason=row["reason"],
        )
    for row in _rows(db, "bundle_payment", "batch_id, group_number, number"):
        id_ = _group(row, "group_number")
        fund = row["paying"] == "fund"
        yield _act(
            row["paying"],
            row["intent_id"],
            _STATES[row["state"]],
            {
                **_members(row, "number", "symbol", "decimals", "contract", "units"),
                "service_ids": json.loads(row["service_ids"]),
            },
            batches[row["batch_id"]]["created"],
            owners[row["batch_id"]],
            parent=id_,
            claim=f"fund:{id_}:{row['contract'] or 'coin'}" if fund else None,
            code=row["code"],
            hash=row["hash"],
        )


def _group(row: _Row, number: str = "number") -> str:
    return f"{row['batch_id']}/{row[number]}"


def _bundle(row: _Row) -> str:
    return f"{_group(row, 'group_number')}/bundle-{row['number']}"


def _batch_state(groups: set[str]) -> str:
    if groups <= {"refused"}:
        return "refused"
    if groups <= {"refused", "done"}:
        return "done"
    return "prepared" if groups == {"prepared"} else "sent"


def _asked(group: _Row) -> str:
    """How a row stands of which nothing is known but that it was asked for."""
    return "sent" if group["state"] == "SENT" else "unknown"


def _calls(db: sqlite3.Connection) -> Iterator[_Row]:
    payers = _payers(db)
    for row in _rows(db, "call"):
        by, state = _PAYMENTS.get(row["path"]), _STATES[row["state"]]
        body = _members(row, "method", "path", "body") if by is None else {"by": by}
        yield _act(
            "call" if by is None else "deposit",
            f"call/{row['id']}",
            state,
            {"body": row["body"], **body},
            row["sent_at"],
            parent=payers.get(row["service_id"]) if by == "bundle" else None,
            subject=row["service_id"],
            claim=None if by is None else f"deposit:{row['service_id']}",
            code=row["code"],
            times={} if state == "prepared" else {"sent_at": row["sent_at"]},
            hash=row.get("hash"),
            **_members(row, "request_id", "status"),
        )


def _payers(db: sqlite3.Connection) -> dict[str, str]:
    """Which bundle, or part of one, pays each order: the one that did, or the last that was to."""
    tried = [
        (row["state"] == "confirmed", deposit["service_id"], _bundle(row))
        for row in _rows(db, "bundle")
        if row["sent_at"] and (built := json.loads(row["built"]))["kind"] == "evm"
        for item in built["items"]
        for deposit in item["deposits"]
    ]
    tried += [
        (row["state"] == "ACKED", service_id, row["intent_id"])
        for row in _rows(db, "bundle_payment")
        for service_id in json.loads(row["service_ids"])
    ]
    tried.sort(key=lambda payer: payer[0])
    return {service_id: payer for _, service_id, payer in tried}


def _withdrawals(db: sqlite3.Connection) -> Iterator[_Row]:
    for row in _rows(db, "withdrawal"):
        state = _STATES[row["state"]]
        moved = {"sent_at": row["moved"]} if state in _LEFT else {"ended_at": row["moved"]}
        yield _act(
            "withdraw",
            row["intent_id"],
            state,
            {**_members(row, "account", "sender", "chain"), "taken": json.loads(row["taken"])},
            row["moved"],
            claim=f"withdraw:{row['chain']}:{row['sender']}",
            times={} if state == "prepared" else moved,
            hash=row["hash"],
        )


def _act(
    kind: str,
    id_: str,
    state: str,
    body: _Row,
    prepared_at: str,
    owner: tuple[int, int] = _NOBODY,
    *,
    parent: str | None = None,
    subject: str | None = None,
    claim: str | None = None,
    code: str | None = None,
    times: _Row | None = None,
    **result: Any,
) -> _Row:
    return {
        "id": id_,
        "kind": kind,
        "parent": parent,
        "subject": subject,
        "claim": None if state == "done" and kind in _FREED_WHEN_DONE else claim,
        "state": state,
        "body": json.dumps(body),
        "result": json.dumps({name: told for name, told in result.items() if told is not None}),
        "code": code,
        "prepared_at": prepared_at,
        **{name: (times or {}).get(name) for name in ("sent_at", "server_at", "ended_at")},
        "owner_pid": owner[0],
        "owner_start": owner[1],
    }


def _settle_claims(acts: Iterable[_Row]) -> None:
    """Leave each claim to one act. A payment that was made has it before one that may have been;
    a batch under way before those that are done, and of these the newest: only what is done may be
    done again."""
    claims = defaultdict[str, list[_Row]](list)
    for act in acts:
        if act["claim"] and act["state"] != "refused":
            claims[act["claim"]].append(act)
    for claiming in claims.values():
        batch = claiming[0]["kind"] == "batch"
        holder = min(
            claiming[::-1] if batch else claiming,
            key=lambda act: (act["state"] == "done") is batch,
        )
        for act in claiming:
            if act is not holder:
                act["claim"] = None


def _members(row: _Row, *names: str) -> _Row:
    return {name: row[name] for name in names}


def _rows(db: sqlite3.Connection, table: str, order: str = "rowid") -> list[_Row]:
    """Raises LookupError where one is missing that every version had."""
    found = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    if not db.execute(found, (table,)).fetchone():
        if table in _FIRST_TABLES:
            raise LookupError(table)
        return []
    cursor = db.execute(f"SELECT rowid, * FROM {table} ORDER BY {order}")  # noqa: S608
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _by(
    db: sqlite3.Connection, table: str, name: str, order: str = "rowid"
) -> defaultdict[str, list[_Row]]:
    rows = defaultdict(list)
    for row in _rows(db, table, order):
        rows[row[name]].append(row)
    return rows


def _insert(db: sqlite3.Connection, table: str, rows: Iterable[_Row]) -> None:
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    places = ", ".join(f":{name}" for name in columns)
    db.executemany(f"INSERT INTO {table} VALUES ({places})", rows)  # noqa: S608

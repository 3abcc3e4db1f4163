"""Case files to show, and files of an attacker: every text of one is another one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from flows.orders import NOW
from flows.support.cases import case_of
from flows.support.test_case_file import EVERYTHING, call, facts, named, written
from swapdesk.flows.support.case_file import CaseFile, Shown, file_bytes, read_bytes

LATER = NOW + timedelta(days=1, minutes=6)
TIMES = ("at", "written", "created")


def whole_case(rule: str = "held", shown: tuple[Shown, ...] = EVERYTHING) -> CaseFile:
    """With a memo, updates of two days and a request."""
    known = named(facts(case_of(rule)))
    first, last = known.seen
    moved = first[2].model_copy(update={"display_status": "DEPOSIT_DETECTED", "in_status": 2})
    seen = (first, (NOW + timedelta(minutes=3), "stream", moved), (LATER, "read", last[2]))
    calls = (*known.calls, call(2, f"/v2/orders/{moved.service_id}?x=1"))
    return written(replace(known, at=LATER, seen=seen, calls=calls), shown)


def document_of(file: CaseFile) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(file_bytes(file))
    return document


def read_document(document: dict[str, Any]) -> CaseFile:
    return read_bytes(json.dumps(document).encode())


def with_texts(file: CaseFile, text: Callable[[], str]) -> CaseFile:
    """Every text in it, also the names of what somebody may name, becomes ``text()``."""
    document = document_of(file)
    order = {f"{name} {text()}": text() for name in document["order"]}
    program = {f"{name} {text()}": text() for name in document["program"]}
    changed = _each(document, text)
    return read_document(changed | {"order": order, "program": program})


def _each(value: Any, text: Callable[[], str]) -> Any:
    if isinstance(value, dict):
        return {
            name: one if name in TIMES and _is_time(one) else _each(one, text)
            for name, one in value.items()
        }
    if isinstance(value, list):
        return [_each(one, text) for one in value]
    return text() if isinstance(value, str) and value else value


def _is_time(value: object) -> bool:
    return isinstance(value, str) and "T" in value


def texts_of(value: Any) -> Iterator[str]:
    """What stands in a document, but for its times."""
    if isinstance(value, dict):
        for name, one in value.items():
            if not (name in TIMES and _is_time(one)):
                yield from texts_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts_of(one)
    elif isinstance(value, str) and value:
        yield value

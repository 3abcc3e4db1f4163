"""Case files to show, and files of an attacker: every text of one is another one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, get_args

from msgspec.structs import replace

from flows.orders import NOW, intent, order
from flows.support.cases import REQUEST, Case, case_of, sent
from swapdesk.client.exchange_log import Exchange
from swapdesk.flows.support.case_file import CaseFile, Shown, case_file, file_bytes, read_bytes
from swapdesk.flows.support.support_case import CaseFacts, DeskFacts

PROGRAM = {"swapdesk": "1.0.0", "service": "sandbox"}
EVERYTHING = tuple(get_args(Shown))


def call(number: int, target: str, body: bytes = b"") -> Exchange:
    return Exchange(
        number, NOW, "getOrder", "GET", target, 1, (), body, 404, "7f00aa11", (), b"", 0, 12.0,
        "NOT_FOUND",
    )  # fmt: skip


def facts(case: Case) -> CaseFacts:
    first = order(intent(route=case.route) if case.tracked.get("intent", True) else None)
    return CaseFacts(
        case.now,
        case.whole,
        case.made,
        ((NOW, "create", first), (case.now, "read", case.whole.order)),
        REQUEST,
        case.known or DeskFacts(),
        (call(1, f"/v2/orders/{first.service_id}"),),
    )


def named(one: CaseFacts) -> CaseFacts:
    """With a recipient of the address book, a memo and what was paid, where an intent was
    confirmed."""
    if one.tracked.intent is None:
        return one
    known = replace(one.tracked.intent, recipient_label="@landlady", memo="rent for May")
    state = one.tracked.order.model_copy(update={"receiver_tag": "rent for May"})
    own = sent("sent")[0]
    return replace(one, tracked=replace(one.tracked, order=state, intent=known, own_payment=own))


def written(one: CaseFacts, shown: tuple[Shown, ...] = (), **more: Any) -> CaseFile:
    return case_file(one, shown, program=PROGRAM, **more)


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

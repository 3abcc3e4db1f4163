"""One table of everything these operations promise, and the tests that prove it.

A row is a kind and a name on the wire with the tests that prove it, each as
``folder/file.py::test`` below ``tests``, with its case in brackets where the case matters.
:func:`promised` reads the same keys from the code, so that a gap on either side is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from service.proofs.bounds import bounds
from service.proofs.errors import CODES, answers
from service.proofs.inputs import INPUTS
from service.proofs.states import DISPLAY_STATUS, FIELDS, LEG_STATUS, STATUS
from swapdesk.service.openapi import document
from swapdesk.wire.encoding.query import wire_names
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.operation import Operation
from swapdesk.wire.operations import OPERATIONS
from swapdesk.wire.orders import DisplayStatus, LegStatus, OrderStatusCode

Key = tuple[str, str]
"""Kind and name."""

_SECTIONS: dict[str, Mapping[str, tuple[str, ...]]] = {
    "status": STATUS,
    "display status": DISPLAY_STATUS,
    "leg status": LEG_STATUS,
    "order field": FIELDS,
    "error code": CODES,
    "error answer": answers(),
    "input": INPUTS,
    "bound": bounds(),
}

ROWS: dict[Key, tuple[str, ...]] = {
    (kind, name): tests for kind, section in _SECTIONS.items() for name, tests in section.items()
}


@cache
def promised() -> frozenset[Key]:
    """Every state, code, answer, input and bound of the code; unusual fields are chosen by hand."""
    return frozenset(_promised())


def _promised() -> Iterator[Key]:
    for state in OrderStatusCode:
        yield "status", state.name
    for display in DisplayStatus:
        yield "display status", display.value
    for leg in LegStatus:
        yield "leg status", leg.name
    for code in ErrorCode:
        yield "error code", code.value
    served = document("1")
    for operation in OPERATIONS:
        for code in (*operation.errors, ErrorCode.METHOD_NOT_ALLOWED):
            yield "error answer", f"{operation.name} {code}"
        for name in input_names(operation):
            yield "input", f"{operation.name} {name}"
        for name, schema in stated(served, operation):
            for word in words(schema):
                yield "bound", f"{operation.name} {name} {word}"


def input_names(operation: Operation) -> Iterator[str]:
    """Names on the wire of everything a request of the operation may say."""
    models = (operation.path_parameters, operation.query, operation.body)
    for model in models:
        for key, field in ({} if model is None else model.model_fields).items():
            yield wire_names(key, field)[0]


def stated(served: dict[str, Any], operation: Operation) -> Iterator[tuple[str, Any]]:
    """Every input with its schema in the document."""
    described = served["paths"][operation.path][operation.method.lower()]
    for one in described.get("parameters", []):
        yield one["name"], one["schema"]
    body: type[BaseModel] | None = operation.body
    if body is not None:
        yield from served["components"]["schemas"][body.__name__]["properties"].items()


def words(schema: dict[str, Any], of: str = "") -> Iterator[str]:
    """A schema as the words of ``bounds.txt``."""
    writings: dict[str, Callable[[Any], str]] = {
        "type": str,
        "enum": lambda value: "enum=" + "|".join(value),
        "exclusiveMinimum": lambda value: "exclusive",
        "nullable": lambda value: "nullable",
        "default": lambda value: f"default={str(value).lower() if value is False else value}",
    }
    for name, value in schema.items():
        if name == "items":
            yield from words(value, "[]")
        elif name == "allOf" or (name == "anyOf" and schema.get("nullable")):
            # Beside a reference null is an alternative of its own.
            yield from words(value[0], of)
        elif name != "description":
            yield of + writings.get(name, f"{name}={{}}".format)(value)


def gaps(rows: Mapping[Key, tuple[str, ...]]) -> tuple[set[Key], set[Key]]:
    """What is promised without a row, or with one that names no test; and rows of nothing."""
    wanted = set(promised())
    fields = {key for key in rows if key[0] == "order field"}
    proven = {key for key, tests in rows.items() if tests}
    return wanted - proven, set(rows) - wanted - fields


def missing(rows: Mapping[Key, tuple[str, ...]], collected: set[str]) -> set[str]:
    """Named tests that were not collected; a name without a case stands for all its cases."""
    names = collected | {name.partition("[")[0] for name in collected}
    return {test for tests in rows.values() for test in tests} - names

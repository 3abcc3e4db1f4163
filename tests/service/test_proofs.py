"""No state, code, input or bound without a test that proves it.

A test says what it proves by a marker, ``proves``: kinds and names on the wire. Bounds and answers
of errors need none: ``test_bounds`` and ``test_errors`` take each of them from the document and the
table of operations.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from swapdesk.service.openapi import document
from swapdesk.wire.encoding.query import wire_names
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.operations import OPERATIONS
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order, OrderStatusCode

TESTS = Path(__file__).parents[1]
LISTED = Path(__file__).with_name("bounds.txt")
MARKER = "pytest.mark.proves"
LEFT_OUT = {f"pytest.mark.{name}" for name in ("long", "skip", "skipif", "xfail")}
"""Tests that a usual run leaves out; they prove nothing."""


def proven() -> Iterator[str]:
    """What the markers of all tests say."""
    for path in TESTS.rglob("test_*.py"):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source) if MARKER in source else ast.Module([], [])
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                marks = {ast.unparse(each).partition("(")[0]: each for each in node.decorator_list}
                mark = marks.get(MARKER)
                if isinstance(mark, ast.Call) and not LEFT_OUT & marks.keys():
                    yield from (ast.literal_eval(each) for each in mark.args)


def promised() -> Iterator[str]:
    """Every state, code and input of the operations."""
    yield from (f"status {state.name}" for state in OrderStatusCode)
    yield from (f"display {shown.value}" for shown in DisplayStatus)
    yield from (f"leg {state.name}" for state in LegStatus)
    yield from (f"code {code.value}" for code in ErrorCode)
    for operation in OPERATIONS:
        for model in (operation.path_parameters, operation.query, operation.body):
            for key, field in ({} if model is None else model.model_fields).items():
                yield f"input {operation.name} {wire_names(key, field)[0]}"


def test_nothing_is_unproven_and_nothing_is_proven_that_is_gone() -> None:
    found = set(proven())
    fields = {each for each in found if each.startswith("field ")}
    assert found - fields == set(promised())
    there = {each.serialization_alias or each.alias for each in Order.model_fields.values()}
    assert {each.removeprefix("field ") for each in fields} <= there


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


def test_the_bounds_are_those_that_were_written_down() -> None:
    served = document("1")
    stated = {}
    for operation in OPERATIONS:
        described = served["paths"][operation.path][operation.method.lower()]
        for one in described.get("parameters", []):
            stated[f"{operation.name} {one['in']} {one['name']}"] = set(words(one["schema"]))
        if operation.body is not None:
            schema = served["components"]["schemas"][operation.body.__name__]
            for name, inner in schema["properties"].items():
                stated[f"{operation.name} body {name}"] = set(words(inner))
    lines = LISTED.read_text(encoding="utf-8").splitlines()
    listed = [line.split() for line in lines if not line.startswith("#")]
    assert stated == {" ".join(line[:3]): set(line[3:]) for line in listed}


def test_every_operation_succeeds_in_some_test() -> None:
    """By its method of the client, or by its path."""
    sources = [path.read_text() for path in sorted((TESTS / "client").glob("test_*.py"))]
    sources += [path.read_text() for path in sorted((TESTS / "service").rglob("*.py"))]
    unproven = [
        operation.name
        for operation in OPERATIONS
        if not any(
            f"api.{operation.name}(" in source
            or ("{" not in operation.path and f'{operation.path}"' in source)
            or (operation.signed and f'"{operation.path.partition("{")[0]}' in source)
            for source in sources
        )
    ]
    assert not unproven, f"tests/client/test_against_service.py needs: await api.{unproven[0]}(...)"


def test_the_first_version_is_gone() -> None:
    assert "quote" not in {field.alias for field in Order.model_fields.values()}
    assert not [each.path for each in OPERATIONS if "v1" in each.path or each.path == "/status"]

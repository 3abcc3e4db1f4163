"""No state of an order without a test that reaches it; no way of the first version."""

from __future__ import annotations

import ast
from enum import Enum
from pathlib import Path

import pytest

from service.state_table import DISPLAY, FLAGS, LEG, STATUS
from swapdesk.wire.operations import OPERATIONS
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order, OrderStatus

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("states", "table"), [(OrderStatus, STATUS), (DisplayStatus, DISPLAY), (LegStatus, LEG)]
)
def test_every_state_has_its_test(states: type[Enum], table: dict[Enum, tuple[str, str]]) -> None:
    assert set(table) == set(states)


def test_every_flag_is_a_field_of_an_order() -> None:
    fields = {field.serialization_alias or field.alias for field in Order.model_fields.values()}
    assert set(FLAGS) <= fields


def test_every_test_of_the_table_exists() -> None:
    named = {*STATUS.values(), *DISPLAY.values(), *LEG.values(), *FLAGS.values()}
    for path, function in sorted(named):
        tree = ast.parse((TESTS / path).read_text())
        found = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert function in found, (path, function)


def test_the_first_version_is_gone() -> None:
    assert "quote" not in {field.alias for field in Order.model_fields.values()}
    assert not [each.path for each in OPERATIONS if "v1" in each.path or each.path == "/status"]

"""No state, code, input or bound without a test that proves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from service.proofs.table import ROWS, gaps, missing
from swapdesk.wire.operations import OPERATIONS
from swapdesk.wire.orders import Order

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def collected(request: pytest.FixtureRequest) -> dict[str, pytest.Item]:
    """Every case of every file the table names, as pytest itself collects them."""
    found: dict[str, pytest.Item] = {}
    # The fixtures of a folder belong to its node, so nodes that exist already are taken.
    folders = {node.path: node for node in request.node.iter_parents()}
    for file in sorted({test.partition("::")[0] for tests in ROWS.values() for test in tests}):
        path = TESTS / file
        if path.parent not in folders:
            folders[path.parent] = pytest.Dir.from_parent(folders[TESTS], path=path.parent)
        module = pytest.Module.from_parent(folders[path.parent], path=path)
        for item in request.session.genitems(module):
            found[f"{file}::{item.nodeid.partition('::')[2]}"] = item
    return found


def test_nothing_is_unproven_and_nothing_is_proven_that_is_gone() -> None:
    assert gaps(ROWS) == (set(), set())


def test_every_test_of_the_table_exists(collected: dict[str, pytest.Item]) -> None:
    assert missing(ROWS, set(collected)) == set()


def test_no_test_of_the_table_is_left_out_of_a_usual_run(collected: dict[str, pytest.Item]) -> None:
    named = {test for tests in ROWS.values() for test in tests}
    left_out = {"long", "skip", "skipif", "xfail"}
    for name, item in collected.items():
        if name in named or name.partition("[")[0] in named:
            marks = {mark.name for mark in item.iter_markers()}
            assert not marks & left_out, name


# The table itself is held to something


def test_a_test_or_a_case_that_does_not_exist_is_seen(collected: dict[str, pytest.Item]) -> None:
    file = "service/test_bounds.py::test_both_sides_of_every_bound"
    wrong = (file + "s", file + "[get_quotes-query-dateFrom]")
    rows = {("status", "NEW"): (file, file + "[get_quotes-query-to]", *wrong)}
    assert missing(rows, set(collected)) == set(wrong)


# Success


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


# What the table says by hand


def test_every_unusual_field_is_one_of_an_order() -> None:
    fields = {field.serialization_alias or field.alias for field in Order.model_fields.values()}
    assert {name for kind, name in ROWS if kind == "order field"} <= fields


def test_the_first_version_is_gone() -> None:
    assert "quote" not in {field.alias for field in Order.model_fields.values()}
    assert not [each.path for each in OPERATIONS if "v1" in each.path or each.path == "/status"]

"""What is printed: exact numbers, aligned columns, and nothing a terminal acts on."""

from __future__ import annotations

import ast
import io
import json
from decimal import Decimal
from pathlib import Path

import pytest

import swapdesk.cli
from swapdesk.cli.command_error import CommandError, Exit
from swapdesk.cli.output import SCHEMA_VERSION, Form, Output, cells, json_text

HOSTILE = ["\x1b[2J", "\x9b31m", "a\u202eb", "a\u200bb", "\r\b\x7f", "\ud83d", "\U000e0041x", "…é"]


def made(form: Form) -> tuple[Output, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Output(form, stdout=out, stderr=err), out, err


@pytest.mark.parametrize("text", HOSTILE)
def test_json_keeps_the_value_and_hides_the_character(text: str) -> None:
    for value in ({"name": text}, {"name": text, "amount": Decimal(1)}):
        written = json_text(value)
        assert json.loads(written)["name"] == text
        assert written.isprintable()


def test_json_numbers_are_exact() -> None:
    amount = Decimal("123456789012345678.123456789012345678")
    assert json_text({"a": amount, "b": 1}) == '{"a":123456789012345678.123456789012345678,"b":1}'


@pytest.mark.parametrize("form", [Form.TABLE, Form.PLAIN])
@pytest.mark.parametrize("text", HOSTILE)
def test_lines_are_filtered(form: Form, text: str) -> None:
    output, out, err = made(form)
    output.say(text)
    output.talk(text)
    output.table(("name", "n"), [(text, "1"), ("b", "2")], numbers=(1,))
    output.facts([(text, text)])
    output.failure(CommandError(Exit.REFUSED, "X", text, fields={text: {"message": text}}))
    for line in (out.getvalue() + err.getvalue()).split("\n"):
        assert line.isprintable() or "\ufffd" in line
        assert not any(ch in line for ch in "\x1b\x9b\u202e\u200b\r\b\x7f\ud83d")


def test_where_sentences_are_asked_for_a_table_is_one_for_each_row() -> None:
    output, out, _ = made(Form.PLAIN)
    output.table(("row", "amount", "order", "state"), [("1", "150 USDC", "", "ready")])
    output.facts([("Total", "150 USDC"), ("Budget", "")])
    assert out.getvalue().splitlines() == [
        "Row 1, amount 150 USDC, state ready.",
        "Total: 150 USDC",
    ]


def test_columns_are_aligned_by_cells_and_on_the_point() -> None:
    output, out, _ = made(Form.TABLE)
    rows = [("日本", "12.5"), ("a", "1,000"), ("é\u0301", "—")]
    output.table(("name", "amount"), rows, numbers=(1,))
    head, *lines = out.getvalue().splitlines()
    assert lines == ["日本     12.5", "a     1,000", "é\u0301           —"]
    assert head == "NAME   AMOUNT"
    assert cells("日本") == 4


def test_a_failure_says_where_the_money_is_and_the_code_last() -> None:
    output, out, err = made(Form.TABLE)
    error = CommandError(
        Exit.REFUSED, "INVALID_SWAP", "No.", "in your wallet", "you: ask again", 422, "req-1"
    )
    output.failure(error)
    assert out.getvalue() == ""
    assert err.getvalue().splitlines() == [
        "No.",
        "The money is in your wallet.",
        "Next you: ask again.",
        "(INVALID_SWAP, req-1)",
    ]


def test_a_failure_as_json_has_exactly_its_names() -> None:
    output, _, err = made(Form.JSON)
    output.failure(CommandError(Exit.REFUSED, "X", "No.", "here", "you", 422, "r", {"a": {}}))
    assert json.loads(err.getvalue()) == {
        "schemaVersion": SCHEMA_VERSION,
        "error": {
            "code": "X",
            "message": "No.",
            "status": 422,
            "requestId": "r",
            "fields": {"a": {}},
            "money": "here",
            "next": "you",
        },
    }


def test_nothing_else_prints() -> None:
    """One place prints, so one place filters."""
    room = Path(swapdesk.cli.__path__[0])
    for file in room.glob("*.py"):
        tree = ast.parse(file.read_text())
        called = {
            node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
        }
        printing = called & {"print", "echo", "secho", "prompt", "confirm", "input"}
        assert printing == (set() if file.name != "output.py" else {"print"}), file

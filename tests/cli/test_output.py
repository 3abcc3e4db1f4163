"""What is printed: exact numbers, aligned columns, nothing a terminal acts on, also where a
stream is closed or full; and what a person types before something is signed, and what counts as
no."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import click
import pytest
from msgspec.structs import replace

from patience import PATIENCE
from rows import each_row
from swapdesk import cli
from swapdesk.cli.command_error import CommandError, Exit
from swapdesk.cli.main import swapdesk
from swapdesk.cli.output import SCHEMA_VERSION, Exact, Form, Output, cells, json_text
from swapdesk.cli.wallet_session import consent, require_consent, says_yes
from swapdesk.flows.transactions import Agreed
from swapdesk.flows.webhooks import AttemptDocument
from swapdesk.wallet.answers import Match, Review, ReviewLine, RuleFinding, Severity

HOSTILE = ["\x1b[2J", "\x9b31m", "a\u202eb", "a\u200bb", "\r\b\x7f", "\ud83d", "\U000e0041x", "…é"]


def made(form: Form) -> tuple[Output, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Output(form, stdout=out, stderr=err), out, err


@each_row("text", HOSTILE)
def test_json_keeps_the_value_and_hides_the_character(text: str) -> None:
    for value in ({"name": text}, {"name": text, "amount": Decimal(1)}):
        written = json_text(value)
        assert json.loads(written)["name"] == text
        assert written.isprintable()


def test_json_numbers_are_exact() -> None:
    amount = Decimal("123456789012345678.123456789012345678")
    assert json_text({"a": amount, "b": 1}) == '{"a":123456789012345678.123456789012345678,"b":1}'


@each_row("form", ["table", "plain"])
@each_row("text", HOSTILE)
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
    output, out, _ = made("plain")
    output.table(("row", "amount", "order", "state"), [("1", "150 USDC", "", "ready")])
    output.facts([("Total", "150 USDC"), ("Budget", "")])
    assert out.getvalue().splitlines() == [
        "Row 1, amount 150 USDC, state ready.",
        "Total: 150 USDC",
    ]


def test_columns_are_aligned_by_cells_and_on_the_point() -> None:
    output, out, _ = made("table")
    rows = [("日本", "12.5"), ("a", "1,000"), ("é\u0301", "—")]
    output.table(("name", "amount"), rows, numbers=(1,))
    head, *lines = out.getvalue().splitlines()
    assert lines == ["日本     12.5", "a     1,000", "é\u0301           —"]
    assert head == "NAME   AMOUNT"
    assert cells("日本") == 4


def test_a_failure_says_where_the_money_is_and_the_code_last() -> None:
    output, out, err = made("table")
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
    output, _, err = made("json")
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
            "family": "X",
            "noun": "",
        },
    }


def test_nothing_else_prints() -> None:
    """One place prints, so one place filters."""
    room = Path(cli.__path__[0])
    for file in room.glob("*.py"):
        tree = ast.parse(file.read_text())
        called = {
            node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
        }
        printing = called & {"print", "echo", "secho", "prompt", "confirm", "input"}
        assert printing == (set() if file.name != "output.py" else {"print"}), file


def shell(tmp_path: Path, command: str) -> subprocess.CompletedProcess[str]:
    """``swapdesk`` in a line of the shell, with an empty home."""
    line = command.replace("swapdesk", f"{sys.executable} -m swapdesk", 1)
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    return subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=PATIENCE, env=environment
    )


def test_talk_is_never_data_where_standard_error_is_closed(tmp_path: Path) -> None:
    ended = shell(tmp_path, "swapdesk serve 2>&-")
    assert (ended.returncode, ended.stdout) == (2, "")


@each_row("form", ["", "--json"])
def test_a_full_standard_error_keeps_the_exit_code(tmp_path: Path, form: str) -> None:
    ended = shell(tmp_path, f"swapdesk serve {form} 2>/dev/full")
    assert (ended.returncode, ended.stdout) == (2, "")


@each_row(
    "command",
    ["config show >&-", "config show >/dev/full", "config show --json >/dev/full", "--help >&-"],
)
def test_a_standard_output_that_is_closed_or_full_cannot_be_written(
    tmp_path: Path, command: str
) -> None:
    """Not 0, not a defect, and not bad input, which is given again."""
    ended = shell(tmp_path, f"swapdesk {command}")
    assert ended.returncode == 11
    assert "The output could not be written: " in ended.stderr
    assert "NOT_WRITTEN" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("form", ["", "--json", "--plain"])
def test_what_the_encoding_lacks_is_escaped(tmp_path: Path, form: str) -> None:
    home = tmp_path / "\u2192\U0001f680"
    home.mkdir()
    ended = shell(home, f"PYTHONIOENCODING=latin-1 swapdesk config show {form}")
    assert ended.returncode == 0
    assert "/\\u2192\\ud83d\\ude80/" in ended.stdout
    if form == "--json":
        assert json.loads(ended.stdout)["settings"]["home"]["value"].startswith(str(home))


def test_both_full_is_told_by_the_exit_code(tmp_path: Path) -> None:
    assert shell(tmp_path, "swapdesk config show >/dev/full 2>/dev/full").returncode == 11


def test_a_closed_standard_input_is_no_terminal(tmp_path: Path) -> None:
    ended = shell(tmp_path, "swapdesk <&-")
    assert ended.returncode == 2
    assert "NO_TERMINAL" in ended.stderr


def test_a_question_that_nobody_saw_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))
    with open("/dev/full", "w", encoding="utf-8", buffering=1) as full:
        output = Output("table", stderr=full)
        assert output.ask("Create it?") == ""
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())


WRITTEN = {
    "−0.43%": "-0.43%",
    "(−$1,234.50)": "(-$1,234.50)",
    "—": "-",
    "≈ 107.9 XRP": "~ 107.9 XRP",
    "0.5 BTC → 14.5 ETH · 41m": "0.5 BTC -> 14.5 ETH | 41m",
    "net − gas, $61.12 ÷ $3": "net - gas, $61.12 / $3",
    "Δ 0.3%, Halyard Exc…": "diff 0.3%, Halyard Exc...",
    "• ✓ ▲ ↑": "* + ! ^",
    "a\x07b": "a?b",
    # Names mean what they are.
    "café/→x": "caf\\u00e9/\\u2192x",
    "日本": "\\u65e5\\u672c",
    "a–b": "a\\u2013b",
}


@each_row("form", ["table", "plain"])
def test_numbers_and_sentences_are_read_in_ascii(form: Form) -> None:
    out, err = (io.TextIOWrapper(io.BytesIO(), "ascii", "swapdesk-signs") for _ in range(2))
    output = Output(form, stdout=out, stderr=err)
    output.say(*WRITTEN)
    output.talk(*WRITTEN)
    for stream in (out, err):
        assert stream.buffer.getvalue().decode().splitlines() == list(WRITTEN.values())
    output.table(("loss", "end"), [("−0.43%", "·"), ("日本", "·"), ("…", "·")])
    output.facts([("Memo", Exact("— a · b…")), ("Loss", "−1%")])
    output.document(AttemptDocument("−1", "→", "…", 1, 1, problem="·"))
    output.failure(CommandError(Exit.REFUSED, "X", "− →"))
    *lines, memo, loss, document = out.buffer.getvalue().decode().splitlines()[len(WRITTEN) :]
    assert (memo.split()[-4:], loss.split()[-1]) == (["\\u2014", "a", "\\u00b7", "b\\u2026"], "-1%")
    assert json.loads(document)["serviceId"] == "→"
    if form == "table":
        assert len({line.index("|") for line in lines[1:]}) == 1


def test_help_is_ascii() -> None:
    """Where an encoding lacks a sign, click writes UTF-8 all the same."""

    def texts(name: str, command: click.Command, outer: click.Context | None) -> Iterator[str]:
        context = command.make_context(name, [], outer, resilient_parsing=True)
        yield command.get_help(context)
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                yield from texts(inner, command.get_command(context, inner), context)

    whole = "\n".join(texts("swapdesk", swapdesk, None)).splitlines()
    assert len(whole) > 500
    assert [line for line in whole if not line.isascii()] == []


REVIEW = Review(
    id="r1",
    title="Approve",
    account="0xabc",
    chain="Base",
    digest="0x12",
    lines=(ReviewLine("spender", "0xdef", "0xdef", Match.EQUAL),),
    findings=(),
    simulation=None,
    valid_until=datetime(2026, 1, 1, tzinfo=UTC),
)
PHRASED = replace(REVIEW, phrase="send 1 ETH")
REFUSED = replace(REVIEW, findings=(RuleFinding("CHAIN_ID", Severity.REFUSE, "Another chain."),))


class Typist:
    """Types on standard input."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def __call__(self, text: str) -> Output:
        self._monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        return Output("table", stderr=io.StringIO())


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Typist:
    return Typist(monkeypatch)


@each_row("no", ["", "\n", "y\n", "no\n", "YES\n", "Sign\n", "yes please\n", "send 1 eth\n"])
async def test_only_the_word_itself_is_yes(types: Typist, no: str) -> None:
    assert await consent(types(no), REVIEW, yes=False) is None
    assert not says_yes(types(no), "Create this order?")
    assert await consent(types(no), PHRASED, yes=True) is None


async def test_each_question_has_its_own_word(types: Typist) -> None:
    assert await consent(types("sign\n"), REVIEW, yes=False) == Agreed()
    assert await consent(types("yes\n"), REVIEW, yes=False) is None
    assert says_yes(types("yes\n"), "Create this order?")
    assert not says_yes(types("sign\n"), "Create this order?")


async def test_yes_in_advance_types_no_phrase(types: Typist) -> None:
    assert await consent(types(""), REVIEW, yes=True) == Agreed()
    assert await consent(types("send 1 ETH\n"), PHRASED, yes=True) == Agreed("send 1 ETH")


@each_row(
    ("review", "exit_code"),
    [
        (REVIEW, Exit.INTERRUPTED),
        (PHRASED, Exit.OWN_REFUSAL),
        (REFUSED, Exit.OWN_REFUSAL),
    ],
)
async def test_what_was_asked_for_by_name_ends_with_an_exit_code(
    types: Typist, review: Review, exit_code: Exit
) -> None:
    with pytest.raises(CommandError) as ended:
        await require_consent(types("send 1 ETH\n"), review, yes=False, money="in your wallet")
    assert (ended.value.exit, ended.value.money) == (exit_code, "in your wallet")

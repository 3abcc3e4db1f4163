"""Standard streams that the caller closed or that are full: data, talk and exit code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from patience import PATIENCE
from swapdesk.cli.command_error import CommandError, Exit
from swapdesk.cli.main import swapdesk
from swapdesk.cli.output import Exact, Form, Output
from swapdesk.flows.webhooks import AttemptDocument


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


@pytest.mark.parametrize("form", ["", "--json"])
def test_a_full_standard_error_keeps_the_exit_code(tmp_path: Path, form: str) -> None:
    ended = shell(tmp_path, f"swapdesk serve {form} 2>/dev/full")
    assert (ended.returncode, ended.stdout) == (2, "")


@pytest.mark.parametrize("command", ["config show", "config show --json", "--help"])
def test_a_closed_standard_output_cannot_be_written(tmp_path: Path, command: str) -> None:
    ended = shell(tmp_path, f"swapdesk {command} >&-")
    assert ended.returncode == 11
    assert "NOT_WRITTEN" in ended.stderr


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
        output = Output(Form.TABLE, stderr=full)
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


@pytest.mark.parametrize("form", [Form.TABLE, Form.PLAIN])
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
    if form is Form.TABLE:
        assert len({line.index("|") for line in lines[1:]}) == 1


def test_help_is_ascii() -> None:
    """Where an encoding lacks a sign, click writes UTF-8 all the same."""

    def texts(name: str, command: click.Command, outer: click.Context | None) -> Iterator[str]:
        context = command.make_context(name, [], outer, resilient_parsing=True)
        yield command.get_help(context)
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                found = command.get_command(context, inner)
                assert found is not None
                yield from texts(inner, found, context)

    whole = "\n".join(texts("swapdesk", swapdesk, None)).splitlines()
    assert len(whole) > 500
    assert [line for line in whole if not line.isascii()] == []

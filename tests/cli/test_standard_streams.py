"""Standard streams that the caller closed or that are full: data, talk and exit code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE
from swapdesk.cli.output import Form, Output


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

"""A journal of another version, or one that cannot be used: in one sentence, with exit 9."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from cli.desks import InProcess
from flows import old_journals
from swapdesk.flows.journal.journal_migration import SCHEMA_VERSION
from tui.terminal_window import TerminalWindow

NEWER = (
    f"journal.db was written by a newer swapdesk (its version {SCHEMA_VERSION + 1}, this one knows"
    f" {SCHEMA_VERSION}); start that swapdesk again: every order stands in the file, and nothing"
    " was changed."
)


def newer(home: Path) -> Path:
    """The journal of a live profile that nobody answers for."""
    (home / "config.toml").write_text(
        'profile = "main"\n[profiles.main]\nurl = "http://127.0.0.1:9/v2"\npartner_id = "p"\n'
    )
    path = old_journals.written(home / "profiles" / "main" / "journal.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    return path


@pytest.mark.parametrize(
    "words", [("list",), ("show", "oldPaid"), ("export",)], ids=lambda one: one[0]
)
def test_a_command_refuses_a_newer_journal(here: InProcess, words: tuple[str, ...]) -> None:
    path = newer(here.home)
    content = path.read_bytes()
    ended = here("orders", *words, "--json")
    assert ended.code == 9
    assert ended.stdout == ""
    assert ended.error["code"] == "JOURNAL_NEWER"
    assert ended.error["message"] == NEWER
    assert ended.error["money"] == "where it was; every order stands in the journal"
    assert ended.error["next"] == "you: start the newer swapdesk"
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "words",
    [
        ("orders", "list"),
        ("orders", "show", "oldPaid"),
        ("orders", "export", "--out", "kept.csv"),
        ("orders", "watch", "oldPaid"),
        ("orders", "put-away", "oldPaid"),
        ("fund", "oldPaid"),
        ("batch", "status", "a" * 32),
    ],
    ids=" ".join,
)
def test_orders_are_not_told_from_a_journal_that_cannot_be_used(
    here: InProcess, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That none is known would be the file's fault."""
    monkeypatch.chdir(here.home)
    Path("kept.csv").write_text("of yesterday")
    path = old_journals.written(here.home / "profiles" / "sandbox" / "journal.db")
    path.chmod(0o644)
    ended = here(*words, "--json")
    assert (ended.code, ended.error["code"], ended.stdout) == (9, "NO_JOURNAL", "")
    assert ended.error["message"] == (
        "The journal cannot be used: journal.db must be a plain file of mode 0600. Which orders"
        " there are stands in it."
    )
    assert ended.error["money"] == "where it was; nothing was sent"
    assert "swapdesk api GET /orders" in ended.error["next"]
    assert Path("kept.csv").read_text() == "of yesterday"
    assert not (here.home / "sandbox").exists()


def test_no_sandbox_is_started_beside_a_journal_that_is_refused(here: InProcess) -> None:
    path = old_journals.written(here.home / "profiles" / "sandbox" / "journal.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    here.refused(9, "JOURNAL_NEWER", "quote", "1", "btc", "eth")
    assert not (here.home / "sandbox").exists()
    assert not (here.home / "logs").exists()


def test_the_desk_refuses_a_newer_journal(tmp_path: Path) -> None:
    path = newer(tmp_path)
    content = path.read_bytes()
    env = {
        **os.environ,
        "SWAPDESK_HOME": str(tmp_path),
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "PYTHONUTF8": "1",
    }
    window = TerminalWindow([sys.executable, "-m", "swapdesk"], env, 250, 30)
    try:
        window.until(lambda: window.process.poll() is not None, "its end")
        window.read_until_quiet()
        assert window.process.wait() == 9, window.text
        assert NEWER in window.text
    finally:
        window.close()
    assert path.read_bytes() == content

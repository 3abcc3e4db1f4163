"""A desk that only reads ends a command that creates, signs or spends with 9 and does nothing."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from cli.desks import run_here
from cli.scenes import commands
from swapdesk.cli.cli_context import WRITING
from swapdesk.cli.main import swapdesk

READING = {
    "quote", "tokens", "chains", "orders list", "orders export", "orders show", "orders watch",
    "orders put-away", "why", "inspect", "support bundle", "support open", "support diff", "api",
    "batch template", "batch plan", "batch status", "batch export", "serve", "node", "config show",
    "doctor", "completion", "listen", "demo", "tape run", "tour", "trigger NAME", "trigger list",
    "trigger clear", "trigger clock", "account limits", "account commissions", "account volume",
    "account weekly", "account chart", "partner sums",
}  # fmt: skip
"""What works all the same. ``api`` decides by the method of the call."""


def words_for(path: str) -> list[str]:
    """What the command takes at least, so that it is not refused for its words."""
    command = commands()[path]
    words = path.split()
    for one in command.params:
        if isinstance(one, click.Argument) and one.required:
            words += [str(getattr(one.type, "choices", ["1"])[0])] * max(1, one.nargs)
        elif isinstance(one, click.Option) and one.required:
            choices = getattr(one.type, "choices", ["1"])
            words += [one.opts[0], str(choices[0])]
    return words


def test_every_command_is_one_that_writes_or_one_that_reads() -> None:
    assert commands().keys() == WRITING | READING
    assert not WRITING & READING
    assert swapdesk.name == "swapdesk"


@pytest.mark.parametrize("path", sorted(WRITING))
def test_a_writing_command_ends_before_it_does_anything(tmp_path: Path, path: str) -> None:
    told = run_here(*words_for(path), "--read-only", "--json", home=tmp_path)
    assert (told.code, told.error["code"]) == (9, "READ_ONLY"), told
    assert not list(tmp_path.rglob("run.json"))
    assert not list(tmp_path.rglob("*.db")), "no journal was opened"


def test_the_profile_says_it_too_and_calls_that_write_are_refused(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[profiles.sandbox]\nread_only = true\n")
    config.chmod(0o600)
    told = run_here("api", "POST", "/exchanges", "-d", "{}", "--yes", "--json", home=tmp_path)
    assert (told.code, told.error["code"]) == (9, "READ_ONLY"), told
    shown = run_here("config", "show", "--json", home=tmp_path).document["settings"]["read_only"]
    assert shown == {"value": "true", "origin": "profile"}

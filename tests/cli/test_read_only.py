"""A desk that only reads ends a command that creates, signs or spends with 9 and does nothing."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from cli.desks import run_here
from swapdesk.cli.cli_context import EFFECTS, Effect
from swapdesk.cli.contract_commands import commands

WRITING = sorted(name for name, one in EFFECTS.items() if not one.read_only)


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


def test_every_command_has_its_effect() -> None:
    assert commands().keys() == EFFECTS.keys()
    assert {one.effect for one in EFFECTS.values()} == set(Effect)


@pytest.mark.parametrize("path", WRITING)
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

"""Codes and operations stand where a user looks for them: in the help."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from swapdesk.cli.main import swapdesk
from swapdesk.sandbox.tables import ON_CHAIN_NAMES, VENUE_ROWS
from swapdesk.wire.operations import OPERATIONS


def words(*command: str) -> str:
    """The help of a command on one line."""
    answer = CliRunner().invoke(swapdesk, [*command, "--help"], terminal_width=200)
    assert answer.exit_code == 0
    return re.sub(r"\s+", " ", answer.output)


@pytest.mark.parametrize("command", ["quote", "swap", "send"])
def test_every_code_stands_in_the_help_of_what_takes_one(command: str) -> None:
    said = words(command)
    for row in VENUE_ROWS:
        assert f" {row.code} {row.name}" in said
        assert row.enabled or f"{row.name}, not enabled" in said


@pytest.mark.parametrize("command", ["quote", "swap"])
def test_every_on_chain_venue_stands_in_the_help_of_what_finds_their_routes(command: str) -> None:
    said = words(command)
    for code, name in ON_CHAIN_NAMES.items():
        assert f" {code} {name}" in said


def test_every_operation_stands_in_the_help_of_api() -> None:
    said = words("api")
    for one in OPERATIONS:
        assert f"{one.method} {one.path} {one.name}: {one.summary}." in said

"""Every JSON document that a command prints in a test is held against the schema that the program
tells of it, and every error against its table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import jsonschema_rs

from swapdesk.cli.contract_commands import error_codes
from swapdesk.cli.main import commands
from swapdesk.cli.output import json_text
from swapdesk.cli.schemas import document_types, error_schema, schema_of

OF_ALL = {"--profile": 1, "--json": 0, "--plain": 0, "--read-only": 0}


def check_printed(arguments: Sequence[str], stdout: str, stderr: str) -> None:
    """Raises AssertionError for a document that is not as its schema says."""
    if "--json" not in arguments or {"--plain", "-h", "--help"} & set(arguments):
        return
    command = command_of(arguments)
    validator = _of_command(command) if command in document_types() else None
    for line in stdout.splitlines() if validator is not None else ():
        _check(validator, line, command)
    for line in stderr.splitlines():
        # A service that was begun writes its log there, too.
        if line.startswith("{") and not line.startswith('{"time"'):
            _check(_of_errors(), line, "an error")
            told = json.loads(line)["error"]
            # A service, and a call of it, may name whatever it likes.
            assert told["status"] is not None or told["code"] in _codes(), line


def command_of(arguments: Sequence[str]) -> str:
    """``orders list`` of a command line; empty where it names none."""
    words = _words(arguments)
    known = _names()
    if words[:1] == ["trigger"] and len(words) > 1:
        name = f"trigger {words[1]}"
        return name if name in known else "trigger NAME"
    both, one = " ".join(words[:2]), " ".join(words[:1])
    return both if both in known else one if one in known else ""


def _words(arguments: Sequence[str]) -> list[str]:
    """Without the options that may stand before the name of a command."""
    words, skip = list[str](), 0
    for one in arguments:
        if skip:
            skip -= 1
        elif one in OF_ALL:
            skip = OF_ALL[one]
        elif not one.startswith("-"):
            words.append(one)
    return words


@cache
def _names() -> frozenset[str]:
    return frozenset(commands())


@cache
def _codes() -> frozenset[str]:
    return frozenset(one.code for one in error_codes())


@cache
def _of_command(command: str) -> Any:
    return jsonschema_rs.validator_for(json_text(schema_of(command)), validate_formats=True)


@cache
def _of_errors() -> Any:
    return jsonschema_rs.validator_for(json_text(error_schema()), validate_formats=True)


def _check(validator: Any, line: str, command: str) -> None:
    document = json.loads(line)
    if validator.is_valid(document):
        return
    found = [
        f"{'.'.join(map(str, one.instance_path))}: {one.message[:300]}"
        for one in validator.iter_errors(document)
    ]
    raise AssertionError(f"{command} prints what its schema does not say: {'; '.join(found[:5])}")

"""``why`` and ``inspect``: from what a customer pasted to the order, its diagnosis and a reply."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import CliContext, desk_command

F = TypeVar("F", bound=Callable[..., Any])

LONGEST = 1 << 20
"""Bytes of a text that are read from standard input."""


def searching(command: F) -> F:
    """TEXT, and how much of the service may be asked for it."""
    for decorate in (
        click.option(
            "--reads",
            type=click.IntRange(0, 1000),
            default=10,
            show_default=True,
            help="Calls of the service that may be spent. The journal costs none.",
        ),
        click.argument("text", nargs=-1, required=True, shell_complete=completion.open_orders),
    ):
        command = decorate(command)
    return command


@click.command()
@searching
@desk_command
def why(call: CliContext, text: tuple[str, ...], reads: int) -> int:
    """Say why an order is where it is, and what to reply.

    TEXT is whatever names the order: an id, an address, a memo, a transaction hash, a link, a
    request id, an amount with its symbol, or a message with one of these in it. A text of - is
    read from standard input.
    """
    return _search(call, text, reads, whole=False)


@click.command()
@searching
@desk_command
def inspect(call: CliContext, text: tuple[str, ...], reads: int) -> int:
    """As why, with what TEXT was read as, every place searched, and the time line.

    TEXT is whatever names the order, as for why; - is standard input.
    """
    return _search(call, text, reads, whole=True)


def _search(call: CliContext, text: tuple[str, ...], reads: int, *, whole: bool) -> int:
    from swapdesk.cli.session import run_session
    from swapdesk.cli.support_report import report_search

    pasted = sys.stdin.read(LONGEST + 1) if text == ("-",) else " ".join(text)
    return run_session(
        call,
        lambda session: report_search(session, pasted, reads, whole=whole),
        from_journal=True,
    )

"""``api``: any operation of the API by method and path."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from swapdesk.cli.cli_context import CliContext, desk_command, refuse_to_write
from swapdesk.cli.command_error import bad_input
from swapdesk.cli.listed_help import WithOperations


@click.command(cls=WithOperations)
@click.argument("method")
@click.argument("path")
@click.option("-q", "query", multiple=True, metavar="K=V", help="A parameter; repeatable.")
@click.option("-d", "data", metavar="JSON|@FILE|-", help="The body: JSON, a file, or from stdin.")
@click.option("--yes", is_flag=True, help="Allow a call that writes; it is journaled.")
@desk_command
def api(
    call: CliContext, method: str, path: str, query: tuple[str, ...], data: str | None, yes: bool
) -> int:
    """Call one operation under /v2 and print its answer as it came.

    Only reading calls are made without --yes. The answer is JSON in every form.
    """
    pairs = [_pair(text) for text in query]
    body = _body(data) if data is not None else None
    if method.upper() not in ("GET", "HEAD") and not yes:
        raise bad_input("NEEDS_YES", f"{method.upper()} writes; add --yes.", field="yes")
    if method.upper() not in ("GET", "HEAD"):
        refuse_to_write(call)
    from swapdesk.cli.api_call import call_operation
    from swapdesk.cli.session import run_session

    return run_session(
        call, lambda session: call_operation(session, method.upper(), path, pairs, body)
    )


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise bad_input("BAD_PARAMETER", f"Write -q name=value, not {text!r}.", field="q")
    return name, value


def _body(data: str) -> bytes:
    if data == "-":
        return sys.stdin.buffer.read()
    if not data.startswith("@"):
        return data.encode()
    try:
        return Path(data[1:]).read_bytes()
    except OSError as error:
        message = f"{data[1:]} cannot be read: {error.strerror}."
        raise bad_input("BAD_BODY", message, field="d") from None

"""``schema``, ``errors`` and ``commands``: what programs may rely on."""

from __future__ import annotations

import click

from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.command_error import bad_input


@click.command()
@click.argument("command", nargs=-1)
@desk_command
def schema(call: CliContext, command: tuple[str, ...]) -> None:
    """Print the JSON Schema of what COMMAND prints with --json, as "orders list".

    Without a COMMAND it prints all of them by name, and that of an error. It is JSON in every
    form, of the dialect 2020-12. Fields may be added at any time; a new schemaVersion says that one
    was removed or is another one.
    """
    from swapdesk.cli.schemas import DOCUMENTS, OTHER_OUTPUT, SchemaDocument, all_schemas, schema_of

    name = " ".join(" ".join(command).split()).removeprefix("swapdesk ")
    if not name:
        call.output.document(SchemaDocument(all_schemas()))
    elif name in DOCUMENTS:
        call.output.document(SchemaDocument(schema_of(name)))
    elif name in OTHER_OUTPUT:
        said = f"swapdesk {name} {OTHER_OUTPUT[name]}."
        raise bad_input("NO_SCHEMA", said, field="command")
    else:
        below = [one for one in DOCUMENTS if one.startswith(f"{name} ")]
        hint = f" There are {', '.join(below)}." if below else ""
        said = f"There is no command {name!r} with a document.{hint}"
        raise bad_input("NO_SUCH_COMMAND", said, field="command", candidates=below)


@click.command()
@desk_command
def errors(call: CliContext) -> None:
    """List every code that a command can end with: what it means, whether to try again, where the
    money is, who acts next, and the exit code.

    A service may have codes of its own: they are read by their HTTP status.
    """
    from swapdesk.cli.error_codes import report_errors

    report_errors(call.output)


@click.command()
@desk_command
def commands(call: CliContext) -> None:
    """List every command with its arguments, its options, and what it does at most: it moves money,
    spends a limit, changes the desk, or only reads.
    """
    from swapdesk.cli.command_list import report_commands

    report_commands(call.output)

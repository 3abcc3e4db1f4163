"""``why`` and ``inspect``: from what a customer pasted to the order, its diagnosis and a reply."""

from __future__ import annotations

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import on_desk, options

searching = options(
    click.option(
        "--reads",
        type=click.IntRange(0, 1000),
        default=10,
        show_default=True,
        help="Calls of the service that may be spent. The journal costs none.",
    ),
    click.argument("text", nargs=-1, required=True, shell_complete=completion.open_orders),
)
"""TEXT, and how much of the service may be asked for it."""


@click.command()
@searching
@on_desk("support_report:why", from_journal=True)
def why() -> None:
    """Say why an order is where it is, and what to reply.

    TEXT is whatever names the order: an id, an address, a memo, a transaction hash, a link, a
    request id, an amount with its symbol, or a message with one of these in it. A text of - is
    read from standard input.
    """


@click.command()
@searching
@on_desk("support_report:inspect", from_journal=True)
def inspect() -> None:
    """As why, with what TEXT was read as, every place searched, and the time line.

    TEXT is whatever names the order, as for why; - is standard input.
    """

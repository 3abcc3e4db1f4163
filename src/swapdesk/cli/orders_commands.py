"""``orders``: what this desk created or the service lists, and following it to its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.command_error import bad_input

F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def orders() -> None:
    """List, show, watch, export and put away orders."""


SORTINGS = ("deadline", "newest", "oldest", "late", "state", "pair", "amount")


def choosing(command: F) -> F:
    """``--filter`` and ``--sort``, in the language of the tracker."""
    for option in (
        click.option(
            "--sort",
            type=click.Choice(SORTINGS),
            default=SORTINGS[0],
            show_default=True,
            help="The sequence within the groups.",
        ),
        click.option(
            "--filter",
            "words",
            metavar="WORDS",
            default="",
            help='Orders that match every word, as "private hold >1h" or "get:eth -late"; a word'
            " may be part of an address, a hash or a request id.",
        ),
    ):
        command = option(command)
    return command


@orders.command("list")
@choosing
@desk_command
def list_orders(call: CliContext, words: str, sort: str) -> int:
    """Every order of this profile: ended ones that need you, open ones, the other ended ones.

    The journal remembers orders for longer than the 48 hours of the service.
    """
    from swapdesk.cli.order_reports import order_choice, report_orders
    from swapdesk.cli.session import run_session

    choice = order_choice(words, sort)
    return run_session(call, lambda session: report_orders(session, choice), from_journal=True)


@orders.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(("csv", "json")),
    default="csv",
    show_default=True,
    help="How the orders are written.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file (0600, replaced as a whole) instead of standard output.",
)
@choosing
@desk_command
def export(call: CliContext, form: str, out: Path | None, words: str, sort: str) -> int:
    """Orders for other programs, with exact amounts and ISO 8601 times.

    A deposit address that must not be paid is left out.
    """
    from swapdesk.cli.order_reports import export_orders, order_choice
    from swapdesk.cli.session import run_session
    from swapdesk.flows.orders.order_export import ExportForm

    choice = order_choice(words, sort)
    return run_session(
        call,
        lambda session: export_orders(session, ExportForm(form), choice, out),
        from_journal=True,
    )


@orders.command()
@click.argument("order", shell_complete=completion.open_orders)
@desk_command
def show(call: CliContext, order: str) -> int:
    """Show one order by its id or the beginning of one, or by what only this order has: a part of
    an address, a transaction hash or the request id of its create."""
    from swapdesk.cli.order_reports import report_order
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: report_order(session, order), from_journal=True)


@orders.command("put-away")
@click.argument("order", shell_complete=completion.open_orders)
@click.option("--undo", is_flag=True, help="Take it back: it needs you again.")
@desk_command
def put_away(call: CliContext, order: str, undo: bool) -> int:
    """Put a failed order away once it was dealt with; it stays in the journal.

    Only an order whose money is stuck, or whose transaction failed, can be put away. It counts
    again when something else goes wrong with it.
    """
    from swapdesk.cli.order_reports import put_order_away
    from swapdesk.cli.session import run_session

    return run_session(
        call, lambda session: put_order_away(session, order, undo=undo), from_journal=True
    )


@orders.command()
@click.argument(
    "ids", metavar="ID...", nargs=-1, required=True, shell_complete=completion.open_orders
)
@click.option(
    "--until",
    type=click.Choice(("ended", "refunded")),
    default="ended",
    show_default=True,
    help="Whether an expired or failed order is waited on until it is refunded.",
)
@click.option("--timeout", type=float, metavar="SECONDS", help="Stop watching then, with exit 3.")
@desk_command
def watch(call: CliContext, ids: tuple[str, ...], until: str, timeout: float | None) -> int:
    """Follow orders until all have ended and the service has confirmed it.

    One line for each change. Exit 0 when all completed, 10 when one ended otherwise.
    """
    if timeout is not None and not 0 < timeout < float("inf"):
        raise bad_input("BAD_TIMEOUT", "A timeout is above 0 seconds.", field="timeout")
    from swapdesk.cli.order_watch import watch_orders
    from swapdesk.cli.session import run_session

    return run_session(
        call,
        lambda session: watch_orders(session, ids, refunded=until == "refunded", wait=timeout),
        from_journal=True,
    )

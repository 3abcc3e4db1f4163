"""``orders``: what this desk created or the service lists, and following it to its end."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import on_desk, options
from swapdesk.cli.command_error import bad_input

if TYPE_CHECKING:
    from swapdesk.flows.orders.order_listing import FilterLine


@click.group()
def orders() -> None:
    """List, show, watch, export and put away orders."""


SORTINGS = ("deadline", "newest", "oldest", "late", "state", "pair", "amount")


def _filter_line(_: click.Context, option: click.Parameter, words: str) -> FilterLine:
    from swapdesk.flows.orders.order_listing import FilterProblem, read_filter

    try:
        return read_filter(words)
    except FilterProblem as error:
        raise bad_input("BAD_FILTER", str(error), field="filter") from None


choosing = options(
    click.option(
        "--sort",
        type=click.Choice(SORTINGS),
        default=SORTINGS[0],
        show_default=True,
        help="The sequence within the groups.",
    ),
    click.option(
        "--filter",
        "kept",
        callback=_filter_line,
        metavar="WORDS",
        default="",
        help='Orders that match every word, as "private hold >1h" or "get:eth -late"; a word'
        " may be part of an address, a hash or a request id.",
    ),
)
"""``--filter`` and ``--sort``, in the language of the tracker."""


@orders.command("list")
@choosing
@on_desk("order_reports:report_orders", from_journal=True)
def list_orders() -> None:
    """Every order of this profile: ended ones that need you, open ones, the other ended ones.

    The journal remembers orders for longer than the 48 hours of the service.
    """


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
@on_desk("order_reports:export_orders", from_journal=True)
def export() -> None:
    """Orders for other programs, with exact amounts and ISO 8601 times.

    A deposit address that must not be paid is left out.
    """


@orders.command()
@click.argument("order", shell_complete=completion.open_orders)
@on_desk("order_reports:report_order", from_journal=True)
def show() -> None:
    """Show one order by its id or the beginning of one, or by what only this order has: a part of
    an address, a transaction hash or the request id of its create."""


@orders.command("put-away")
@click.argument("order", shell_complete=completion.open_orders)
@click.option("--undo", is_flag=True, help="Take it back: it needs you again.")
@on_desk("order_reports:put_order_away", from_journal=True)
def put_away() -> None:
    """Put a failed order away once it was dealt with; it stays in the journal.

    Only an order whose money is stuck, or whose transaction failed, can be put away. It counts
    again when something else goes wrong with it.
    """


def _seconds(_: click.Context, option: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise bad_input("BAD_TIMEOUT", "A timeout is above 0 seconds.", field="timeout")
    return value


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
@click.option(
    "--timeout",
    type=float,
    callback=_seconds,
    metavar="SECONDS",
    help="Stop watching then, with exit 3.",
)
@on_desk("order_watch:watch_orders", from_journal=True)
def watch() -> None:
    """Follow orders until all have ended and the service has confirmed it.

    One line for each change. Exit 0 when all completed, 10 when one ended otherwise.
    """

"""``orders``: what this desk created or the service lists, and following it to its end."""

from __future__ import annotations

import click

from swapdesk.cli.call import Call, desk_command
from swapdesk.cli.command_error import bad_input


@click.group()
def orders() -> None:
    """List, show and watch orders."""


@orders.command("list")
@desk_command
def list_orders(call: Call) -> int:
    """Every order of this profile: open ones first, then ended ones, newest first.

    The journal remembers orders for longer than the 48 hours of the service.
    """
    from swapdesk.cli.order_reports import report_orders
    from swapdesk.cli.session import run_session

    return run_session(call, report_orders)


@orders.command()
@click.argument("order")
@desk_command
def show(call: Call, order: str) -> int:
    """Show one order by its id, or by the beginning of an id that is unique."""
    from swapdesk.cli.order_reports import report_order
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: report_order(session, order))


@orders.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option(
    "--until",
    type=click.Choice(("ended", "refunded")),
    default="ended",
    show_default=True,
    help="Whether an expired or failed order is waited on until it is refunded.",
)
@click.option("--timeout", type=float, metavar="SECONDS", help="Stop watching then, with exit 3.")
@desk_command
def watch(call: Call, ids: tuple[str, ...], until: str, timeout: float | None) -> int:
    """Follow orders until all have ended and the service has confirmed it.

    One line for each change. Exit 0 when all completed, 10 when one ended otherwise.
    """
    if timeout is not None and not 0 < timeout < float("inf"):
        raise bad_input("BAD_TIMEOUT", "A timeout is above 0 seconds.", field="timeout")
    from swapdesk.cli.order_watch import watch_orders
    from swapdesk.cli.session import run_session

    return run_session(
        call, lambda session: watch_orders(session, ids, refunded=until == "refunded", wait=timeout)
    )

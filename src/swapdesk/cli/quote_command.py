"""``quote``: every route for an amount, best first."""

from __future__ import annotations

from typing import Any

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import on_desk
from swapdesk.cli.command_error import bad_input
from swapdesk.cli.listed_help import WithVenues
from swapdesk.cli.quote_options import (
    RouteWish,
    preset_option,
    read_digits,
    receive_option,
    require_no_options,
    route_options,
    slippage_option,
)

ROUTES = ("standard", "private", "dex")


def _require_sense(*, both: bool, preset: str | None, **options: Any) -> None:
    """Exit 2 for what cannot go together."""
    wish = RouteWish.taken_from(options)
    if both and wish.receive:
        message = "--receive asks for fixed rates; leave out --both."
        raise bad_input("BAD_OPTION", message, field="both")
    typed = bool(options["types"] or options["providers"] or both) or wish != RouteWish()
    require_no_options(preset, typed)


@click.command(cls=WithVenues)
@click.argument("amount", callback=read_digits)
@click.argument("sell", metavar="FROM", shell_complete=completion.tokens)
@click.argument("buy", metavar="TO", shell_complete=completion.tokens)
@route_options
@receive_option
@click.option("--both", is_flag=True, help="Floating and fixed rates; this takes two quotes.")
@click.option(
    "--provider",
    "providers",
    multiple=True,
    metavar="CODE",
    help="Only routes of this exchange; private routes are left out.",
)
@preset_option
@click.option(
    "--type", "types", multiple=True, type=click.Choice(ROUTES), help="Only routes of this type."
)
@slippage_option
@click.option(
    "--account",
    metavar="NAME|ADDR",
    help="The account of the wallet that would sign: routes that pay nobody else are told.",
)
@click.option("--explain", is_flag=True, help="Say of each route why it pays what it pays.")
@on_desk("quote_report:report_quotes", check=_require_sense)
def quote() -> None:
    """Compare routes for selling AMOUNT of FROM for TO.

    A token is SYMBOL, SYMBOL.chain, an id or contract.chain. A quote id can be given to
    "swap --quote" while it is valid: a minute, or ten where something has to be approved first.
    Exit 4 when no route is usable.
    """

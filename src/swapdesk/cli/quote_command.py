"""``quote``: every route for an amount, best first."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import click

from swapdesk.cli import completion
from swapdesk.cli.amount_argument import require_digits
from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.command_error import bad_input
from swapdesk.cli.listed_help import WithVenues
from swapdesk.cli.quote_options import (
    QuoteArguments,
    RouteWish,
    preset_option,
    receive_option,
    require_no_options,
    route_options,
    slippage_option,
)

ROUTES = ("standard", "private", "dex")


@click.command(cls=WithVenues)
@click.argument("amount")
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
@desk_command
def quote(
    call: CliContext,
    amount: str,
    sell: str,
    buy: str,
    types: tuple[str, ...],
    providers: tuple[str, ...],
    both: bool,
    preset: str | None,
    explain: bool,
    slippage: Decimal | None,
    account: str | None,
    **options: Any,
) -> int:
    """Compare routes for selling AMOUNT of FROM for TO.

    A token is SYMBOL, SYMBOL.chain, an id or contract.chain. A quote id can be given to
    "swap --quote" while it is valid: a minute, or ten where something has to be approved first.
    Exit 4 when no route is usable.
    """
    require_digits(amount)
    wish = RouteWish.taken_from(options)
    if both and wish.receive:
        message = "--receive asks for fixed rates; leave out --both."
        raise bad_input("BAD_OPTION", message, field="both")
    typed = bool(types or providers or both) or wish != RouteWish()
    require_no_options(preset, typed)
    request = QuoteArguments(
        amount, sell, buy, types, providers, wish, both, preset, explain, slippage, account
    )
    from swapdesk.cli.quote_report import report_quotes
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: report_quotes(session, request))

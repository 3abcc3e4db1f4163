"""``quote``: every route for an amount, best first."""

from __future__ import annotations

import click

from swapdesk.cli.amount_argument import require_digits
from swapdesk.cli.call import Call, desk_command

ROUTES = ("standard", "private")


@click.command()
@click.argument("amount")
@click.argument("sell", metavar="FROM")
@click.argument("buy", metavar="TO")
@click.option(
    "--type", "types", multiple=True, type=click.Choice(ROUTES), help="Only routes of this type."
)
@desk_command
def quote(call: Call, amount: str, sell: str, buy: str, types: tuple[str, ...]) -> int:
    """Compare routes for selling AMOUNT of FROM for TO.

    A token is SYMBOL, SYMBOL.chain, an id or contract.chain. A quote id can be given to
    "swap --quote" while it is valid, about a minute. Exit 4 when no route is usable.
    """
    require_digits(amount)
    from swapdesk.cli.quote_report import report_quotes
    from swapdesk.cli.session import run_session

    return run_session(call, lambda s: report_quotes(s, amount, sell, buy, types))

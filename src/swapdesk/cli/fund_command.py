"""``fund``: pay the deposit of an order from the wallet of this profile."""

from __future__ import annotations

import click

from swapdesk.cli.call import Call, desk_command
from swapdesk.cli.wallet_commands import passphrase_option


@click.command()
@click.argument("order")
@click.option("--wallet", "account", metavar="NAME|ADDRESS", help="The account that pays.")
@click.option("--yes", is_flag=True, help="Sign without asking; needed in a pipe.")
@passphrase_option
@desk_command
def fund(call: Call, order: str, account: str | None, yes: bool, descriptor: int | None) -> int:
    """Pay the deposit of an order that was created here, from the local wallet.

    Exactly what the order asks for goes to its deposit address, once, and never after its deadline.
    Given again it follows the same transaction and signs no other one.
    """
    from swapdesk.cli.funding import FundRequest, fund_order
    from swapdesk.cli.session import run_session

    request = FundRequest(order, account, yes, descriptor)
    return run_session(call, lambda session: fund_order(session, request), from_journal=True)

"""``sign``: what a wallet would be asked to sign for a quote that was shown."""

from __future__ import annotations

import click

from swapdesk.cli.call import Call, desk_command
from swapdesk.cli.command_error import CommandError, bad_input
from swapdesk.cli.exit_codes import Exit


@click.command()
@click.argument("quote_id", metavar="QUOTE")
@click.option("--dry-run", is_flag=True, help="Needed: signing itself belongs to swap --quote.")
@click.option(
    "--to", default="", metavar="ADDR|@name", help="Who gets the money; else the account."
)
@click.option(
    "--account", "--wallet", "account", metavar="NAME|ADDR", help="Who signs; else the first one."
)
@desk_command
def sign(call: Call, quote_id: str, dry_run: bool, to: str, account: str | None) -> int:
    """Print the unsigned payload of a shown quote of an on-chain route.

    The service is asked what it needs first, and the wallet's gate judges it on the chain as it
    is. Nothing is created, signed or sent. Exit 9 when the gate refuses, 5 for a quote that was
    not shown here within the last hour.
    """
    if not dry_run:
        message = "A signature is given as a step of a swap: use swap --quote, or add --dry-run."
        raise bad_input("NEEDS_DRY_RUN", message, field="dry-run")
    from swapdesk.cli.create_request import CreateRequest, MaxLoss
    from swapdesk.cli.quote_options import RouteWish
    from swapdesk.cli.quote_shelf import QuoteShelf

    shown = QuoteShelf.of(call.settings().places).shown(quote_id.lower())
    if shown is None:
        raise CommandError(
            Exit.NOT_FOUND,
            "QUOTE_NOT_FOUND",
            f"No quote {quote_id} was shown here within the last hour.",
            next="you: ask for new quotes",
            fields={"quote": {"message": "never shown"}},
        )
    board, quote = shown
    if quote.type != "dex":
        message = f"A {quote.type} route is paid by a deposit; there is nothing to sign."
        raise bad_input("NOT_ON_CHAIN", message, field="quote")
    request = CreateRequest(
        amount=f"{board.amount:f}",
        sell=board.token_in,
        buy=board.token_out,
        to=to,
        memo=None,
        memo_waived=False,
        refund=None,
        refund_memo=None,
        types=(),
        provider=None,
        quote_id=quote_id,
        wish=RouteWish(),
        preset=None,
        min_out=None,
        middle_refund=None,
        max_loss=MaxLoss(None),
        accept_warnings=True,
        fund=False,
        yes=False,
        account=account,
        on_chain=True,
        dry_run=True,
    )
    from swapdesk.cli.dex_dry_run import DexDryRun
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: DexDryRun(session, request).run())

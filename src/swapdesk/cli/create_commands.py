"""``swap``, ``send``, ``fund`` and ``sign``: create an order from a quote after the same checks as
the desk, pay its deposit from the wallet, or see what a wallet would sign.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import (
    CliContext,
    WithExchanges,
    WithVenues,
    desk_command,
    on_desk,
    options,
)
from swapdesk.cli.command_error import CommandError, Exit, bad_input
from swapdesk.cli.quote_options import (
    ROUTES,
    CreateRequest,
    preset_option,
    preset_options,
    read_digits,
    read_route,
    receive_option,
    require_middle,
    require_refund,
    route_options,
    slippage_option,
)

NO_MEMO = "NO MEMO"
DEFAULT_MAX_LOSS = "3"


def read_max_loss(context: click.Context, option: click.Parameter, value: str) -> Decimal | None:
    """A percentage from 0 to 100; None for ``any``."""
    if value == "any":
        return None
    try:
        percent = Decimal(value)
    except InvalidOperation:
        raise click.BadParameter(f"{value!r} is neither a number nor any.") from None
    if not (percent.is_finite() and 0 <= percent <= 100):
        raise click.BadParameter("A loss is 0 to 100 percent, or any.")
    return percent


create_options = options(
    route_options,
    preset_option,
    click.option("--yes", is_flag=True, help="Create without asking; needed in a pipe."),
    click.option(
        "--dry-run", is_flag=True, help="Print what would be created or signed, and stop."
    ),
    click.option("--fund", is_flag=True, help="Sandbox: pay the deposit from the faucet."),
    click.option(
        "--accept-warnings",
        is_flag=True,
        help="Use a token that a scan warns of or that is not verified, an address whose money"
        " only a program can move, and a memo that a program may have changed or that is not"
        " the one the address book keeps with a name.",
    ),
    click.option(
        "--max-loss",
        callback=read_max_loss,
        metavar="PCT",
        default=DEFAULT_MAX_LOSS,
        show_default=True,
        help="Largest loss of value in percent, fees included; more is exit 3, and so is a"
        ' loss that is not known. "any" switches this off.',
    ),
    click.option(
        "--min-out",
        callback=read_digits,
        metavar="AMOUNT",
        help="Least to arrive, in the token received: a quote below is exit 3, and an order"
        " that gives less than its quote is accepted down to it.",
    ),
    click.option("--quote", "quote_id", metavar="ID", help="A quote shown a moment ago."),
    click.option(
        "--middle-refund",
        metavar="ADDR",
        shell_complete=completion.payees,
        help="With --use-xmr: where XMR of a private swap that fails half-way comes back to.",
    ),
    click.option("--refund-memo", metavar="M", help="Memo of the refund address."),
    click.option(
        "--refund",
        metavar="ADDR",
        shell_complete=completion.payees,
        help="Where the deposit comes back to.",
    ),
    click.option("--waive-memo", metavar=f'"{NO_MEMO}"', help="The recipient has no memo."),
    click.option("--memo", metavar="M", help="Memo or destination tag of the recipient."),
    click.option(
        "--to",
        metavar="ADDR|@name",
        shell_complete=completion.payees,
        help="Who gets the money: an address, a payment link or @name.",
    ),
)
"""The options both creating commands share."""


@click.command(cls=WithVenues)
@click.argument("amount", callback=read_digits)
@click.argument("sell", metavar="FROM", shell_complete=completion.tokens)
@click.argument("buy", metavar="TO", shell_complete=completion.tokens)
@create_options
@click.option(
    "--type",
    "types",
    multiple=True,
    type=click.Choice(ROUTES),
    help="Only routes of this type.",
)
@click.option("--provider", metavar="CODE", help="The best route of this provider.")
@slippage_option
@click.option(
    "--account",
    "--wallet",
    "account",
    metavar="NAME|ADDR",
    shell_complete=completion.accounts,
    help="With --type dex: the account that signs and pays; else the first one.",
)
@receive_option
@desk_command
def swap(
    call: CliContext,
    amount: str,
    sell: str,
    buy: str,
    types: tuple[str, ...],
    provider: str | None,
    **options: Any,
) -> int:
    """Sell AMOUNT of FROM for TO, or with --receive have AMOUNT of TO arrive.

    The best usable route is taken, unless --type, --provider or --quote choose one. At a
    terminal the order is shown and confirmed with yes; in a pipe --yes is needed.

    With --type dex, or with --quote of such a route, the wallet of this profile swaps: it
    approves, signs and sends what your own checks let pass. Without --to the account itself
    receives. With --dry-run nothing is created, signed or sent: what would be is printed.
    """
    return _create(call, amount, sell, buy, types, provider, **options)


@click.command(cls=WithExchanges)
@click.argument("amount", callback=read_digits)
@click.argument("token", shell_complete=completion.tokens)
@create_options
@desk_command
def send(call: CliContext, amount: str, token: str, **options: Any) -> int:
    """Send AMOUNT of TOKEN privately to another wallet.

    The way leads over two exchanges. At a terminal the order is shown and confirmed
    with yes; in a pipe --yes is needed.
    """
    return _create(call, amount, token, None, (), None, **options)


def named_route(call: CliContext, quote_id: str | None) -> str | None:
    """The route of a quote that was shown; None without one, or for one that never was."""
    if quote_id is None:
        return None
    from swapdesk.cli.quotes import QuoteCache

    shown = QuoteCache.of(call.settings().places).shown(quote_id.lower())
    return None if shown is None else shown[1].type


def _create(
    call: CliContext,
    amount: str,
    sell: str,
    buy: str | None,
    types: tuple[str, ...],
    provider: str | None,
    *,
    waive_memo: str | None,
    **options: Any,
) -> int:
    from swapdesk.flows.quotes.quote_request import PLAIN

    named = named_route(call, options["quote_id"])
    on_chain = types == ("dex",) or named == "dex"
    if options["to"] is None:
        if not on_chain and (named is not None or options["quote_id"] is None):
            raise click.MissingParameter(param_hint="'--to'", param_type="option")
        options["to"] = ""
    for name in ("account", "slippage"):
        if options.get(name) is not None and not on_chain:
            field = name.replace("_", "-")
            raise bad_input("BAD_OPTION", f"--{field} goes with --type dex alone.", field=field)
    if options.get("slippage") is not None and named is not None:
        message = "--slippage belongs to the quote: give it to the command that asks for one."
        raise bad_input("TWO_CHOICES", message, field="slippage")
    if on_chain and options["fund"]:
        raise bad_input("BAD_OPTION", "A swap on chains has no deposit to fund.", field="fund")
    if waive_memo is not None and waive_memo != NO_MEMO:
        raise bad_input("BAD_WAIVER", f'Write --waive-memo "{NO_MEMO}".', field="waive-memo")
    if waive_memo is not None and options["memo"]:
        message = "--memo names one and --waive-memo says there is none: leave out one of them."
        raise bad_input("TWO_CHOICES", message, field="waive-memo")
    if options["quote_id"] is not None and (types or provider is not None):
        message = "--quote chooses one route; leave out --type and --provider."
        raise bad_input("TWO_CHOICES", message, field="quote")
    route = read_route(options, types)
    receive = options.setdefault("receive", False)
    preset = options.pop("preset")
    if options["quote_id"] is not None and (preset is not None or route != PLAIN):
        message = "--quote chooses one route; leave out how quotes are asked for."
        raise bad_input("TWO_CHOICES", message, field="quote")
    if preset is not None:
        route = preset_options(call.settings().places, preset)
    require_refund(options["refund"], route.fixed or receive)
    require_middle(options["middle_refund"], route.use_xmr)
    if not (options["yes"] or options["dry_run"] or call.interactive):
        raise bad_input(
            "NEEDS_YES", "Without a terminal an order is created with --yes only.", field="yes"
        )
    request = CreateRequest(
        amount=amount,
        sell=sell,
        buy=buy,
        provider=provider,
        memo_waived=waive_memo is not None,
        route=route,
        on_chain=on_chain,
        **options,
    )
    from swapdesk.cli.creation import Creation
    from swapdesk.cli.session import run_session

    if request.on_chain:
        from swapdesk.cli.wallet_orders import DexCreation

        return run_session(call, lambda session: DexCreation(session, request).run())
    return run_session(call, lambda session: Creation(session, request).run())


@click.command()
@click.argument("order", shell_complete=completion.open_orders)
@click.option(
    "--wallet",
    "account",
    metavar="NAME|ADDRESS",
    shell_complete=completion.accounts,
    help="The account that pays.",
)
@click.option("--yes", is_flag=True, help="Sign without asking; needed in a pipe.")
@on_desk("wallet_orders:fund_order", from_journal=True)
def fund() -> None:
    """Pay the deposit of an order that was created here, from the local wallet.

    Exactly what the order asks for goes to its deposit address, once, and never after its deadline.
    Given again it follows the same transaction and signs no other one.
    """


@click.command()
@click.argument("quote_id", metavar="QUOTE")
@click.option("--dry-run", is_flag=True, help="Needed: signing itself belongs to swap --quote.")
@click.option(
    "--to",
    default="",
    metavar="ADDR|@name",
    shell_complete=completion.payees,
    help="Who gets the money; else the account.",
)
@click.option(
    "--account",
    "--wallet",
    "account",
    metavar="NAME|ADDR",
    shell_complete=completion.accounts,
    help="Who signs; else the first one.",
)
@desk_command
def sign(call: CliContext, quote_id: str, dry_run: bool, to: str, account: str | None) -> int:
    """Print the unsigned payload of a shown quote of an on-chain route.

    The service is asked what it needs first, and the wallet's gate judges it on the chain as it
    is. Nothing is created, signed or sent. Exit 9 when the gate refuses, 5 for a quote that was
    not shown here within the last hour.
    """
    if not dry_run:
        message = "A signature is given as a step of a swap: use swap --quote, or add --dry-run."
        raise bad_input("NEEDS_DRY_RUN", message, field="dry-run")
    from swapdesk.cli.quotes import QuoteCache
    from swapdesk.flows.quotes.quote_request import PLAIN

    shown = QuoteCache.of(call.settings().places).shown(quote_id.lower())
    if shown is None:
        raise CommandError(
            Exit.NOT_FOUND,
            "QUOTE_NOT_FOUND",
            f"No quote {quote_id} was shown here within the last hour.",
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
        provider=None,
        quote_id=quote_id,
        route=PLAIN,
        receive=False,
        min_out=None,
        middle_refund=None,
        max_loss=None,
        accept_warnings=True,
        fund=False,
        yes=False,
        account=account,
        on_chain=True,
        dry_run=True,
    )
    from swapdesk.cli.session import run_session
    from swapdesk.cli.wallet_orders import DexCreation

    return run_session(call, lambda session: DexCreation(session, request).run())

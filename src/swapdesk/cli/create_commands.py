"""The commands ``swap``, ``send``, ``fund`` and ``sign``. They create an order from a quote after
the same checks as the desk, pay an order's deposit from the wallet, or print what a wallet would
sign."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import (
    CliContext,
    Declared,
    Effect,
    WithLists,
    desk_command,
    named,
    on_desk,
    options,
    read_number,
    reader,
    require,
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

if TYPE_CHECKING:
    from swapdesk.cli.quotes import CachedResult
    from swapdesk.wire.quotes import Quote

NO_MEMO = "NO MEMO"
DEFAULT_MAX_LOSS = "3"


@reader
def read_max_loss(value: str) -> Decimal | None:
    """Returns a percentage from 0 to 100; None for the text ``any``. Raises click.BadParameter for
    any other text."""
    if value == "any":
        return None
    return read_number(
        value,
        lambda percent: 0 <= percent <= 100,
        f"{value!r} is neither a number nor any.",
        "A loss is 0 to 100 percent, or any.",
    )


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
"""The options that the commands ``swap`` and ``send`` have in common."""


@click.command(cls=WithLists, lists=("exchanges", "venues"))
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
@desk_command(
    Declared(
        Effect.MOVES_MONEY,
        prints=(
            "creation:CreatedDocument",
            "creation:CreateDryRunDocument",
            "order_reports:OrderDocument",
            "creation:SwappedDocument",
            "swapdesk.flows.dex.dex_swap:DryRun",
        ),
    )
)
def swap(
    call: CliContext,
    amount: str,
    sell: str,
    buy: str,
    types: tuple[str, ...],
    provider: str | None,
    **options: Any,
) -> int:
    """Sell AMOUNT of FROM for TO; with --receive, AMOUNT of TO is to arrive.

    The best usable route is taken, unless --type, --provider or --quote choose one. At a terminal
    the order is shown and confirmed with yes; in a pipe --yes is needed.

    On a dex route, chosen with --type dex or with --quote, the wallet of this profile makes the
    swap: it approves, signs and sends what passes your own checks. Without --to the account that
    swaps also receives. With --dry-run nothing is created, signed or sent; what would be posted or
    signed is printed.
    """
    return _create(call, amount, sell, buy, types, provider, **options)


@click.command(cls=WithLists, lists=("exchanges",))
@click.argument("amount", callback=read_digits)
@click.argument("token", shell_complete=completion.tokens)
@create_options
@desk_command(
    Declared(
        Effect.MOVES_MONEY,
        prints=(
            "creation:CreatedDocument",
            "creation:CreateDryRunDocument",
            "order_reports:OrderDocument",
        ),
    )
)
def send(call: CliContext, amount: str, token: str, **options: Any) -> int:
    """Send AMOUNT of TOKEN privately to another wallet.

    The route leads over two exchanges. At a terminal the order is shown and confirmed with yes; in
    a pipe --yes is needed.
    """
    return _create(call, amount, token, None, (), None, **options)


def _shown(call: CliContext, quote_id: str) -> tuple[CachedResult, Quote] | None:
    from swapdesk.cli.quotes import QuoteCache

    return QuoteCache.of(call.settings().places).shown(quote_id.lower())


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

    quote_id, slippage = options["quote_id"], options.get("slippage")
    shown = None if quote_id is None else _shown(call, quote_id)
    on_chain = types == ("dex",) or (shown is not None and shown[1].type == "dex")
    if options["to"] is None:
        if not on_chain and (shown is not None or quote_id is None):
            raise click.MissingParameter(param_hint="'--to'", param_type="option")
        options["to"] = ""
    require(
        (options.get("account") is not None and not on_chain, "BAD_OPTION", "account",
         "--account goes with --type dex alone."),
        (slippage is not None and not on_chain, "BAD_OPTION", "slippage",
         "--slippage goes with --type dex alone."),
        (slippage is not None and shown is not None, "TWO_CHOICES", "slippage",
         "--slippage belongs to the quote: give it to the command that asks for one."),
        (on_chain and options["fund"], "BAD_OPTION", "fund",
         "A swap on chains has no deposit to fund."),
        (waive_memo not in (None, NO_MEMO), "BAD_WAIVER", "waive-memo",
         f'Write --waive-memo "{NO_MEMO}".'),
        (waive_memo is not None and bool(options["memo"]), "TWO_CHOICES", "waive-memo",
         "--memo names one and --waive-memo says there is none: leave out one of them."),
        (quote_id is not None and (bool(types) or provider is not None), "TWO_CHOICES", "quote",
         "--quote chooses one route; leave out --type and --provider."),
    )  # fmt: skip
    route = read_route(options, types)
    receive = options.setdefault("receive", False)
    preset = options.pop("preset")
    if quote_id is not None and (preset is not None or route != PLAIN):
        raise bad_input(
            "TWO_CHOICES",
            "--quote chooses one route; leave out how quotes are asked for.",
            field="quote",
        )
    if preset is not None:
        route = preset_options(call.settings().places, preset)
    require_refund(options["refund"], route.fixed or receive)
    require_middle(options["middle_refund"], route.use_xmr)
    if not (options["yes"] or options["dry_run"] or call.interactive):
        raise bad_input(
            "NEEDS_YES", "Without a terminal an order is created with --yes only.", field="yes"
        )
    return _carry_out(
        call,
        CreateRequest(
            amount=amount,
            sell=sell,
            buy=buy,
            provider=provider,
            memo_waived=waive_memo is not None,
            route=route,
            on_chain=on_chain,
            **options,
        ),
    )


def _carry_out(call: CliContext, request: CreateRequest) -> int:
    from swapdesk.cli.session import run_session

    way = named("creation:DexCreation" if request.on_chain else "creation:Creation")
    ended: int = run_session(call, lambda call: way(call, request).run())
    return ended


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
@on_desk(
    "creation:fund_order",
    Declared(Effect.MOVES_MONEY, prints=("creation:FundingDocument",)),
    from_journal=True,
)
def fund() -> None:
    """Pay, from the local wallet, the deposit of an order that was created here.

    Exactly what the order asks for is sent to its deposit address, once, and never after the
    deadline. Run again, the command follows the same transaction and signs no other one.
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
@desk_command(Declared(Effect.ONLY_READS, prints=("swapdesk.flows.dex.dex_swap:DryRun",)))
def sign(call: CliContext, quote_id: str, dry_run: bool, to: str, account: str | None) -> int:
    """Print the unsigned payload for a quote of an on-chain route.

    The service is first asked what the quote needs, and the wallet's gate checks the payload
    against the present state of the chain. Nothing is created, signed or sent. Exit 9 if the gate
    refuses, 5 if the quote was not shown here within the last hour.
    """
    if not dry_run:
        raise bad_input(
            "NEEDS_DRY_RUN",
            "A signature is given as a step of a swap: use swap --quote, or add --dry-run.",
            field="dry-run",
        )
    from swapdesk.flows.quotes.quote_request import PLAIN

    shown = _shown(call, quote_id)
    if shown is None:
        raise CommandError(
            Exit.NOT_FOUND,
            "QUOTE_NOT_FOUND",
            f"No quote {quote_id} was shown here within the last hour.",
            fields={"quote": {"message": "never shown"}},
        )
    answer, quote = shown
    if quote.type != "dex":
        raise bad_input(
            "NOT_ON_CHAIN",
            f"A {quote.type} route is paid by a deposit; there is nothing to sign.",
            field="quote",
        )
    return _carry_out(
        call,
        CreateRequest(
            amount=f"{answer.amount:f}",
            sell=answer.token_in,
            buy=answer.token_out,
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
        ),
    )

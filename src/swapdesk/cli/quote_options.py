"""The options and arguments of ``quote``, ``swap`` and ``send``. They are read without asking a
service."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from swapdesk.cli.cli_context import options, reader
from swapdesk.cli.command_error import CommandError, Exit, bad_input

if TYPE_CHECKING:
    from swapdesk.flows.quotes.quote_request import QuoteOptions
    from swapdesk.paths import ProfilePlaces


ROUTES = ("standard", "private", "dex")


def read_route(
    options: dict[str, Any], types: tuple[str, ...] = (), providers: tuple[str, ...] = ()
) -> QuoteOptions:
    """Removes the route options from ``options`` and returns them as QuoteOptions. Raises
    CommandError (exit 2) if they contradict each other or a preset."""
    from swapdesk.flows.quotes.quote_request import PLAIN, LegFilter, QuoteOptions, Rotation
    from swapdesk.wire.choices import RouteType

    typed = {name: options.pop(name, none) for name, none in _OF_ROUTES.items()}
    turns = {
        "deviation": typed["deviation"],
        "lookback": typed["lookback"],
        "fallback": typed["rotate_fallback"] or None,
    }
    turns = {name: value for name, value in turns.items() if value is not None}
    if turns and not typed["rotate"]:
        raise bad_input(
            "BAD_OPTION",
            "--deviation, --lookback and --rotate-fallback go with --rotate.",
            field="rotate",
        )
    route = QuoteOptions(
        fixed=typed["fixed"] or typed["both"],
        floating=not typed["fixed"] or typed["both"],
        types=tuple(map(RouteType, types)),
        providers=providers,
        markup=typed["markup"],
        use_xmr=typed["use_xmr"],
        rotation=Rotation(**turns) if typed["rotate"] else None,
        in_leg=LegFilter(typed["in_leg"], typed["not_in_leg"]),
        out_leg=LegFilter(typed["out_leg"], typed["not_out_leg"]),
    )
    if options.get("preset") is not None and route != PLAIN:
        raise bad_input(
            "TWO_CHOICES", "--preset brings its own options; leave out the others.", field="preset"
        )
    return route


_OF_ROUTES: dict[str, Any] = {
    "fixed": False,
    "both": False, "markup": None, "use_xmr": None, "rotate": False, "deviation": None,
    "lookback": None, "rotate_fallback": False, "in_leg": (), "not_in_leg": (), "out_leg": (),
    "not_out_leg": (),
}  # fmt: skip
"""The options that choose routes, each with its value if it is not given."""


def read_digits(_: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """Returns the text unchanged. Raises CommandError (exit 2) if it is not an amount."""
    from swapdesk.wire.encoding.numbers import AmountError, parse_amount

    try:
        if text is not None:
            parse_amount(text)
    except AmountError as error:
        name = (option.name or "").replace("_", "-")
        raise bad_amount(error.message, error.position, name) from None
    return text


def bad_amount(message: str, place: int, field: str) -> CommandError:
    whole = f"{message} The mistake is at character {place + 1}."
    return bad_input("BAD_AMOUNT", whole, field=field, place=place)


def _percent(value: str) -> Decimal:
    try:
        percent = Decimal(value)
    except InvalidOperation:
        raise click.BadParameter(f"{value!r} is not a number.") from None
    if not percent.is_finite() or not value.isascii() or not value.replace(".", "", 1).isdigit():
        raise click.BadParameter(f"{value!r} is not written in plain digits.")
    return percent


read_percent = reader(_percent)


@reader
def read_slippage(value: str) -> Decimal | None:
    """Returns the slippage in percent; None for ``auto``, which leaves the choice to the venue."""
    return None if value == "auto" else _percent(value)


slippage_option = click.option(
    "--slippage",
    callback=read_slippage,
    metavar="PCT|auto",
    help="On-chain routes: how far under the quote what arrives may be, 0 to 50 percent;"
    " without it, or with auto, the venue chooses, and more than 0.5 is never signed.",
)
"""The option ``--slippage`` of the commands that ask for on-chain routes."""


route_options = options(
    click.option("--not-out-leg", multiple=True, metavar="CODE",
                 help="Private routes: not this exchange for the second leg."),
    click.option("--out-leg", multiple=True, metavar="CODE",
                 help="Private routes: only this exchange for the second leg."),
    click.option("--not-in-leg", multiple=True, metavar="CODE",
                 help="Private routes: not this exchange for the first leg."),
    click.option("--in-leg", multiple=True, metavar="CODE",
                 help="Private routes: only this exchange for the first leg."),
    click.option("--rotate-fallback", is_flag=True,
                 help="Take a route without rotation when none with it is left."),
    click.option("--lookback", type=int, metavar="N",
                 help="Recent orders whose payout wallets count; 10."),
    click.option("--deviation", callback=read_percent, metavar="PCT",
                 help="Most that rotation may cost in percent; 5."),
    click.option("--rotate", is_flag=True, help="Use another payout wallet each time."),
    click.option("--use-xmr/--no-xmr", "use_xmr", default=None,
                 help="Private routes: the middle is XMR, or is not."),
    click.option("--markup", callback=read_percent, metavar="PCT",
                 help="Your own fee in percent, 0 to 4; the account's default without it."),
    click.option("--fixed", is_flag=True, help="Fixed rates only; they need --refund."),
)  # fmt: skip
"""The options that choose routes, for every command that asks for quotes."""


receive_option = click.option(
    "--receive",
    is_flag=True,
    help="AMOUNT is what is to arrive, in TO; the rate is fixed.",
)
"""The option ``--receive`` of the commands that sell one token for another."""


preset_option = click.option(
    "--preset", metavar="NAME", help="Options kept under this name in the desk."
)
"""The option ``--preset``, which names options that the desk keeps; they are used instead of typed
ones."""


def preset_options(places: ProfilePlaces, name: str) -> QuoteOptions:
    """Returns the options of the preset ``name``. Raises CommandError (exit 5) if no preset has
    this name."""
    from swapdesk.flows.quotes.quote_request import QuotePresets

    presets = QuotePresets.of(places)
    options = presets.find(name)
    if options is not None:
        return options
    names = presets.names()
    raise CommandError(
        Exit.NOT_FOUND,
        "NO_SUCH_PRESET",
        f'No preset is called "{name}".',
        next=f"you: {', '.join(names)}" if names else "you: keep one in the desk, f2",
        fields={"preset": {"message": "not kept"}},
    )


class CreateRequest(Struct, frozen=True):
    """The order that a command line asks for. ``buy`` is None for a private send."""

    amount: str
    sell: str
    buy: str | None
    to: str
    memo: str | None
    memo_waived: bool
    refund: str | None
    refund_memo: str | None
    provider: str | None
    quote_id: str | None
    route: QuoteOptions
    receive: bool
    """True if ``amount`` is the amount that should arrive."""
    min_out: str | None
    middle_refund: str | None
    max_loss: Decimal | None
    """The most value that may be lost, in percent and including fees; None allows any loss."""
    accept_warnings: bool
    fund: bool
    yes: bool
    account: str | None = None
    """The account that signs a swap on chains, by name or address; None for the first one that
    can."""
    on_chain: bool = False
    """True if the wallet of this profile makes the swap on chains."""
    slippage: Decimal | None = None
    dry_run: bool = False
    sender: str | None = None
    """The address of ``account``; None until it is known."""
    receiver: str | None = None
    """The address to which a swap on chains pays; None until it is known."""


def require_middle(refund: str | None, use_xmr: bool | None) -> None:
    if refund and use_xmr is not True:
        raise bad_input(
            "BAD_OPTION",
            "--middle-refund goes with --use-xmr: else the middle of the route is not known.",
            field="middle-refund",
        )


def require_refund(refund: str | None, fixed: bool) -> None:
    if fixed and not refund:
        raise bad_input(
            "BAD_REFUND_ADDRESS",
            "A fixed rate needs --refund: where the deposit comes back to if the swap fails.",
            field="refund",
        )

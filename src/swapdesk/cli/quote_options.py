"""What ``quote``, ``swap`` and ``send`` ask for, as options and arguments; nothing of it needs a
service."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from swapdesk.cli.cli_context import options
from swapdesk.cli.command_error import CommandError, bad_input

if TYPE_CHECKING:
    from swapdesk.flows.quotes.quote_request import QuoteOptions


ROUTES = ("standard", "private", "dex")


class RouteWish(Struct, frozen=True):
    """The options as typed; :meth:`read` checks them against one another."""

    fixed: bool = False
    receive: bool = False
    markup: Decimal | None = None
    use_xmr: bool | None = None
    rotate: bool = False
    deviation: Decimal | None = None
    lookback: int | None = None
    rotate_fallback: bool = False
    in_leg: tuple[str, ...] = ()
    not_in_leg: tuple[str, ...] = ()
    out_leg: tuple[str, ...] = ()
    not_out_leg: tuple[str, ...] = ()

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> RouteWish:
        """The options of this kind, taken out of those of a command."""
        names = [name for name in cls.__struct_fields__ if name in options]
        return cls(**{name: options.pop(name) for name in names})

    @property
    def promises(self) -> bool:
        """Whether a fixed rate is asked for: then a refund address is needed."""
        return self.fixed or self.receive

    def read(self, types: tuple[str, ...] = (), providers: tuple[str, ...] = ()) -> QuoteOptions:
        """Checked; exit 2 for what contradicts."""
        from swapdesk.flows.quotes.quote_request import LegFilter, QuoteOptions, Rotation
        from swapdesk.wire.quotes import RouteType

        turns = (self.deviation, self.lookback, self.rotate_fallback or None)
        if not self.rotate and any(one is not None for one in turns):
            message = "--deviation, --lookback and --rotate-fallback go with --rotate."
            raise bad_input("BAD_OPTION", message, field="rotate")
        rotation = None
        if self.rotate:
            rotation = Rotation(
                Decimal(5) if self.deviation is None else self.deviation,
                10 if self.lookback is None else self.lookback,
                self.rotate_fallback,
            )
        return QuoteOptions(
            fixed=self.promises,
            floating=not self.promises,
            types=tuple(RouteType(name) for name in types),
            providers=providers,
            markup=self.markup,
            use_xmr=self.use_xmr,
            rotation=rotation,
            in_leg=LegFilter(self.in_leg, self.not_in_leg),
            out_leg=LegFilter(self.out_leg, self.not_out_leg),
        )


def read_digits(_: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """As typed. Exit 2 for what is no amount of any token; needs no service."""
    from swapdesk.wire.encoding.numbers import AmountError, parse_amount

    try:
        if text is not None:
            parse_amount(text)
    except AmountError as error:
        name = (option.name or "").replace("_", "-")
        raise bad_amount(error.message, error.position, name) from None
    return text


def bad_amount(message: str, place: int, field: str) -> CommandError:
    said = f"{message} The mistake is at character {place + 1}."
    return bad_input("BAD_AMOUNT", said, field=field, place=place)


def read_percent(
    context: click.Context, option: click.Parameter, value: str | None
) -> Decimal | None:
    """Plain digits; bounds are checked where they are known."""
    if value is None:
        return None
    try:
        percent = Decimal(value)
    except InvalidOperation:
        raise click.BadParameter(f"{value!r} is not a number.") from None
    if not percent.is_finite() or not value.isascii() or not value.replace(".", "", 1).isdigit():
        raise click.BadParameter(f"{value!r} is not written in plain digits.")
    return percent


def read_slippage(
    context: click.Context, option: click.Parameter, value: str | None
) -> Decimal | None:
    """``auto`` leaves it to the venue, as nothing does."""
    return None if value == "auto" else read_percent(context, option, value)


slippage_option = click.option(
    "--slippage",
    callback=read_slippage,
    metavar="PCT|auto",
    help="On-chain routes: how far under the quote what arrives may be, 0 to 50 percent;"
    " without it, or with auto, the venue chooses, and more than 0.5 is never signed.",
)
"""For commands that ask for on-chain routes."""


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
"""The options every command that asks for quotes has."""


receive_option = click.option(
    "--receive",
    is_flag=True,
    help="AMOUNT is what is to arrive, in TO; the rate is fixed.",
)
"""For commands with two tokens."""


preset_option = click.option(
    "--preset", metavar="NAME", help="Options kept under this name in the desk."
)
"""Options that the desk keeps under a name, in place of typed ones."""


def require_no_options(preset: str | None, typed: bool) -> None:
    """Exit 2 where a preset stands beside ``typed`` options of the same kind."""
    if preset is not None and typed:
        message = "--preset brings its own options; leave out the others."
        raise bad_input("TWO_CHOICES", message, field="preset")


class CreateRequest(Struct, frozen=True):
    """What the command line asks for. ``buy`` is None for a private send."""

    amount: str
    sell: str
    buy: str | None
    to: str
    memo: str | None
    memo_waived: bool
    refund: str | None
    refund_memo: str | None
    types: tuple[str, ...]
    provider: str | None
    quote_id: str | None
    wish: RouteWish
    preset: str | None
    min_out: str | None
    middle_refund: str | None
    max_loss: Decimal | None
    """Percent of value that may be lost, fees included; None for any loss."""
    accept_warnings: bool
    fund: bool
    yes: bool
    account: str | None = None
    """Who signs a swap on chains, by name or address."""
    on_chain: bool = False
    """Whether the wallet of this profile swaps: by ``--type dex`` alone, or by its quote."""
    slippage: Decimal | None = None
    dry_run: bool = False
    sender: str | None = None
    """The address of ``account``, once it is known."""
    receiver: str | None = None
    """Who is paid by a swap on chains, once that is known."""


def require_middle(refund: str | None, use_xmr: bool | None) -> None:
    """Exit 2 for an address in the middle of a route whose middle is not chosen."""
    if refund and use_xmr is not True:
        message = "--middle-refund goes with --use-xmr: else the middle of the route is not known."
        raise bad_input("BAD_OPTION", message, field="middle-refund")


def require_refund(refund: str | None, fixed: bool) -> None:
    """Exit 2 for a promised rate without a way back."""
    if fixed and not refund:
        message = "A fixed rate needs --refund: where the deposit comes back to if the swap fails."
        raise bad_input("BAD_REFUND_ADDRESS", message, field="refund")

"""What is asked of the service when quotes are wanted: one object from the line to the answer,
and its words (contract 6.6 to 6.28).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from swapdesk.flows.notation import counted
from swapdesk.wire.quotes import AmountType, PrivateSendQuery, QuoteQuery, RouteType
from swapdesk.wire.tokens import Token

MOST_MARKUP = Decimal(4)
MOST_DEVIATION = Decimal(100)
MOST_LOOKBACK = 100
MOST_PROVIDERS = 100
MOST_SLIPPAGE = Decimal(50)
"""The API takes up to 100; its official tool stops at 50, and so does the desk."""


class WishRefused(ValueError):
    """Options that contradict one another or a bound; ``field`` names the option at fault."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


class Rotation(Struct, frozen=True):
    """Payout wallets of a private route take turns (contract 6.18).

    ``deviation`` is the largest loss in percent, ``lookback`` how many recent orders count,
    ``fallback`` takes a route without rotation when none with it is left.
    """

    deviation: Decimal = Decimal(5)
    lookback: int = 10
    fallback: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.deviation <= MOST_DEVIATION:
            raise WishRefused("deviation", "The deviation is 0 to 100 percent.")
        if not 1 <= self.lookback <= MOST_LOOKBACK:
            raise WishRefused("lookback", "The lookback is 1 to 100 orders.")


class LegFilter(Struct, frozen=True):
    """Provider codes for one leg of a private route: ``only`` these, ``without`` those."""

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.only or self.without)


class QuoteOptions(Struct, frozen=True, kw_only=True):
    """How quotes are asked for, whatever the tokens. Raises WishRefused.

    ``fixed`` and ``floating`` say which rates; both are two calls, merged. ``types`` empty
    means every route type, ``providers`` empty any provider: an allow-list that leaves private
    routes out. ``markup`` in percent, None for the account's default. ``use_xmr`` True pins
    the hop of a private route to XMR, None leaves it to the service.
    """

    fixed: bool = False
    floating: bool = True
    types: tuple[RouteType, ...] = ()
    providers: tuple[str, ...] = ()
    markup: Decimal | None = None
    use_xmr: bool | None = None
    rotation: Rotation | None = None
    in_leg: LegFilter = field(default_factory=LegFilter)
    out_leg: LegFilter = field(default_factory=LegFilter)
    slippage: Decimal | None = None
    """Of on-chain routes, in percent; None to let the venue choose."""
    account: str = ""
    """Of the wallet, by name or address: who pays an on-chain route; empty for the first one."""

    def __post_init__(self) -> None:
        if not (self.fixed or self.floating):
            raise WishRefused("rates", "Choose floating or fixed rates, or both.")
        if self.markup is not None and not 0 <= self.markup <= MOST_MARKUP:
            raise WishRefused("markup", "A markup is 0 to 4 percent.")
        if self.markup is not None and tuple(self.types) == (RouteType.DEX,):
            raise WishRefused("markup", "On-chain routes take no markup.")
        if self.providers and tuple(self.types) == (RouteType.PRIVATE,):
            raise WishRefused("providers", "Private routes name no provider: use the legs.")
        if self.slippage is not None and not 0 <= self.slippage <= MOST_SLIPPAGE:
            raise WishRefused("slippage", f"Slippage is 0 to {MOST_SLIPPAGE} percent, or auto.")
        elsewhere = not self.floating or (self.types and RouteType.DEX not in self.types)
        if self.slippage is not None and elsewhere:
            raise WishRefused("slippage", "Slippage goes with on-chain routes alone.")
        for name, codes in (
            ("providers", self.providers),
            ("in leg", self.in_leg.only + self.in_leg.without),
            ("out leg", self.out_leg.only + self.out_leg.without),
        ):
            if len(codes) > MOST_PROVIDERS:
                raise WishRefused(name, f"At most {MOST_PROVIDERS} providers.")
            twice = next((code for code in codes if codes.count(code) > 1), None)
            if twice is not None:
                raise WishRefused(name, f"{twice} is there twice.")

    @property
    def options(self) -> QuoteOptions:
        """The options alone, without tokens and amount."""
        return QuoteOptions(
            **{name: getattr(self, name) for name in QuoteOptions.__struct_fields__}
        )

    @property
    def rates(self) -> tuple[bool, ...]:
        """``fixed`` of each call that a question takes."""
        return (*((False,) if self.floating else ()), *((True,) if self.fixed else ()))

    @property
    def cost(self) -> int:
        """Calls of the quote budget."""
        return len(self.rates)

    @property
    def to_receive(self) -> QuoteOptions:
        """The same of a question that states what is to be received: a rate that may move cannot
        promise it (contract 6.10)."""
        return replace(self.options, fixed=True, floating=False)

    @property
    def leg_filters(self) -> dict[str, list[str]]:
        """The leg filters by their field names in queries and bodies; empty ones left out."""
        lists = {
            "in_leg_included_swaps": self.in_leg.only,
            "in_leg_excluded_swaps": self.in_leg.without,
            "out_leg_included_swaps": self.out_leg.only,
            "out_leg_excluded_swaps": self.out_leg.without,
        }
        return {name: list(codes) for name, codes in lists.items() if codes}

    def _route_options(self, *, fixed: bool) -> dict[str, Any]:
        options: dict[str, Any] = dict(self.leg_filters)
        if fixed:
            options["fixed"] = True
        if self.markup is not None:
            options["markup"] = self.markup
        if self.use_xmr is not None:
            options["use_xmr"] = self.use_xmr
        if self.rotation is not None:
            options |= {
                "rotate_payout_wallets": True,
                "deviation_threshold": self.rotation.deviation,
                "rotation_lookback": self.rotation.lookback,
                "rotate_fallback": self.rotation.fallback,
            }
        return options


def with_slippage(options: QuoteOptions, slippage: Decimal | None) -> QuoteOptions:
    """``options`` with the slippage of a command, where it names one. Raises WishRefused."""
    return options if slippage is None else replace(options, slippage=slippage)


PLAIN = QuoteOptions()
"""Floating rates of every route, as the account has them."""


class QuoteRequest(QuoteOptions, frozen=True):
    """One question. ``amount`` is what is sold, or with ``receive`` what is to arrive, in token
    units. The same token on both sides, and ``private_send``, ask for private routes only.
    ``sender`` is the account that would sign an on-chain route and ``receiver`` who would be paid,
    as far as they are known (contract 6.6).
    """

    token_in: Token
    token_out: Token
    amount: Decimal
    receive: bool = False
    private_send: bool = False
    sender: str | None = None
    receiver: str | None = None

    def __post_init__(self) -> None:
        if self.receive:
            rates = self.to_receive
            force_setattr(self, "fixed", rates.fixed)
            force_setattr(self, "floating", rates.floating)
        super().__post_init__()
        if self.private_send and self.receive:
            raise WishRefused("receive", "A private send states what is sent.")
        if self.receive and self.route_types == (RouteType.DEX,):
            raise WishRefused("receive", "On-chain routes have no fixed rate.")

    @classmethod
    def of(
        cls,
        options: QuoteOptions,
        token_in: Token,
        token_out: Token,
        amount: Decimal,
        *,
        receive: bool = False,
        private_send: bool = False,
        sender: str | None = None,
        receiver: str | None = None,
    ) -> QuoteRequest:
        """The question with these options; those a private send does not know are left out."""
        values = {name: getattr(options, name) for name in QuoteOptions.__struct_fields__}
        if private_send or token_in.id == token_out.id:
            values |= {"types": (), "providers": (), "slippage": None, "account": ""}
        return cls(token_in, token_out, amount, receive, private_send, sender, receiver, **values)

    @property
    def same_token(self) -> bool:
        return self.token_in.id == self.token_out.id

    @property
    def route_types(self) -> tuple[RouteType, ...]:
        """The route types to ask for; empty for all of them."""
        return (RouteType.PRIVATE,) if self.same_token else tuple(self.types)

    @property
    def asks_on_chain(self) -> bool:
        """Whether on-chain routes are among what is asked for: they have floating rates only."""
        types = self.route_types
        alone = self.private_send or not self.floating
        return not alone and (not types or RouteType.DEX in types)

    def with_options(self, options: QuoteOptions) -> QuoteRequest:
        """The same tokens and amount, asked for otherwise."""
        return QuoteRequest.of(
            options,
            self.token_in,
            self.token_out,
            self.amount,
            receive=self.receive,
            private_send=self.private_send,
            # Another account is another sender.
            sender=self.sender if options.account == self.account else None,
            receiver=self.receiver if options.account == self.account else None,
        )

    def query(self, *, fixed: bool) -> QuoteQuery:
        """Parameters of ``GET /quotes`` for one call; only what was chosen is sent."""
        options = self._route_options(fixed=fixed)
        if self.route_types:
            options["types"] = list(self.route_types)
        if self.providers:
            options["swaps"] = list(self.providers)
        if self.receive:
            options["amount_type"] = AmountType.RECEIVE
        if self.asks_on_chain and not fixed:
            if self.sender is not None:
                options["sender_address"] = self.sender
            if self.receiver is not None:
                options["receiver_address"] = self.receiver
            if self.slippage is not None:
                options["slippage"] = self.slippage
        return QuoteQuery(
            amount=self.amount, from_=self.token_in.id, to=self.token_out.id, **options
        )

    def private_send_query(self, *, fixed: bool) -> PrivateSendQuery:
        """Parameters of ``GET /quotes/private-send`` for one call."""
        return PrivateSendQuery(
            amount=self.amount, from_=self.token_in.id, **self._route_options(fixed=fixed)
        )


Named = Callable[[str], str | None]
"""The name of a provider by its code."""


def options_in_words(options: QuoteOptions, named: Named = lambda code: code) -> str:
    """``fixed and floating, markup 0.5%, only Alder, Birch``; empty for plain options."""
    parts: list[str] = []
    if options.fixed:
        parts.append("fixed and floating" if options.floating else "fixed rates")
    if options.types:
        parts.append(f"only {' and '.join(options.types)}")
    if options.markup is not None:
        parts.append(f"markup {options.markup.normalize():f}%" if options.markup else "no markup")
    if options.providers:
        parts.append(f"only {_names(options.providers, named)}")
    parts += _leg("first leg", options.in_leg, named) + _leg("second leg", options.out_leg, named)
    if options.slippage is not None:
        parts.append(f"slippage {options.slippage.normalize():f}%")
    if options.account:
        parts.append(f"paid by {options.account}")
    if options.use_xmr is not None:
        parts.append(
            "private routes over XMR" if options.use_xmr else "private routes over any coin"
        )
    if options.rotation is not None:
        turn = options.rotation
        strict = "" if turn.fallback else ", or no private route"
        parts.append(
            f"another payout wallet than your last {counted(turn.lookback, 'order')} had, for"
            f" {turn.deviation.normalize():f}% less at most{strict}"
        )
    return ", ".join(parts)


def cost_in_words(asked: QuoteOptions, most: int = 1) -> str:
    """``1 quote``, ``2 quotes``; ``1 to 3 quotes`` where each call may become ``most``."""
    if most > 1:
        return f"{asked.cost} to {asked.cost * most} quotes"
    return "1 quote" if asked.cost == 1 else f"{asked.cost} quotes"


def _names(codes: Sequence[str], named: Named) -> str:
    return ", ".join(named(code) or code for code in codes)


def _leg(name: str, leg: LegFilter, named: Named) -> list[str]:
    said = []
    if leg.only:
        said.append(f"{name} only {_names(leg.only, named)}")
    if leg.without:
        said.append(f"{name} without {_names(leg.without, named)}")
    return said

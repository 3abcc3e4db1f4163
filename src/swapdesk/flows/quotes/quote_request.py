"""What is asked of the service for quotes (contract 6.6 to 6.28), and the options as a person types
and keeps them. A preset keeps the typed texts and is checked like typed input."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from swapdesk.flows.notation import counted
from swapdesk.paths import ProfilePlaces, UnsafePlace, read_private, write_private
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.codec import refuse_deep
from swapdesk.wire.encoding.numbers import AmountError, parse_amount
from swapdesk.wire.quotes import AmountType, PrivateSendQuery, QuoteQuery
from swapdesk.wire.tokens import Token

MOST_MARKUP = Decimal(4)
MOST_DEVIATION = Decimal(100)
MOST_LOOKBACK = 100
MOST_PROVIDERS = 100
MOST_SLIPPAGE = Decimal(50)
"""Largest slippage in percent, as in the API's official tool. The API takes up to 100."""

_PROVIDER_CODE = re.compile(r"[!-+\--~]{1,32}")
MOST_PRESETS = 50
_PRESETS_LIMIT = 256 << 10
_PRESET_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,23}")


class WishRefused(ValueError):
    """Raised if options contradict each other or exceed a bound. ``field`` names the option at
    fault."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


class Rotation(Struct, frozen=True):
    """Payout wallet rotation: a private route pays from a wallet that did not pay the last
    ``lookback`` orders (contract 6.18). ``deviation`` is the largest accepted loss in percent.
    ``fallback`` accepts a route without rotation."""

    deviation: Decimal = Decimal(5)
    lookback: int = 10
    fallback: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.deviation <= MOST_DEVIATION:
            raise WishRefused("deviation", "The deviation is 0 to 100 percent.")
        if not 1 <= self.lookback <= MOST_LOOKBACK:
            raise WishRefused("lookback", "The lookback is 1 to 100 orders.")


class LegFilter(Struct, frozen=True):
    """The providers of one leg of a private route, by code. An empty ``only`` allows all."""

    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.only or self.without)


class QuoteOptions(Struct, frozen=True, kw_only=True):
    """Options of a request for quotes that do not depend on the tokens. Raises WishRefused if they
    contradict each other. Empty ``types`` or ``providers`` mean all, but named providers exclude
    private routes. ``markup`` is in percent; None is the account's default."""

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
    """The slippage of DEX routes in percent; None lets the venue choose."""
    account: str = ""
    """Name or address of the wallet's account that pays a DEX route; empty for the first
    account."""

    def __post_init__(self) -> None:
        types = tuple(self.types)
        markup, slippage = self.markup, self.slippage
        on_chain = self.floating and (not types or RouteType.DEX in types)
        for wrong, name, message in (
            (
                not (self.fixed or self.floating),
                "rates",
                "Choose floating or fixed rates, or both.",
            ),
            (
                markup is not None and not 0 <= markup <= MOST_MARKUP,
                "markup",
                "A markup is 0 to 4 percent.",
            ),
            (
                markup is not None and types == (RouteType.DEX,),
                "markup",
                "On-chain routes take no markup.",
            ),
            (
                self.providers and types == (RouteType.PRIVATE,),
                "providers",
                "Private routes name no provider: use the legs.",
            ),
            (
                slippage is not None and not 0 <= slippage <= MOST_SLIPPAGE,
                "slippage",
                f"Slippage is 0 to {MOST_SLIPPAGE} percent, or auto.",
            ),
            (
                slippage is not None and not on_chain,
                "slippage",
                "Slippage goes with on-chain routes alone.",
            ),
        ):
            if wrong:
                raise WishRefused(name, message)
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
        return QuoteOptions(
            **{name: getattr(self, name) for name in QuoteOptions.__struct_fields__}
        )

    @property
    def rates(self) -> tuple[bool, ...]:
        """For each call to the service: False for floating rates, True for fixed rates."""
        return (*((False,) if self.floating else ()), *((True,) if self.fixed else ()))

    @property
    def cost(self) -> int:
        return len(self.rates)

    @property
    def to_receive(self) -> QuoteOptions:
        """These options with fixed rates only, because no other rate guarantees an output (contract
        6.10)."""
        return replace(self.options, fixed=True, floating=False)

    def _route_options(self, *, fixed: bool) -> dict[str, Any]:
        turn = self.rotation
        rotation = {} if turn is None else {
            "rotate_payout_wallets": True,
            "deviation_threshold": turn.deviation,
            "rotation_lookback": turn.lookback,
            "rotate_fallback": turn.fallback,
        }  # fmt: skip
        return {
            "in_leg_included_swaps": list(self.in_leg.only) or None,
            "in_leg_excluded_swaps": list(self.in_leg.without) or None,
            "out_leg_included_swaps": list(self.out_leg.only) or None,
            "out_leg_excluded_swaps": list(self.out_leg.without) or None,
            "fixed": fixed or None,
            "markup": self.markup,
            "use_xmr": self.use_xmr,
            **rotation,
        }


def with_slippage(options: QuoteOptions, slippage: Decimal | None) -> QuoteOptions:
    return options if slippage is None else replace(options, slippage=slippage)


PLAIN = QuoteOptions()
"""The default options: floating rates, every route type, and the account's defaults."""


class QuoteRequest(QuoteOptions, frozen=True):
    """A request for quotes. ``amount`` is sold, or is to arrive if ``receive`` is True. Equal
    tokens or ``private_send`` ask for private routes only. ``sender`` signs a DEX route and
    ``receiver`` gets the payout; None if unknown (contract 6.6)."""

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
        """Returns a request with ``options``. For a private send, options that do not apply to it
        are reset."""
        values = {name: getattr(options, name) for name in QuoteOptions.__struct_fields__}
        if private_send or token_in.id == token_out.id:
            values |= {"types": (), "providers": (), "slippage": None, "account": ""}
        return cls(token_in, token_out, amount, receive, private_send, sender, receiver, **values)

    @property
    def same_token(self) -> bool:
        return self.token_in.id == self.token_out.id

    @property
    def route_types(self) -> tuple[RouteType, ...]:
        return (RouteType.PRIVATE,) if self.same_token else tuple(self.types)

    @property
    def asks_on_chain(self) -> bool:
        types = self.route_types
        alone = self.private_send or not self.floating
        return not alone and (not types or RouteType.DEX in types)

    def with_options(self, options: QuoteOptions) -> QuoteRequest:
        """Returns a request for the same tokens and amount with ``options``. If the account
        changes, sender and receiver become None."""
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
        """Returns the parameters of ``GET /quotes`` for one call, with either fixed or floating
        rates."""
        on_chain = self.asks_on_chain and not fixed
        options = {
            **self._route_options(fixed=fixed),
            "types": list(self.route_types) or None,
            "swaps": list(self.providers) or None,
            "amount_type": AmountType.RECEIVE if self.receive else None,
            "sender_address": self.sender if on_chain else None,
            "receiver_address": self.receiver if on_chain else None,
            "slippage": self.slippage if on_chain else None,
        }
        return QuoteQuery(
            amount=self.amount, from_=self.token_in.id, to=self.token_out.id, **_chosen(options)
        )

    def private_send_query(self, *, fixed: bool) -> PrivateSendQuery:
        """Returns the parameters of ``GET /quotes/private-send`` for one call, with either fixed or
        floating rates."""
        options = _chosen(self._route_options(fixed=fixed))
        return PrivateSendQuery(amount=self.amount, from_=self.token_in.id, **options)


def _chosen(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


Named = Callable[[str], str | None]
"""A function that returns the name of the provider with a code, or None if it is not known."""


def options_in_words(options: QuoteOptions, named: Named = lambda code: code) -> str:
    """Returns the options in words, as ``fixed and floating, markup 0.5%``; empty if all are the
    defaults. ``named`` returns the name for a provider's code."""
    rates = "fixed and floating" if options.floating else "fixed rates"
    hop = "private routes over XMR" if options.use_xmr else "private routes over any coin"
    markup, slippage, turn = options.markup, options.slippage, options.rotation
    parts = [
        rates if options.fixed else "",
        f"only {' and '.join(options.types)}" if options.types else "",
        "" if markup is None else f"markup {markup.normalize():f}%" if markup else "no markup",
        f"only {_names(options.providers, named)}" if options.providers else "",
        *_leg_in_words("first leg", options.in_leg, named),
        *_leg_in_words("second leg", options.out_leg, named),
        f"slippage {slippage.normalize():f}%" if slippage is not None else "",
        f"paid by {options.account}" if options.account else "",
        hop if options.use_xmr is not None else "",
        _rotation_in_words(turn) if turn is not None else "",
    ]
    return ", ".join(filter(None, parts))


def _rotation_in_words(turn: Rotation) -> str:
    strict = "" if turn.fallback else ", or no private route"
    return (
        f"another payout wallet than your last {counted(turn.lookback, 'order')} had, for"
        f" {turn.deviation.normalize():f}% less at most{strict}"
    )


def cost_in_words(asked: QuoteOptions, most: int = 1) -> str:
    """Returns the cost of a request: ``2 quotes``, or ``1 to 3 quotes`` if a call is made up to
    ``most`` times."""
    if most > 1:
        return f"{asked.cost} to {asked.cost * most} quotes"
    return counted(asked.cost, "quote")


def _names(codes: Sequence[str], named: Named) -> str:
    return ", ".join(named(code) or code for code in codes)


def _leg_in_words(name: str, leg: LegFilter, named: Named) -> list[str]:
    sides = (("only", leg.only), ("without", leg.without))
    return [f"{name} {word} {_names(codes, named)}" for word, codes in sides if codes]


class OptionText(Struct, frozen=True):
    """The short text of an option in the form. ``accepts`` says what may be typed."""

    label: str
    accepts: str
    choices: tuple[str, ...] = ()


OPTIONS: dict[str, OptionText] = {
    "rates": OptionText("Rates", "floating, fixed, or both for 2 quotes", ("", "fixed", "both")),
    "types": OptionText(
        "Routes", "all, or standard, private, dex", ("", "standard", "private", "dex")
    ),
    "markup": OptionText("Markup", "0 to 4 percent; empty as the account has it"),
    "providers": OptionText("Providers", "only these codes, as aa bb; leaves private routes out"),
    "in leg": OptionText("First leg", "private routes: aa bb only these, -cc never"),
    "out leg": OptionText("Second leg", "private routes: aa bb only these, -cc never"),
    "xmr": OptionText("Hop", "private routes: xmr leads them over XMR", ("", "xmr")),
    "rotation": OptionText("Rotation", "another payout wallet each time: on, strict, or as 10 5%"),
    "slippage": OptionText("Slippage", "on-chain routes: 0 to 50 percent, or auto"),
    "account": OptionText("Account", "on-chain routes: name or address of yours that pays"),
}
"""The texts of the options, by the option names that :class:`WishRefused` uses."""


def read_options(texts: Mapping[str, str]) -> QuoteOptions:
    """Returns the options that the typed ``texts`` mean. Raises WishRefused, which names the option
    at fault."""

    def text(name: str) -> str:
        return texts.get(name, "").strip()

    rates = _one_of("rates", text("rates"), ("floating", "fixed", "both"), "floating")
    return QuoteOptions(
        fixed=rates in ("fixed", "both"),
        floating=rates in ("floating", "both"),
        types=_types(text("types")),
        markup=_percent("markup", text("markup")),
        providers=_codes("providers", text("providers")),
        in_leg=_leg("in leg", text("in leg")),
        out_leg=_leg("out leg", text("out leg")),
        use_xmr=_one_of("xmr", text("xmr"), ("xmr", "any"), "any") == "xmr" or None,
        rotation=_rotation(text("rotation")),
        slippage=None if text("slippage") == "auto" else _percent("slippage", text("slippage")),
        account=_account(text("account")),
    )


def written_options(options: QuoteOptions) -> dict[str, str]:
    """Returns the texts from which :func:`read_options` reads these options, by option name. Empty
    texts are left out."""
    turn = options.rotation
    rotation = ""
    if turn is not None:
        last = "" if turn.fallback else " strict"
        rotation = f"{turn.lookback} {turn.deviation.normalize():f}%{last}"
    rates = ("both" if options.floating else "fixed") if options.fixed else ""
    texts = {
        "rates": rates,
        "types": " ".join(options.types),
        "markup": "" if options.markup is None else f"{options.markup:f}",
        "providers": " ".join(options.providers),
        "in leg": _leg_text(options.in_leg),
        "out leg": _leg_text(options.out_leg),
        "xmr": "xmr" if options.use_xmr else "",
        "rotation": rotation,
        "slippage": "" if options.slippage is None else f"{options.slippage:f}",
        "account": options.account,
    }
    return {name: text for name, text in texts.items() if text}


def _one_of(name: str, text: str, words: tuple[str, ...], empty: str) -> str:
    word = text.lower() or empty
    if word not in words:
        raise WishRefused(name, f"Write {', '.join(words[:-1])} or {words[-1]}.")
    return word


def _types(text: str) -> tuple[RouteType, ...]:
    words = [word for word in re.split(r"[ ,]+", text.lower()) if word and word != "all"]
    try:
        return tuple(dict.fromkeys(RouteType(word) for word in words))
    except ValueError:
        raise WishRefused("types", "Write standard, private or dex.") from None


def _percent(name: str, text: str) -> Decimal | None:
    if not text:
        return None
    try:
        return parse_amount(text.removesuffix("%"))
    except AmountError as error:
        raise WishRefused(name, error.message) from None


def _account(text: str) -> str:
    if len(text) > 64 or any(char.isspace() or not char.isprintable() for char in text):
        raise WishRefused("account", "Write the name of an account, or its address.")
    return text


def _codes(name: str, text: str) -> tuple[str, ...]:
    codes = tuple(code for code in re.split(r"[ ,]+", text) if code)
    wrong = next((code for code in codes if not _PROVIDER_CODE.fullmatch(code)), None)
    if wrong is not None:
        raise WishRefused(name, f'"{wrong[:32]}" is no provider code.')
    return codes


def _leg(name: str, text: str) -> LegFilter:
    codes = _codes(name, text)
    only = tuple(code for code in codes if not code.startswith("-"))
    without = tuple(code[1:] for code in codes if code.startswith("-"))
    if "" in without:
        raise WishRefused(name, "Write the code right behind the minus: -aa.")
    return LegFilter(only, without)


def _leg_text(leg: LegFilter) -> str:
    return " ".join((*leg.only, *(f"-{code}" for code in leg.without)))


def _rotation(text: str) -> Rotation | None:
    words = text.lower().split()
    if not words or words == ["off"]:
        return None
    lookback, deviation, fallback = 10, Decimal(5), True
    for word in words:
        if word == "strict":
            fallback = False
        elif word.endswith("%"):
            deviation = _percent("rotation", word) or Decimal(0)
        elif word.isascii() and word.isdigit() and len(word) < 4:
            lookback = int(word)
        elif word != "on":
            raise WishRefused("rotation", "Write on, strict, or 10 5%.")
    try:
        return Rotation(deviation, lookback, fallback)
    except WishRefused as refused:
        raise WishRefused("rotation", refused.message) from None


class QuotePresets(Struct, frozen=True):
    """The presets of one profile, which are kept in a file that only its owner can read."""

    path: Path

    @classmethod
    def of(cls, places: ProfilePlaces) -> QuotePresets:
        return cls(places.root / "quote_presets.json")

    def names(self) -> list[str]:
        return sorted(self._read())

    def find(self, name: str) -> QuoteOptions | None:
        """Returns the options of a preset. None if it does not exist or is invalid."""
        texts = self._read().get(name.lower())
        if texts is None:
            return None
        try:
            return read_options(texts)
        except WishRefused:
            return None

    def put(self, name: str, options: QuoteOptions) -> None:
        """Writes or replaces a preset. Raises WishRefused for an invalid name, or for more than
        :data:`MOST_PRESETS` presets."""
        wanted = name.lower()
        if not _PRESET_NAME.fullmatch(wanted):
            raise WishRefused("preset", "A name has letters, digits and -, at most 24.")
        kept = self._read()
        if wanted not in kept and len(kept) >= MOST_PRESETS:
            raise WishRefused("preset", f"There are {MOST_PRESETS} presets already.")
        kept[wanted] = written_options(options)
        text = json.dumps(kept, indent=1, sort_keys=True)
        write_private(self.path, text.encode(), replace=True)

    def _read(self) -> dict[str, Mapping[str, str]]:
        try:
            kept = read_private(self.path, limit=_PRESETS_LIMIT)
            refuse_deep(kept)
            document = json.loads(kept)
        except (FileNotFoundError, UnsafePlace, ValueError):
            return {}
        if not isinstance(document, dict):
            return {}
        return {name: texts for name, texts in document.items() if _are_texts(texts)}


def _are_texts(texts: object) -> bool:
    return isinstance(texts, dict) and all(
        name in OPTIONS and isinstance(text, str) for name, text in texts.items()
    )

"""Options under a name, kept for the profile: a set of providers, legs, rates.

What is kept is what a person typed: the texts of :mod:`swapdesk.flows.quotes.quote_presets`, so
that a file of an older desk is read and checked like typing.

Quote options as a person types them, one short text each, read strictly.

The same texts serve the form of the desk, the presets and the refusals; a command line has
options of its own and the same words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from msgspec import Struct

from swapdesk.flows.quotes.quote_request import LegFilter, QuoteOptions, Rotation, WishRefused
from swapdesk.paths import ProfilePlaces, UnsafePlace, read_private, write_private
from swapdesk.wire.encoding.codec import refuse_deep
from swapdesk.wire.encoding.numbers import AmountError, parse_amount
from swapdesk.wire.quotes import RouteType

_CODE = re.compile(r"[!-+\--~]{1,32}")


class OptionText(Struct, frozen=True):
    """``accepts`` says in words what may be typed; ``choices`` are walked through by a key."""

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
"""By the names that :class:`WishRefused` uses."""


def read_options(texts: Mapping[str, str]) -> QuoteOptions:
    """The options of these texts; a missing one is empty. Raises WishRefused, naming the text."""

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
    """The texts that :func:`read_options` reads as these options; empty ones left out."""
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
    wrong = next((code for code in codes if not _CODE.fullmatch(code)), None)
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


LONGEST_NAME = 24
MOST = 50
_LIMIT = 256 << 10
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,23}")


class QuotePresets(Struct, frozen=True):
    """The file of one profile, readable by its owner alone."""

    path: Path

    @classmethod
    def of(cls, places: ProfilePlaces) -> QuotePresets:
        return cls(places.root / "quote_presets.json")

    def names(self) -> list[str]:
        return sorted(self._read())

    def find(self, name: str) -> QuoteOptions | None:
        """The options of a name; None when there are none, or none that can be used."""
        texts = self._read().get(name.lower())
        if texts is None:
            return None
        try:
            return read_options(texts)
        except WishRefused:
            return None

    def put(self, name: str, options: QuoteOptions) -> None:
        """Keep options, replacing those of the same name. Raises WishRefused for a bad name."""
        wanted = name.lower()
        if not _NAME.fullmatch(wanted):
            raise WishRefused("preset", "A name has letters, digits and -, at most 24.")
        kept = self._read()
        if wanted not in kept and len(kept) >= MOST:
            raise WishRefused("preset", f"There are {MOST} presets already.")
        kept[wanted] = written_options(options)
        text = json.dumps(kept, indent=1, sort_keys=True)
        write_private(self.path, text.encode(), replace=True)

    def _read(self) -> dict[str, Mapping[str, str]]:
        """What is kept; a file that cannot be used is as good as an empty one."""
        try:
            kept = read_private(self.path, limit=_LIMIT)
            refuse_deep(kept)
            found = json.loads(kept)
        except (FileNotFoundError, UnsafePlace, ValueError):
            return {}
        if not isinstance(found, dict):
            return {}
        return {name: texts for name, texts in found.items() if _are_texts(texts)}


def _are_texts(texts: object) -> bool:
    return isinstance(texts, dict) and all(
        name in OPTIONS and isinstance(text, str) for name, text in texts.items()
    )

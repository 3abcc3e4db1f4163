"""Finds the amounts in a text, so that they can be hidden.

A number is an amount if it has a fraction, a currency sign, a thousands separator or a unit such as
M, if a token's symbol follows it, or if a name such as ``amount`` precedes it. Times, ages,
percentages, ids and counts of things such as orders, rows or gas are not hidden.
"""

from __future__ import annotations

import re
from collections.abc import Callable

DOTS = "•••"
"""The text shown in place of an amount."""
HIDDEN = "\ue000"
"""Stands for each character of a hidden amount until drawn; occurs in no other text."""

_NUMBER = re.compile(
    r"(?<![\w.,:/#-])(?P<sign>[<≈~−+-]{0,2}\$?)(?P<digits>\d++(?:[.,]\d++)*+)(?P<unit>[KMBT]?)"
    r"(?![\w/%]|:\d)"
)
_THOUSANDS = re.compile(r",\d{3}(?!\d)")
_SYMBOL = re.compile(r"(?:(?: to |–)[\d,.]+)? +([A-Za-z][A-Za-z0-9.$]{1,11})(?![\w:])")
_COUNTED = re.compile(
    r"(?: of [\d,]+ left|(?: open| more)? (?:rows?|orders?|problems?|files?|tokens?|chains?|entries"
    r"|characters|confirmations|requests?|calls?|blocks?|gas|left|of [\d,]+ by))(?!\w)"
)
"""Matches the noun after a count, such as ``orders``; a count is no amount."""
_JSON_AMOUNT = re.compile(
    r'(?i)"[^"]*(?:amount|usd|price|balance|limit|min|max|fee|gas)[^"]*": "?(-?\d[\d.eE+-]*)'
)
_DIGITS = r"(\d+(?:,\d{3})*(?:\.\d+)?)"
_NAMED_AMOUNT = re.compile(rf'(?i)amount\w*(?:=|":| )"?{_DIGITS}(?: to {_DIGITS})?(?![\w%])')
"""Matches an amount after its name, such as ``amount=0.5`` in a URL."""
_NO_SYMBOLS = frozenset(
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "UTC")
)

Known = Callable[[str], bool]
"""A function that returns True if a word is the symbol of a token."""


def unknown(word: str) -> bool:
    """Returns False for every word. Callers of :func:`hide_numbers` that know no token symbols use
    it."""
    return False


def without_amounts(text: str, is_symbol: Known = unknown) -> str:
    """Returns the text with three dots for each amount. ``is_symbol`` recognises token symbols."""
    return re.sub(f"{HIDDEN}+", DOTS, hide_numbers(hide_named_amounts(text), is_symbol))


def hide_named_amounts(text: str) -> str:
    """Replaces each character of an amount that follows its name, as in ``amount=0.5``, by
    ``HIDDEN``."""
    text = _JSON_AMOUNT.sub(lambda m: m[0][: m.start(1) - m.start()] + HIDDEN * len(m[1]), text)
    return _NAMED_AMOUNT.sub(_named_amount, text)


def hide_numbers(text: str, is_symbol: Known = unknown) -> str:
    """Replaces each character of an amount by ``HIDDEN``. Amounts are numbers like ``$5`` or
    ``0.5``, and numbers before a token's symbol."""
    return _NUMBER.sub(lambda match: _amount(match, is_symbol), text)


def _amount(match: re.Match[str], is_symbol: Known) -> str:
    sign, digits, unit = match["sign"], match["digits"], match["unit"]
    if not sign and not unit and _is_count(match):
        return match[0]
    if "$" in sign or unit or _has_fraction(digits) or _symbol_follows(match, is_symbol):
        return HIDDEN * len(match[0])
    return match[0]


def _is_count(match: re.Match[str]) -> bool:
    text = match.string
    if "." in match["digits"]:
        return False
    return (
        text.endswith("block ", 0, match.start()) or _COUNTED.match(text, match.end()) is not None
    )


def _has_fraction(digits: str) -> bool:
    if _THOUSANDS.search(digits):
        return True
    return digits.count(".") == 1 or ("." in digits and "," in digits)


def _named_amount(match: re.Match[str]) -> str:
    text = match[0]
    for group in (1, 2):
        if match[group] is not None:
            begin, end = (at - match.start() for at in match.span(group))
            text = text[:begin] + HIDDEN * (end - begin) + text[end:]
    return text


def _symbol_follows(match: re.Match[str], is_symbol: Known) -> bool:
    word = _SYMBOL.match(match.string, match.end())
    if word is None or word[1] in _NO_SYMBOLS:
        return False
    capitals = sum(char.isupper() for char in word[1])
    return capitals >= 2 or is_symbol(word[1])

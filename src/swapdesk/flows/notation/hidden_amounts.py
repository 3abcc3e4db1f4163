"""Which characters of a text are an amount, so that it can be hidden.

A number counts as an amount when it has a fraction, a currency sign, thousands or a symbol behind
it, or stands behind the name of one. Times, ages, counts, percentages and ids stay: thousands of
orders, rows or gas are no amount.
"""

from __future__ import annotations

import re
from collections.abc import Callable

DOTS = "•••"
"""What every amount is drawn as."""
HIDDEN = "\ue000"
"""Stands for one character of an amount until the amount is drawn; no text is shown with it."""

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
"""What stands behind a count, which may have thousands."""
_JSON_AMOUNT = re.compile(
    r'(?i)"[^"]*(?:amount|usd|price|balance|limit|min|max|fee|gas)[^"]*": "?(-?\d[\d.eE+-]*)'
)
_DIGITS = r"(\d+(?:,\d{3})*(?:\.\d+)?)"
_NAMED_AMOUNT = re.compile(rf'(?i)amount\w*(?:=|":| )"?{_DIGITS}(?: to {_DIGITS})?(?![\w%])')
"""Behind its name, as in the address of a call, in its body and in the history of an order."""
_NO_SYMBOLS = frozenset(
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "UTC")
)

Known = Callable[[str], bool]
"""Whether a word is the symbol of a token."""


def unknown(word: str) -> bool:
    """No symbols are known: only words in capitals count as one."""
    return False


def without_amounts(text: str, known: Known = unknown) -> str:
    """The text with three dots in place of each amount."""
    return re.sub(f"{HIDDEN}+", DOTS, hide_numbers(hide_named_amounts(text), known))


def hide_named_amounts(text: str) -> str:
    """Those behind their name, each character as ``HIDDEN``."""
    text = _JSON_AMOUNT.sub(lambda m: m[0][: m.start(1) - m.start()] + HIDDEN * len(m[1]), text)
    return _NAMED_AMOUNT.sub(_named_amount, text)


def hide_numbers(text: str, known: Known = unknown) -> str:
    """Those that their form or the symbol behind them tells."""
    return _NUMBER.sub(lambda match: _amount(match, known), text)


def _amount(match: re.Match[str], known: Known) -> str:
    sign, digits, unit = match["sign"], match["digits"], match["unit"]
    if not sign and not unit and _is_count(match):
        return match[0]
    if "$" in sign or unit or _has_fraction(digits) or _symbol_follows(match, known):
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
    """Whether there is a fraction or a group of thousands; ``127.0.0.1`` and ``3,4`` have none."""
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


def _symbol_follows(match: re.Match[str], known: Known) -> bool:
    word = _SYMBOL.match(match.string, match.end())
    if word is None or word[1] in _NO_SYMBOLS:
        return False
    capitals = sum(char.isupper() for char in word[1])
    return capitals >= 2 or known(word[1])

"""Amounts drawn as ``•••`` and addresses as their first and last group.

Masking is the last step before cells are painted, so no page can forget it. Columns stay where they
are: all masks have one width, and the gaps of a line make up the difference. Nothing that is
copied, stored or sent is touched.

A number counts as an amount when it has a fraction, a currency sign, thousands, a column of amounts
around it, or a symbol behind it. Times, ages, counts, percentages and ids stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rich.cells import cell_len

from swapdesk.tui.spans import Line, Span, cut, plain_text, width_of

DOTS = "•••"
"""What every amount is drawn as."""
HIDDEN = "\ue000"
"""Stands for one character of an amount until the amount is drawn; no text is shown with it."""
_STOP = re.compile(rf"{HIDDEN}+|(?<=\S)  +")
_LEAST_GAP = 1


@dataclass(frozen=True, slots=True)
class Edit:
    """``text`` in place of the characters from ``begin`` to ``end``."""

    begin: int
    end: int
    text: str


def even(text: str, hidden: str) -> list[Edit]:
    """The edits of ``hidden``, which is ``text`` with amounts as ``HIDDEN``, from left to right.

    A mask behind a gap ends where its number ended, as in a column; one inside a sentence moves
    what follows it, up to the next gap or the end of the line.
    """
    edits: list[Edit] = []
    owed, gap = 0, None
    """Cells by which the line is longer so far, and the gap that ends here."""
    for stop in _STOP.finditer(hidden):
        begin, end = stop.span()
        if hidden[begin] != HIDDEN:
            gap = (begin, end)
            if end == len(hidden) or hidden[end] != HIDDEN:
                owed = _settled(edits, gap, owed)
            continue
        owed += len(DOTS) - cell_len(text[begin:end])
        if gap is not None and gap[1] == begin:
            owed = _settled(edits, gap, owed)
        edits.append(Edit(begin, end, DOTS))
    if owed < 0:
        edits.append(Edit(len(hidden), len(hidden), " " * -owed))
    return edits


def _settled(edits: list[Edit], gap: tuple[int, int], owed: int) -> int:
    """Take from a gap what is owed, or give it; what it has not is owed on."""
    begin, end = gap
    if owed < 0:
        edits.append(Edit(end - 1, end, " " * (1 - owed)))
        return 0
    taken = min(owed, end - begin - _LEAST_GAP)
    if taken:
        edits.append(Edit(end - taken, end, ""))
    return owed - taken


DOT = "•"

_NUMBER = re.compile(
    r"(?<![\w.,:/#-])(?P<sign>[<≈~−+-]{0,2}\$?)(?P<digits>\d++(?:[.,]\d++)*+)(?P<unit>[KMBT]?)"
    r"(?![\w/%]|:\d)"
)
_THOUSANDS = re.compile(r",\d{3}(?!\d)")
_SYMBOL = re.compile(r"(?:(?: to |–)[\d,.]+)? +([A-Za-z][A-Za-z0-9.$]{1,11})(?![\w:])")
_JSON_AMOUNT = re.compile(
    r'(?i)"[^"]*(?:amount|usd|price|balance|limit|min|max|fee|gas)[^"]*": "?(-?\d[\d.eE+-]*)'
)
_DIGITS = r"(\d+(?:,\d{3})*(?:\.\d+)?)"
_NAMED_AMOUNT = re.compile(rf'(?i)amount\w*(?:=|":| )"?{_DIGITS}(?: to {_DIGITS})?(?![\w%])')
"""Behind its name, as in the address of a call, in its body and in the history of an order."""
_GROUPS = re.compile(
    r"(?<![0-9A-Za-z])(?:0x )?[0-9A-Za-z]{3,4}(?: [0-9A-Za-z]{4}){3,}(?: [0-9A-Za-z]{1,3})?"
    r"(?![0-9A-Za-z])"
)
_LONG = re.compile(r"(?<![0-9A-Za-z])[0-9A-Za-z]{25,}(?![0-9A-Za-z])")
_NO_SYMBOLS = frozenset(
    ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "UTC")
)
KEPT = 4
"""Characters of an unbroken address that stay at each end."""

Known = Callable[[str], bool]
"""Whether a word is the symbol of a token."""


def unknown(word: str) -> bool:
    """No symbols are known: only words in capitals count as one."""
    return False


def masked(line: Line, known: Known = unknown, room: int = 0) -> Line:
    """The line with its amounts and addresses hidden, as wide as before where it has a gap; where
    it has none it takes of the ``room`` cells behind it, and without that its end is cut."""
    text = plain_text(line)
    hidden = _hidden(text, known)
    whole = [span for span in line if span.amount]
    if hidden == text and not whole:
        return line
    if whole:
        hidden = _with_cells(line, hidden)
    shown = _applied(line, hidden, even(text, hidden))
    return cut(shown, width_of(text) + room)


def masked_text(text: str, known: Known = unknown, room: int = 0) -> str:
    """As :func:`masked`, of plain text."""
    return plain_text(masked([Span(text)], known, room))


def _hidden(text: str, known: Known) -> str:
    """As long, each amount as so many ``HIDDEN``, addresses by their ends."""
    if not any(char.isdigit() for char in text) and len(text) < 25:
        return text
    text = _JSON_AMOUNT.sub(lambda m: m[0][: m.start(1) - m.start()] + HIDDEN * len(m[1]), text)
    text = _NAMED_AMOUNT.sub(_named_amount, text)
    text = _GROUPS.sub(_address, text)
    text = _LONG.sub(lambda m: m[0][:KEPT] + DOT * (len(m[0]) - 2 * KEPT) + m[0][-KEPT:], text)
    return _NUMBER.sub(lambda match: _amount(match, known), text)


def _applied(line: Line, hidden: str, edits: list[Edit]) -> Line:
    """Each edit belongs to the span in which it begins."""
    shown: Line = []
    at, next_edit, done = 0, 0, 0
    for place, span in enumerate(line):
        end, parts = at + len(span.text), []
        last = place == len(line) - 1
        begin = max(at, done)
        while next_edit < len(edits) and (edits[next_edit].begin < end or last):
            edit = edits[next_edit]
            parts += [hidden[begin : edit.begin], edit.text]
            begin = done = edit.end
            next_edit += 1
        parts.append(hidden[begin:end])
        shown.append(Span("".join(parts), span.role, span.bold))
        at = end
    return shown


def _amount(match: re.Match[str], known: Known) -> str:
    sign, digits, unit = match["sign"], match["digits"], match["unit"]
    if "$" in sign or unit or _has_fraction(digits) or _symbol_follows(match, known):
        return HIDDEN * len(match[0])
    return match[0]


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


def _address(match: re.Match[str]) -> str:
    groups = match[0].split(" ")
    prefix = 1 if groups[0] == "0x" else 0
    telling = sum(not (group.isalpha() and group.islower()) for group in groups)
    if telling * 2 < len(groups):
        # Words of four letters are no address.
        return match[0]
    middle = [DOT * len(group) for group in groups[prefix + 1 : -1]]
    return " ".join([*groups[: prefix + 1], *middle, groups[-1]])


def _with_cells(line: Line, hidden: str) -> str:
    """The cells of columns of amounts hidden as a whole: where the number stood in one would tell
    its size. A number of a sentence is one of its words."""
    at = 0
    for span in line:
        end = at + len(span.text)
        if span.amount and any(char.isdigit() for char in span.text):
            word = at > 1 and hidden[at - 1] == " " and hidden[at - 2] != " "
            size = end - at
            column = size > len(DOTS) and (span.text != span.text.strip() or not word)
            dots = DOTS.rjust(size) if column else HIDDEN * size
            hidden = hidden[:at] + dots + hidden[end:]
        at = end
    return hidden

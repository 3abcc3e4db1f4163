"""Hides the amounts and addresses of a drawn line behind dots, for users who hide amounts.

Every amount becomes the same number of dots, whatever its size. Only the drawing changes, not what
is copied, stored or sent. This module is loaded only if amounts are hidden.
"""

from __future__ import annotations

import re

from rich.cells import cell_len

from swapdesk.flows.notation.hidden_amounts import (
    DOTS,
    HIDDEN,
    Known,
    hide_named_amounts,
    hide_numbers,
    unknown,
)
from swapdesk.tui.spans import Line, Span, cut, plain_text, width_of

_STOP = re.compile(rf"{HIDDEN}+|(?<=\S)  +")
_LEAST_GAP = 1


MaskEdit = tuple[int, int, str]
"""The start and end index of the characters to replace, and the new text."""


def even(text: str, hidden: str) -> list[MaskEdit]:
    """Returns the edits, from left to right, that replace each amount in ``text`` by :data:`DOTS`.
    ``hidden`` is ``text`` with each character of an amount replaced by ``HIDDEN``."""
    edits: list[MaskEdit] = []
    owed, gap = 0, None
    """Cells by which the edits make the line too long, and the last gap or None."""
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
        edits.append((begin, end, DOTS))
    if owed < 0:
        edits.append((len(hidden), len(hidden), " " * -owed))
    return edits


def _settled(edits: list[MaskEdit], gap: tuple[int, int], owed: int) -> int:
    """Appends an edit that shortens the line by ``owed`` cells in ``gap``, or lengthens the line if
    ``owed`` is negative. Returns how many cells could not be removed."""
    begin, end = gap
    if owed < 0:
        edits.append((end - 1, end, " " * (1 - owed)))
        return 0
    taken = min(owed, end - begin - _LEAST_GAP)
    if taken:
        edits.append((end - taken, end, ""))
    return owed - taken


DOT = "•"

_GROUPS = re.compile(
    r"(?<![0-9A-Za-z])(?:0x )?[0-9A-Za-z]{3,4}(?: [0-9A-Za-z]{4}){3,}(?: [0-9A-Za-z]{1,3})?"
    r"(?![0-9A-Za-z])"
)
_LONG = re.compile(r"(?<![0-9A-Za-z])[0-9A-Za-z]{25,}(?![0-9A-Za-z])")
KEPT = 4
"""How many characters stay visible at each end of an address that is written without spaces."""


def masked(line: Line, known: Known = unknown, room: int = 0) -> Line:
    """Returns ``line`` with its amounts and addresses replaced by dots. The result may be wider
    than ``line`` by up to ``room`` cells."""
    text = plain_text(line)
    hidden = _by_columns(line, _hidden(text, known))
    if hidden == text:
        return line
    return cut(_applied(line, hidden, even(text, hidden)), width_of(text) + room)


def _hidden(text: str, known: Known) -> str:
    if not any(char.isdigit() for char in text) and len(text) < 25:
        return text
    text = hide_named_amounts(text)
    text = _GROUPS.sub(_address, text)
    text = _LONG.sub(lambda m: m[0][:KEPT] + DOT * (len(m[0]) - 2 * KEPT) + m[0][-KEPT:], text)
    return hide_numbers(text, known)


def _applied(line: Line, hidden: str, edits: list[MaskEdit]) -> Line:
    owners = [at for at, span in enumerate(line) for _ in span.text]
    cells = list(zip(hidden, owners, strict=True))
    for begin, end, text in reversed(edits):
        owner = owners[min(begin, len(owners) - 1)]
        cells[begin:end] = [(char, owner) for char in text]
    shown = [""] * len(line)
    for char, owner in cells:
        shown[owner] += char
    return [Span(text, span.role, span.bold) for text, span in zip(shown, line, strict=True)]


def _address(match: re.Match[str]) -> str:
    groups = match[0].split(" ")
    prefix = 1 if groups[0] == "0x" else 0
    telling = sum(not (group.isalpha() and group.islower()) for group in groups)
    if telling * 2 < len(groups):
        # Words of four letters are no address.
        return match[0]
    middle = [DOT * len(group) for group in groups[prefix + 1 : -1]]
    return " ".join([*groups[: prefix + 1], *middle, groups[-1]])


def _by_columns(line: Line, hidden: str) -> str:
    """Returns ``hidden`` corrected for table cells. Counts are shown. A cell with an amount is
    hidden as a whole, because the position of a number would reveal its size."""
    at = 0
    for span in line:
        size = len(span.text)
        cell = hidden[at : at + size]
        if span.amount and any(char.isdigit() for char in span.text):
            word = at > 1 and hidden[at - 1] == " " and hidden[at - 2] != " "
            column = size > len(DOTS) and (span.text != span.text.strip() or not word)
            cell = DOTS.rjust(size) if column else HIDDEN * size
        elif span.count:
            cell = span.text
        hidden = hidden[:at] + cell + hidden[at + size :]
        at += size
    return hidden

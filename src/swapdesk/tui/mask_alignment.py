"""Masks of one width, whatever they hide: the gaps of a line give and take the difference."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rich.cells import cell_len

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

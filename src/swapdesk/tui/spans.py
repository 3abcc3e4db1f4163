"""Text for widgets: spans of text, each in a role (a named colour of the theme), and functions that
lay them out in terminal cells. Text from outside is only data: a span never interprets markup, and
shows each control or invisible character as one replacement cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from msgspec import Struct
from rich.cells import cell_len, chop_cells, set_cell_size

from swapdesk.tui.glyphs import CUT, RULE, ascii_forms

REPLACEMENT = "�"
GAP = 2
"""Number of cells that stay free between the left and the right part of a row."""


class Span(Struct):
    """A piece of text in one role, which is a named colour of ``themes/README.md``. If the user
    hides amounts, a table cell with ``amount`` is masked as a whole, and a cell with ``count`` is
    never masked."""

    text: str
    role: str = "foreground"
    bold: bool = False
    amount: bool = False
    count: bool = False
    link: str = ""
    """A web page's address, checked by ``display.known_page``, for terminals with links."""

    def __post_init__(self) -> None:
        if not self.text.isprintable():
            self.text = printable(self.text)


Line = list[Span]
LineLike = str | Span | Sequence[Span]


def printable(text: str) -> str:
    """Returns ``text`` with unprintable characters replaced by spaces or U+FFFD, so that its width
    in cells is known."""
    return "".join(
        char if char.isprintable() else " " if char.isspace() and char != "\n" else REPLACEMENT
        for char in text
    )


def line_of(content: LineLike, role: str = "foreground") -> Line:
    if isinstance(content, str):
        return [Span(content, role)] if content else []
    if isinstance(content, Span):
        return [content]
    return list(content)


def width_of(content: LineLike) -> int:
    width = 0
    # Called for every cell of every row: a generator costs a resumption for each span.
    for span in line_of(content):
        width += cell_len(span.text)
    return width


def plain_text(line: Iterable[Span]) -> str:
    return "".join(span.text for span in line)


def ascii_line(line: Line) -> Line:
    """Returns ``line`` in the same width, with the desk's glyphs replaced by ASCII characters."""
    forms = ascii_forms(plain_text(line))
    shown: Line = []
    at = 0
    for span in line:
        end = at + len(span.text)
        shown.append(Span("".join(forms[at:end]), span.role, span.bold, link=span.link))
        at = end
    return shown


def cut(content: LineLike, width: int) -> Line:
    """Returns ``content``, shortened to ``width`` cells with ``…`` if it does not fit. Numbers must
    not be shortened this way, because they would lose digits."""
    line = line_of(content)
    if width_of(line) <= width:
        return line
    if width <= 0:
        return []
    room = width - 1
    shown: Line = []
    for span in line:
        size = cell_len(span.text)
        if size <= room:
            shown.append(span)
            room -= size
            continue
        text = set_cell_size(span.text, room)
        head, blank, _ = text.rpartition(" ")
        # A word is dropped only from a sentence: not if little is left, nor behind a number.
        broken = span.text[len(text) :][:1] != " " and not head[-1:].isdigit()
        if blank and broken and 3 * cell_len(head) >= 2 * room:
            text = head
        shown.append(Span(text.rstrip(" ,;:") + CUT, span.role, span.bold))
        break
    return shown


def fill(content: LineLike, width: int, role: str = "foreground") -> Line:
    """Returns ``content`` in exactly ``width`` cells: cut at its end, or followed by spaces in the
    role ``role``."""
    line = cut(content, width)
    rest = width - width_of(line)
    return [*line, Span(" " * rest, role)] if rest > 0 else line


def push_right(content: LineLike, width: int) -> Line:
    """Returns ``content`` in exactly ``width`` cells: cut at its end, or preceded by spaces."""
    line = cut(content, width)
    rest = width - width_of(line)
    return [Span(" " * rest), *line] if rest > 0 else line


def spread(left: LineLike, right: LineLike, width: int, gap: int = GAP) -> Line:
    """Returns one row of ``width`` cells with ``left`` and ``right`` at its ends. ``left`` is
    shortened, or dropped, if there is no room."""
    end = line_of(right)
    size = width_of(end)
    if not size:
        return fill(left, width)
    room = width - size - gap
    if room <= 0:
        return fill(end, width)
    return [*fill(left, room), Span(" " * gap), *end]


def ruled(label: LineLike, fact: LineLike, width: int) -> Line:
    """Returns one row of ``width`` cells, as ``Label ───── fact``. Both texts may be empty."""
    start = line_of(label, "muted")
    end = line_of(fact, "muted")
    taken = width_of(start) + width_of(end) + (1 if start else 0) + (1 if end else 0)
    if taken + 1 > width:
        return spread(start, end, width, gap=1)
    return [
        *start,
        Span((" " if start else "") + RULE * (width - taken) + (" " if end else ""), "rule"),
        *end,
    ]


def rule(width: int) -> Line:
    return [Span(RULE * width, "rule")]


def joined(parts: Iterable[LineLike], gap: str = "   ") -> Line:
    """Returns the parts side by side with ``gap`` between them. Empty parts are left out."""
    line: Line = []
    for part in parts:
        spans = line_of(part)
        if not spans:
            continue
        if line:
            line.append(Span(gap))
        line.extend(spans)
    return line


def beside(left: list[Line], right: list[Line], width: int) -> list[Line]:
    """Returns the rows of ``left`` and ``right`` side by side. The rows of ``left`` are padded to
    ``width`` cells."""
    none: Line = []
    return [
        [*row, Span(" " * (width - width_of(row))), *other] if other else list(row)
        for row, other in zip_longest(left, right, fillvalue=none)
    ]


def wrapped(content: LineLike, width: int, indent: int = 0) -> list[Line]:
    """Returns ``content`` broken into rows of at most ``width`` cells, between words if
    possible."""
    rows: list[Line] = [[]]
    used = 0
    room = max(1, width - indent)
    for span in line_of(content):
        for word in _WORD.findall(span.text):
            parts = _broken(word, room) if cell_len(word) > room else [word]
            for part in parts:
                if used and used + cell_len(part) > width:
                    if part == " " * len(part):
                        continue
                    rows.append([Span(" " * indent)] if indent else [])
                    used = 0
                if not used and len(rows) > 1 and part.isspace():
                    continue
                if not used and len(rows) > 1:
                    used = indent
                rows[-1].append(Span(part, span.role, span.bold))
                used += cell_len(part)
    return rows


def _broken(word: str, room: int) -> list[str]:
    rows: list[str] = [""]
    for piece in _PIECE.findall(word):
        for part in chop_cells(piece, room) if cell_len(piece) > room else [piece]:
            if cell_len(rows[-1]) + cell_len(part) > room:
                rows.append("")
            rows[-1] += part
    return rows


_WORD = re.compile(r" +|[^ ]+")
_PIECE = re.compile(r"[^,(]*[,(]|[^,(]+")

"""From roles to colours: a line of spans becomes a strip, amounts and addresses masked if asked.

Masking is the last step before cells are painted, so no page can forget it. All masks have one
width, and the gaps of a line make up the difference. Nothing copied, stored or sent is touched.

What counts as an amount is told by ``notation.hidden_amounts``, and by a column of amounts around
a number.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.strip import Strip

from swapdesk.flows.notation.hidden_amounts import (
    DOTS,
    HIDDEN,
    Known,
    hide_named_amounts,
    hide_numbers,
    unknown,
)
from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.spans import Line, Span, ascii_line, cut, plain_text, width_of

_STOP = re.compile(rf"{HIDDEN}+|(?<=\S)  +")
_LEAST_GAP = 1


MaskEdit = tuple[int, int, str]
"""Begin and end of what goes, and the text in its place."""


def even(text: str, hidden: str) -> list[MaskEdit]:
    """The edits of ``hidden``, which is ``text`` with amounts as ``HIDDEN``, from left to right.

    A mask behind a gap ends where its number ended, as in a column; one inside a sentence moves
    what follows it, up to the next gap or the end of the line.
    """
    edits: list[MaskEdit] = []
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
        edits.append((begin, end, DOTS))
    if owed < 0:
        edits.append((len(hidden), len(hidden), " " * -owed))
    return edits


def _settled(edits: list[MaskEdit], gap: tuple[int, int], owed: int) -> int:
    """Takes the surplus cells from a gap, or fills it with missing ones; returns the cells still
    owed."""
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
"""Characters of an unbroken address that stay at each end."""


def masked(line: Line, known: Known = unknown, room: int = 0) -> Line:
    """The line with its amounts and addresses hidden, as wide as before where it has a gap. Without
    a gap it takes of the ``room`` cells behind it, and is cut where they do not suffice."""
    text = plain_text(line)
    hidden = _by_columns(line, _hidden(text, known))
    if hidden == text:
        return line
    return cut(_applied(line, hidden, even(text, hidden)), width_of(text) + room)


def _hidden(text: str, known: Known) -> str:
    """The text with each amount as ``HIDDEN`` of the same length, and addresses by their ends."""
    if not any(char.isdigit() for char in text) and len(text) < 25:
        return text
    text = hide_named_amounts(text)
    text = _GROUPS.sub(_address, text)
    text = _LONG.sub(lambda m: m[0][:KEPT] + DOT * (len(m[0]) - 2 * KEPT) + m[0][-KEPT:], text)
    return hide_numbers(text, known)


def _applied(line: Line, hidden: str, edits: list[MaskEdit]) -> Line:
    """Each edit belongs to the span in which it begins."""
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
    """Restores the cells of columns of counts, and hides those of amounts as a whole: the place of
    a number in one would tell its size. A number of a sentence is one of its words."""
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


CURSOR_ROLE = "text-cursor"
"""The cell under a text cursor: background on accent."""
FRAME_WORDS = {"frame-sandbox-word": "frame-sandbox", "frame-live-word": "frame-live"}
"""The word of the frame: background on the frame's colour."""


class Masking(Protocol):
    """Whether amounts are hidden now; ``known_symbol`` tells a token's symbol from other words."""

    hides_amounts: bool

    def known_symbol(self, word: str) -> bool: ...


_PAINTED = {CURSOR_ROLE: "accent", **FRAME_WORDS}


def role_style(app: App[object], role: str, bold: bool = False) -> Style:
    """The style of a role in the present theme; an unknown role is drawn as text."""
    variables = app.theme_variables
    if role in _PAINTED:
        return _painted(variables[_PAINTED[role]], variables["background"], bold)
    return _plain(variables.get(role) or variables["foreground"], bold)


def selected_style(app: App[object]) -> Style:
    """The background of a selected row; reversed where the terminal's own colours are used."""
    return _ground(app.theme_variables["panel"])


def body_style(app: App[object]) -> Style:
    """Text on the body's background, for a row of a widget that is painted otherwise."""
    variables = app.theme_variables
    return _body(variables["foreground"], variables["background"])


def paint(app: App[object], line: Line, width: int, base: Style) -> Strip:
    """Exactly ``width`` cells. Neighbours of one style are one segment; spaces take part in the
    segment before them, because every change of style costs about 40 bytes; but not in a link."""
    privacy: Masking | None = getattr(app, "privacy", None)
    if privacy is not None and privacy.hides_amounts:
        room = max(0, width - width_of(line))
        line = masked(line, privacy.known_symbol, room)
    if getattr(app, "glyph_set", GlyphSet.UNICODE) is GlyphSet.ASCII:
        line = ascii_line(line)
    links = getattr(app, "draws_links", False)
    rest = width - width_of(line)
    parts: list[Segment] = []
    text = ""
    style: Style | None = None
    joins = True
    """Whether spaces may follow in the style of before."""
    for span in [*line, Span(" " * rest)] if rest > 0 else line:
        if not span.text:
            continue
        blank = span.text.isspace() and span.role not in _PAINTED
        if blank and joins:
            text += span.text
            continue
        own = base if blank else base + role_style(app, span.role, span.bold)
        if span.link and links and not blank:
            own += _leading(span.link)
        same_ground = own.bgcolor == base.bgcolor and own.reverse == base.reverse
        # Spaces at the beginning belong to no style yet; they join the first one that allows.
        if text and style is None and not same_ground:
            style = base
        if style is not None and own is not style and own != style:
            parts.append(Segment(text, style))
            text = ""
        text, style, joins = text + span.text, own, same_ground and not own.link
    if text:
        parts.append(Segment(text, style or base))
    strip = Strip(parts, max(width, width - rest))
    return strip if rest >= 0 else strip.adjust_cell_length(width, base)


def hides_amounts(app: App[object]) -> bool:
    """True if amounts are drawn as dots."""
    privacy: Masking | None = getattr(app, "privacy", None)
    return privacy is not None and privacy.hides_amounts


@lru_cache(512)
def _plain(colour: str, bold: bool) -> Style:
    return Style(color=Color.parse(colour).rich_color, bold=True if bold else None)


@lru_cache(64)
def _painted(ground: str, text: str, bold: bool) -> Style:
    if text.startswith("ansi"):
        return Style(color=Color.parse(ground).rich_color, reverse=True, bold=bold or None)
    return Style(
        color=Color.parse(text).rich_color,
        bgcolor=Color.parse(ground).rich_color,
        bold=bold or None,
    )


@lru_cache(64)
def _leading(link: str) -> Style:
    return Style(link=link)


@lru_cache(64)
def _ground(colour: str) -> Style:
    if colour.startswith("ansi"):
        return Style(reverse=True)
    return Style(bgcolor=Color.parse(colour).rich_color)


@lru_cache(64)
def _body(text: str, ground: str) -> Style:
    return Style(color=Color.parse(text).rich_color, bgcolor=Color.parse(ground).rich_color)

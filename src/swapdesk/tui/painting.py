"""Paints a line of text spans: roles become colours, the line becomes a strip of cells, and amounts
and addresses are masked if the user hides them. Masking happens right before cells are painted, so
no page can forget it."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.strip import Strip

from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.spans import Line, Span, ascii_line, width_of

CURSOR_ROLE = "text-cursor"
"""The role of the cell under a text cursor."""
FRAME_WORDS = {"frame-sandbox-word": "frame-sandbox", "frame-live-word": "frame-live"}
"""Roles of words inside the frame rule, each with the role of its background colour."""


class Masking(Protocol):
    """The part of the application that says whether amounts are hidden now."""

    hides_amounts: bool

    def known_symbol(self, word: str) -> bool: ...


_PAINTED = {CURSOR_ROLE: "accent", **FRAME_WORDS}


def role_style(app: App[object], role: str, bold: bool = False) -> Style:
    """Returns the present theme's style of ``role``. An unknown role is drawn like plain text."""
    variables = app.theme_variables
    if role in _PAINTED:
        return _painted(variables[_PAINTED[role]], variables["background"], bold)
    return _plain(variables.get(role) or variables["foreground"], bold)


def selected_style(app: App[object]) -> Style:
    """Returns the style to add to a selected row: a background or, in themes that use the
    terminal's own colours, reversed colours."""
    return _ground(app.theme_variables["panel"])


def body_style(app: App[object]) -> Style:
    """Returns the style of plain text on the screen's background, for rows in a widget with a
    different background."""
    variables = app.theme_variables
    return _body(variables["foreground"], variables["background"])


def paint(app: App[object], line: Line, width: int, base: Style) -> Strip:
    """Returns ``line`` painted as a strip of exactly ``width`` cells, over the style ``base``.
    Amounts are masked if the user hides amounts."""
    privacy: Masking | None = getattr(app, "privacy", None)
    if privacy is not None and privacy.hides_amounts:
        # Its patterns are compiled once somebody hides amounts, and not for the first frame.
        from swapdesk.tui.masking import masked

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
    """True if spaces that follow may join the text before them."""
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
    """Returns True if the user hides amounts, so that they are drawn as dots."""
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

"""From roles to colours: a line of spans becomes a strip for the terminal."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.strip import Strip

from swapdesk.tui.amount_masking import masked
from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.spans import Line, ascii_line, width_of

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
    """The style of a role in the theme that is on; an unknown role is drawn as text."""
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
    stroke = Stroke(app, base)
    stroke.add(line)
    return stroke.strip(width)


def paints_by_parts(app: App[object]) -> bool:
    """Whether a line is painted as its spans say, so that its parts may be painted apart."""
    shown = getattr(app, "glyph_set", GlyphSet.UNICODE) is GlyphSet.UNICODE
    return shown and not hides_amounts(app)


def hides_amounts(app: App[object]) -> bool:
    """Whether amounts are drawn as dots."""
    privacy: Masking | None = getattr(app, "privacy", None)
    return privacy is not None and privacy.hides_amounts


class Stroke:
    """A line that is being painted from left to right, as far as it is. A copy of it may be
    finished again with other spans."""

    __slots__ = ("_app", "_base", "_cells", "_links", "_segments", "_style", "_text")

    def __init__(self, app: App[object], base: Style) -> None:
        self._app = app
        self._base = base
        self._links = bool(getattr(app, "draws_links", False))
        self._segments: list[Segment] = []
        self._text = ""
        self._style: Style | None = None
        """Spaces at the beginning belong to no style yet; they join the first one that allows."""
        self._cells = 0
        """Width of the segments that are done."""

    def copy(self) -> Stroke:
        """The same, to go on from here."""
        other = Stroke.__new__(Stroke)
        other._app, other._base, other._links = self._app, self._base, self._links
        other._segments = self._segments.copy()
        other._text, other._style, other._cells = self._text, self._style, self._cells
        return other

    def add(self, line: Line) -> None:
        """Go on with these spans."""
        app, base, text, style = self._app, self._base, self._text, self._style
        for span in line:
            if not span.text:
                continue
            blank = span.text.isspace() and span.role not in _PAINTED
            if blank and (style is None or (_same_ground(style, base) and not style.link)):
                text += span.text
                continue
            own = base if blank else base + role_style(app, span.role, span.bold)
            if span.link and not blank and self._links:
                own += _leading(span.link)
            if text and style is None and not _same_ground(own, base):
                style = base
            if style is not None and own != style:
                self._segments.append(Segment(text, style))
                self._cells += cell_len(text)
                text = ""
            style = own
            text += span.text
        self._text, self._style = text, style

    def strip(self, width: int) -> Strip:
        """What was painted, cut or filled to ``width`` cells."""
        base, text = self._base, self._text
        style = self._style or base
        cells = self._cells + cell_len(text)
        rest = max(0, width - cells)
        segments = self._segments.copy()
        filling = Segment(" " * rest, base) if rest else None
        if filling and _same_ground(style, base) and not style.link:
            text, filling = text + filling.text, None
        if text:
            segments.append(Segment(text, style))
        if filling:
            segments.append(filling)
        strip = Strip(segments, cells + rest)
        return strip if cells <= width else strip.adjust_cell_length(width, base)


def _same_ground(style: Style, base: Style) -> bool:
    return style.bgcolor == base.bgcolor and style.reverse == base.reverse


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

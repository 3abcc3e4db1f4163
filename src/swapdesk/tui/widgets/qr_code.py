"""A QR code, always black on white, and the panel that shows it beside the card of a deposit. One
cell shows two modules, one above the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.painting import hides_amounts
from swapdesk.tui.spans import LineLike
from swapdesk.tui.themes import BLACK, INK, WHITE
from swapdesk.tui.widgets.lines_view import TextRows

MARGIN = 2
"""Width of the white margin around the code, in modules (the squares of the code)."""

COVERED = "Hidden; f9 shows the code."

_BOTH, _UPPER, _LOWER, _NONE = "█", "▀", "▄", " "

Modules = tuple[tuple[bool, ...], ...]


class CodeTooLong(ValueError):
    """Raised if a text is too long for a QR code."""


@lru_cache(8)
def modules_of(text: str) -> Modules:
    """Returns the QR code of ``text`` with its margin, row by row, with True for each dark module.
    Raises CodeTooLong if ``text`` is too long."""
    import segno
    from segno import DataOverflowError

    try:
        code = segno.make_qr(text, error="l", boost_error=False)
    except DataOverflowError:
        raise CodeTooLong(f"{len(text):,} characters do not fit into a code") from None
    return tuple(tuple(bool(dark) for dark in row) for row in code.matrix_iter(border=MARGIN))


def code_size(text: str, *, halves: bool = True) -> tuple[int, int]:
    """Returns width and height of a QR code with its margin, in cells. With ``halves`` a cell shows
    two modules. Raises CodeTooLong."""
    count = len(modules_of(text))
    return (count, (count + 1) // 2) if halves else (2 * count, count)


def code_rows(text: str) -> list[str]:
    """Returns the rows of the QR code of ``text`` as block characters, for black on white. Raises
    CodeTooLong."""
    modules = modules_of(text)
    blank = (False,) * len(modules)
    rows = []
    for top in range(0, len(modules), 2):
        above = modules[top]
        below = modules[top + 1] if top + 1 < len(modules) else blank
        rows.append("".join(map(_cell, above, below)))
    return rows


def _cell(above: bool, below: bool) -> str:
    if above:
        return _BOTH if below else _UPPER
    return _LOWER if below else _NONE


class QrCode(Widget):
    """A widget that draws a QR code, or nothing if there is no room for the whole code."""

    DEFAULT_CSS = """
    QrCode { width: auto; height: auto; }
    """

    def __init__(self, text: str = "", **place: Any) -> None:
        super().__init__(**{"markup": False, **place})
        self.text = text
        """The exact text in the code; empty to draw no code."""

    def show(self, text: str) -> None:
        if text != self.text:
            self.text = text
            self.refresh(layout=True)

    @property
    def halves(self) -> bool:
        """True if one cell shows two modules. It is False in plain ASCII, where each module takes
        two cells."""
        return getattr(self.app, "glyph_set", GlyphSet.UNICODE) is not GlyphSet.ASCII

    def fits(self, text: str, room: Size) -> bool:
        """Returns True if the whole QR code of ``text`` fits into ``room``, in cells."""
        wide, high = self._cells(text)
        return 0 < wide <= room.width and high <= room.height

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return self._cells(self.text)[0]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._cells(self.text)[1]

    def _cells(self, text: str) -> tuple[int, int]:
        try:
            return code_size(text, halves=self.halves) if text else (0, 0)
        except CodeTooLong:
            return 0, 0

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        wide, high = self._cells(self.text)
        if y >= high or wide > width:
            return Strip.blank(width, self.rich_style)
        if hides_amounts(self.app):
            # A camera reads what a person is not to see: address and amount.
            text = COVERED if y == high // 2 else ""
            return Strip([Segment(text[:width])]).adjust_cell_length(width, self.rich_style)
        if self.halves:
            return Strip([Segment(code_rows(self.text)[y], INK)]).adjust_cell_length(
                width, self.rich_style
            )
        row = modules_of(self.text)[y]
        cells = [Segment("  ", BLACK if dark else WHITE) for dark in row]
        return Strip(cells).adjust_cell_length(width, self.rich_style)


CARD = 78
"""Width in cells of the deposit card beside the code, in which an address fits into one row."""
LEAST = Size(120, 36)
AROUND = Size(4, 11)
"""Columns and rows of the screen that neither card nor code may use."""


class CodePanel(Vertical):
    """A QR code with a caption and lines below it. Hidden if the screen is small or no code
    fits."""

    DEFAULT_CSS = """
    CodePanel { display: none; height: 100%; width: auto; padding: 1 0 0 0; }
    CodePanel QrCode { margin: 1 2; }
    CodePanel TextRows { width: 42; }
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._caption = TextRows()
        self._code = QrCode()
        self._below = TextRows()

    def compose(self) -> ComposeResult:
        yield self._caption
        yield self._code
        yield self._below

    @property
    def shown(self) -> str:
        return self._code.text if self.display else ""

    def show(self, codes: Sequence[tuple[str, LineLike, Sequence[LineLike]]], screen: Size) -> None:
        """Shows the first of ``codes`` that fits, or hides the panel. Each code is a tuple of its
        text, its caption and the lines below. ``screen`` is in cells."""
        room = Size(screen.width - CARD - AROUND.width, screen.height - AROUND.height)
        large = screen.width >= LEAST.width and screen.height >= LEAST.height
        fitting = next((code for code in codes if large and self._code.fits(code[0], room)), None)
        text, caption, below = fitting or ("", "", ())
        self.display = fitting is not None
        self._code.show(text)
        self._caption.show([caption] if fitting is not None else [])
        self._below.show(below)

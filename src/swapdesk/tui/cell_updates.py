"""Screen updates that write few bytes: only changed cells, and only the changed parts of a style.

Textual 8.2.8 writes a row from the left edge of its widget to the last changed cell, and resets the
style after every piece of text. Over ssh a cursor move would cost more than the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor, LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

Rendered = tuple[Region, Region, list[Strip]]
"""A widget's region on the screen, the clip of its visible part, and the rows of cells inside
both."""
Place = tuple[int, int, Strip]
"""Column and row on the screen, counted from 0, and the cells to write from there."""
Piece = tuple[int, str, Style]
"""Column (counted from 0), text and style of one piece of a row."""

FEW = 8
"""Most rows for which :func:`written` compares two ways to write each row."""
_PLAIN = Style.null()


def written(places: Sequence[Place], console: Console) -> str:
    """Returns the text and escape sequences that write the cells of ``places``, in as few bytes as
    practical."""
    system = console._color_system or ColorSystem.TRUECOLOR
    data: list[str] = []
    style = _PLAIN
    for left, y, strip in places:
        pieces = _pieces(strip, left)
        row, end = _row(pieces, left, style, system)
        if len(places) <= FEW and _is_plain(strip):
            coloured = _row(_by_colour(pieces), left, style, system)
            row, end = min((row, end), coloured, key=lambda way: len(way[0]))
        data += (f"\x1b[{y + 1};{left + 1}H", row)
        style = end
    return "".join([*data, _change(style, _PLAIN, system)])


def _is_plain(strip: Strip) -> bool:
    linked = any(style is not None and style.link for _, style, _ in strip)
    return not linked and all(cell_len(char) == 1 for char in set(strip.text))


def _pieces(strip: Strip, left: int) -> list[Piece]:
    pieces: list[Piece] = []
    for text, style, _ in strip:
        pieces.append((left, text, style or _PLAIN))
        left += cell_len(text)
    return pieces


def _by_colour(pieces: Iterable[Piece]) -> list[Piece]:
    runs: dict[Style, list[Piece]] = {}
    for piece in pieces:
        runs.setdefault(piece[2], []).append(piece)
    return [piece for run in runs.values() for piece in run]


def _row(pieces: Iterable[Piece], at: int, style: Style, system: ColorSystem) -> tuple[str, Style]:
    data: list[str] = []
    for column, text, own in pieces:
        if column != at:
            data.append(f"\x1b[{column + 1}G")
        if own.link:
            data += (_change(style, _PLAIN, system), Strip.render_style(own, text, system))
            style = _PLAIN
        else:
            data += (_change(style, own, system), text)
            style = own
        at = column + cell_len(text)
    return "".join(data), style


@lru_cache(4096)
def _change(before: Style, after: Style, system: ColorSystem) -> str:
    whole = Strip.render_ansi(after, system)
    if not whole:
        return "\x1b[0m" if Strip.render_ansi(before, system) else ""
    old, new = _attributes(before), _attributes(after)
    lost = set(old) - set(new)
    if lost - {"1"}:
        return f"\x1b[0;{whole}m"
    codes = ["22"] if lost else []
    codes += [code for code in new if lost or code not in old]
    for foreground in (True, False):
        one, other = (_colour(style, system, foreground=foreground) for style in (before, after))
        codes += [other] if one != other else []
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def _attributes(style: Style) -> list[str]:
    codes = Strip.render_ansi(style.without_color, ColorSystem.TRUECOLOR)
    return codes.split(";") if codes else []


def _colour(style: Style, system: ColorSystem, *, foreground: bool) -> str:
    colour = style.color if foreground else style.bgcolor
    if colour is None:
        return "39" if foreground else "49"
    return ";".join(colour.downgrade(system).get_ansi_codes(foreground=foreground))


class CellsUpdate(ChopsUpdate):
    """Textual's update of changed cells, but each row is written only from its first to its last
    changed cell."""

    def render_segments(self, console: Console) -> str:
        places: list[Place] = []
        for y, first, last in self.spans:
            for end, (start, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is None or start >= last or end <= first:
                    continue
                if _is_plain(strip):
                    start, strip = max(start, first), strip.crop(first - start, last - start)
                places.append((start, y, strip))
        return written(places, console)


class PageUpdate(LayoutUpdate):
    """Textual's update of a whole page, written in fewer bytes by :func:`written`."""

    def render_segments(self, console: Console) -> str:
        rows = enumerate(self.strips, self.region.y)
        return written([(self.region.x, y, Strip.join(row)) for y, row in rows], console)


class CellCompositor(Compositor):
    """Textual's compositor with updates that write few bytes."""

    def _get_renders(self, crop: Region | None = None) -> Iterable[Rendered]:
        """Returns the rendered rows, but only the rows that ``crop`` touches; Textual 8.2.8 would
        render all of them."""
        if crop is None:
            yield from super()._get_renders()
            return
        rows = Region(0, crop.y, self.size.width, crop.height)
        for widget, (region, clip) in self.visible_widgets.items():
            clipped = clip.intersection(rows)
            shown = region.intersection(clipped)
            if shown:
                yield region, clipped, widget.render_lines(shown.translate(-region.offset))

    def render_full_update(self, simplify: bool = False) -> LayoutUpdate:
        update = super().render_full_update(simplify)
        return PageUpdate(update.strips, update.region)

    def render_partial_update(self) -> ChopsUpdate | None:
        update = super().render_partial_update()
        if update is None:
            return None
        for y, _, _ in update.spans:
            for strip in update.chops[y].values():
                if strip is not None:
                    # A strip remembers itself as the result of a cut at its own end. It would wait
                    # for a collection of garbage: megabytes a minute of rows that change often.
                    strip._divide_cache.clear()
        return CellsUpdate(update.chops, update.spans, update.chop_ends)

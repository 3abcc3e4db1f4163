"""Screen updates that write few bytes: only cells that changed, with short style sequences.

Textual writes a row from the left edge of its widget to the last changed cell, so a countdown at
the right end of a table would cost its whole row every second. It also closes every piece of text
with a reset and opens the next one with its whole style, about 40 bytes each time; over ssh a
cursor move in a coloured table would cost more than the text.

Here only changed cells are written, a change of style is written as the difference, and the pieces
of a row are written colour by colour: a change of colour costs up to 19 bytes, a move within the
row 5.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.control import Control
from rich.style import Style
from textual._compositor import ChopsUpdate, Compositor
from textual.driver import Driver
from textual.strip import Strip

_NEXT_SET = re.compile(r"\x1b\[([0-9;]*)m")
_JOINT = re.compile(r"(?:\n?(\x1b\[\d+;\d+H)|(\x1b\[\d+G))?\x1b\[([0-9;]*)m")
"""A style that follows a reset, perhaps elsewhere: a row and column make the line feed needless."""
_HOME, _SHORT_HOME = "\x1b[1;1H", "\x1b[H"


def thrifty(data: str) -> str:
    """The same picture; only resets that are followed by a new style disappear, there or at
    another place, and line feeds before a place."""
    data = data.replace(_HOME, _SHORT_HOME)
    if "\x1b[0m" not in data:
        return data
    pieces: list[str] = []
    at = 0
    current = ""
    for found in _NEXT_SET.finditer(data):
        if found.start() < at:
            continue
        pieces.append(data[at : found.start()])
        codes = found[1]
        at = found.end()
        if codes in ("", "0"):
            following = _JOINT.match(data, at)
            if current and following and following[3] not in ("", "0"):
                pieces.append(following[1] or following[2] or "")
                pieces.append(_change(current, following[3]))
                current = following[3]
                at = following.end()
                continue
            current = ""
            pieces.append(found[0])
            continue
        # A style on top of another one is not what Textual writes; then nothing is assumed.
        current = codes if not current else ""
        pieces.append(found[0])
    pieces.append(data[at:])
    return "".join(pieces)


@lru_cache(4096)
def _change(old: str, new: str) -> str:
    before, after = _parts(old), _parts(new)
    if before is None or after is None:
        return f"\x1b[0m\x1b[{new}m"
    codes: list[str] = []
    if before[0] != after[0]:
        codes.append("1" if after[0] else "22")
    if before[1] != after[1]:
        codes.append(after[1] or "39")
    if before[2] != after[2]:
        codes.append(after[2] or "49")
    if not codes:
        return ""
    return min(f"\x1b[{';'.join(codes)}m", f"\x1b[0m\x1b[{new}m", key=len)


def _parts(codes: str) -> tuple[bool, str, str] | None:
    """Bold, foreground, background; None when another attribute takes part."""
    bold, fore, back = False, "", ""
    rest = codes.split(";")
    while rest:
        code = rest.pop(0)
        if code == "1":
            bold = True
        elif code in ("38", "48"):
            size = {"2": 4, "5": 2}.get(rest[0] if rest else "", 0)
            if not size or len(rest) < size:
                return None
            value = ";".join([code, *rest[:size]])
            del rest[:size]
            fore, back = (value, back) if code == "38" else (fore, value)
        elif code.isdigit() and (30 <= int(code) <= 37 or 90 <= int(code) <= 97 or code == "39"):
            fore = "" if code == "39" else code
        elif code.isdigit() and (40 <= int(code) <= 47 or 100 <= int(code) <= 107 or code == "49"):
            back = "" if code == "49" else code
        else:
            return None
    return bold, fore, back


@lru_cache(8)
def thrifty_driver(base: type[Driver]) -> type[Driver]:
    """A driver class that writes through :func:`thrifty`."""

    class ThriftyDriver(base):  # type: ignore[misc, valid-type]
        def write(self, data: str) -> None:
            super().write(thrifty(data))

    return ThriftyDriver


def written(strip: Strip, left: int, console: Console) -> str:
    """The cells of ``strip``, written from column ``left`` (from 0) on where the terminal's
    cursor stands; by colours where that takes fewer bytes."""
    in_sequence = strip.render(console)
    runs: dict[Style | None, list[tuple[int, str]]] = {}
    at = left
    for text, style, _ in strip:
        runs.setdefault(style, []).append((at, text))
        at += cell_len(text)
    repeated = len(runs) < sum(map(len, runs.values()))
    if not repeated or any(style is not None and style.link for style in runs):
        return in_sequence
    return min(in_sequence, _by_colours(runs, left, console), key=_size)


def _by_colours(
    runs: dict[Style | None, list[tuple[int, str]]], left: int, console: Console
) -> str:
    system = console._color_system or ColorSystem.TRUECOLOR
    pieces: list[str] = []
    at = left
    for style, places in runs.items():
        inner: list[str] = []
        for number, (start, text) in enumerate(places):
            if start != at:
                (inner if number else pieces).append(f"\x1b[{start + 1}G")
            inner.append(text)
            at = start + cell_len(text)
        run = "".join(inner)
        pieces.append(run if style is None else Strip.render_style(style, run, color_system=system))
    return "".join(pieces)


def _size(data: str) -> int:
    return len(thrifty(data).encode())


FEW = 8
"""Rows up to which the shorter way to write each is looked for; a page is to be there at once."""


class CellsUpdate(ChopsUpdate):
    """The same changes, each cut at both of its ends."""

    def render_segments(self, console: Console) -> str:
        pieces: list[str] = []
        spans = list(self.spans)
        few = len(spans) <= FEW
        for y, first, last in spans:
            for end, (start, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is None or start >= last or end <= first:
                    continue
                left, part = _part(strip, start, first, min(end, last))
                pieces.append(Control.move_to(left, y).segment.text)
                pieces.append(written(part, left, console) if few else part.render(console))
        return "".join(pieces)


class CellCompositor(Compositor):
    """A compositor whose partial updates are :class:`CellsUpdate`, of strips that are freed once
    nothing shows them."""

    def render_partial_update(self) -> ChopsUpdate | None:
        update = super().render_partial_update()
        if update is None:
            return None
        for y in {y for y, _, _ in update.spans}:
            for strip in update.chops[y].values():
                if strip is not None:
                    _let_go(strip)
        return CellsUpdate(update.chops, update.spans, update.chop_ends)


def _let_go(strip: Strip) -> None:
    """Take back what a strip remembers of being cut at its own end: itself. It would wait for a
    collection of garbage, and rows that change many times a second are megabytes a minute."""
    strip._divide_cache.clear()


def _part(strip: Strip, start: int, first: int, last: int) -> tuple[int, Strip]:
    """The cells of ``strip``, which begins in column ``start``, from ``first`` up to ``last``,
    and where they begin. A character two cells wide is never cut in half."""
    left, right = max(0, first - start), last - start
    if left and _cuts(strip, left):
        left -= 1
    if _cuts(strip, right):
        right += 1
    return start + left, strip.crop(left, right)


def _cuts(strip: Strip, cell: int) -> bool:
    """Whether ``cell`` is the second half of a character."""
    at = strip.cell_length
    if cell >= at:
        return False
    # From the right, where what counts stands in a row.
    for text, *_ in reversed(strip):
        size = cell_len(text)
        at -= size
        if cell < at:
            continue
        if size == len(text):
            return False
        for char in text:
            if at >= cell:
                return at > cell
            at += cell_len(char)
        return at > cell
    return False

"""Updates of a screen that write the cells that changed and no others.

Textual writes a row from the left edge of its widget up to the last changed cell, so that a
countdown at the right end of a table costs its whole row every second.
"""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor
from textual.strip import Strip

from swapdesk.tui.colour_runs import written

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

"""Which rows of a table are on the screen, and on which of its lines."""

from __future__ import annotations

from typing import NamedTuple

from textual.geometry import Region

MARGIN = 2
"""Cells that stay free at both sides of a row."""


class TableView(NamedTuple):
    """Cells of ``width`` and lines of ``height``, ``head`` of them heads; ``top`` is the first
    row below those."""

    width: int
    height: int
    top: int
    head: int

    @property
    def row_width(self) -> int:
        """Cells of a row without its margins."""
        return self.width - 2 * MARGIN

    @property
    def room(self) -> int:
        """Rows that fit."""
        return max(0, self.height - self.head)

    def row_at(self, y: int) -> int | None:
        """The place of the row on a line; None on a head."""
        return self.top + y - self.head if y >= self.head else None

    def shows(self, at: int) -> bool:
        """Whether a row is on the screen."""
        return 0 <= at - self.top < self.room

    def cells(self, at: int, start: int, end: int) -> Region:
        """Cells of a row that is on the screen, counted without the margin."""
        return Region(MARGIN + start, at - self.top + self.head, end - start, 1)

    def row(self, at: int) -> Region:
        """A row that is on the screen, with its margins."""
        return Region(0, at - self.top + self.head, self.width, 1)

"""Rows of text that no other widget draws: a sentence, a label, a small legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swapdesk.tui.lines_view import LinesView
from swapdesk.tui.spans import Line, LineLike, line_of, wrapped


class TextRows(LinesView):
    """Each row wraps at words; an empty row stays one."""

    def __init__(self, rows: Sequence[LineLike] = (), **place: Any) -> None:
        super().__init__(**place)
        self.rows = tuple(rows)

    def show(self, rows: Sequence[LineLike]) -> None:
        if tuple(rows) != self.rows:
            self.rows = tuple(rows)
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        return [line for row in self.rows for line in wrapped(line_of(row), width)]

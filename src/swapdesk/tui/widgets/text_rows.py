"""Rows of text that no other widget draws: a sentence, a label, a small legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swapdesk.tui.lines_view import LinesView
from swapdesk.tui.spans import Line, LineLike, cut, line_of, rule, spread, wrapped


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


class HeadLine(LinesView):
    """One row with a left and a right part; the right one stays whole."""

    DEFAULT_CSS = """
    HeadLine { height: 1; }
    """

    def __init__(self, left: LineLike = "", right: LineLike = "", **place: Any) -> None:
        super().__init__(**place)
        self.left, self.right = left, right

    def show(self, left: LineLike, right: LineLike = "") -> None:
        self.left, self.right = left, right
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        right = line_of(self.right)
        return [spread(self.left, right, width) if right else cut(self.left, width)]


class RuleRow(LinesView):
    """One thin rule between blocks."""

    DEFAULT_CSS = """
    RuleRow { height: 1; }
    """

    def lines(self, width: int) -> list[Line]:
        return [rule(width)]

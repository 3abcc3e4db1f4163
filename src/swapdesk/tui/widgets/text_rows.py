"""Rows of text that no other widget draws: a sentence, a label, a small legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swapdesk.tui.lines_view import LinesView
from swapdesk.tui.spans import (
    GAP,
    Line,
    LineLike,
    cut,
    line_of,
    rule,
    spread,
    width_of,
    wrapped,
)


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
    """One row with a left and a right part. Of several right parts, the fullest first, the first
    beside which the left one stays whole is shown; beside the last the left one is cut."""

    DEFAULT_CSS = """
    HeadLine { height: 1; }
    """

    def __init__(self, left: LineLike = "", *rights: LineLike, **place: Any) -> None:
        super().__init__(**place)
        self.left, self.rights = left, rights

    def show(self, left: LineLike, *rights: LineLike) -> None:
        self.left, self.rights = left, rights
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        room = width - width_of(self.left) - GAP
        rights = [line_of(one) for one in self.rights if one]
        if not rights:
            return [cut(self.left, width)]
        fitting = (one for one in rights if width_of(one) <= room)
        return [spread(self.left, next(fitting, rights[-1]), width)]


class RuleRow(LinesView):
    """One thin rule between blocks."""

    DEFAULT_CSS = """
    RuleRow { height: 1; }
    """

    def lines(self, width: int) -> list[Line]:
        return [rule(width)]

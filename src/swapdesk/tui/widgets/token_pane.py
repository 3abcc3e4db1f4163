"""What decides about the token under the cursor: warnings first, then labelled facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swapdesk.tui.spans import Line, LineLike, Span, line_of, spread, width_of, wrapped
from swapdesk.tui.widgets.lines_view import LinesView

LABEL = 12
STACKED_BELOW = 60
"""Cells below which a label stands above its value."""


@dataclass(frozen=True)
class TokenNotes:
    """``figures`` go where the row has no room; ``facts`` are labels and values."""

    head: LineLike
    figures: tuple[LineLike, ...] = ()
    warnings: tuple[LineLike, ...] = ()
    facts: tuple[tuple[str, LineLike], ...] = ()


class TokenPane(LinesView):
    """Under the list, or at its right on wide screens.

    As high as the longest notes of one list so far: the list above would move with every row.
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._notes: TokenNotes | None = None
        self._heights: dict[int, int] = {}

    def begin_list(self) -> None:
        """Another list: its notes may be shorter."""
        self._heights.clear()

    def show(self, notes: TokenNotes | None) -> None:
        """None for no token."""
        self._notes = notes
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        if self._notes is None:
            return []
        rows = token_lines(self._notes, width)
        height = self._heights[width] = max(self._heights.get(width, 0), len(rows))
        return rows + [[] for _ in range(height - len(rows))]


def token_lines(notes: TokenNotes, width: int) -> list[Line]:
    """The pane at a width; a contract is wrapped between its groups and never cut."""
    stacked = width < STACKED_BELOW
    rows = _head(notes, width, stacked)
    for warning in notes.warnings:
        rows += wrapped(line_of(warning), width, indent=2)
    if not stacked:
        rows.append([])
    for label, value in notes.facts:
        if stacked:
            # A fact without a label goes on with the one above.
            rows += [[], [Span(label, "muted")]] if label else []
            rows += wrapped(line_of(value), width)
            continue
        for at, part in enumerate(wrapped(line_of(value), width - LABEL)):
            rows.append([Span((label if at == 0 else "").ljust(LABEL), "muted"), *part])
    return rows


def _head(notes: TokenNotes, width: int, stacked: bool) -> list[Line]:
    head = line_of(notes.head)
    figures = [line_of(figure) for figure in notes.figures]
    if stacked:
        return [*wrapped(head, width), *figures]
    right: Line = []
    # The last figures are kept: rank goes before the market's size does.
    for figure in reversed(figures):
        longer = [*figure, *([Span("   ")] if right else []), *right]
        if width_of(head) + 2 + width_of(longer) <= width:
            right = longer
    return [spread(head, right, width)] if right else wrapped(head, width)

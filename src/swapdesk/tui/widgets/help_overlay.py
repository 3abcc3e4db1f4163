"""Every key that works here, then those that work everywhere; generated, never written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.widget import Widget

from swapdesk.tui.commands.everywhere import Keys
from swapdesk.tui.spans import Line, Span, fill, wrapped
from swapdesk.tui.widgets.lines_view import LinesView, section_line
from swapdesk.tui.widgets.reading_overlay import ReadingOverlay

GAP = 4
TWO_FROM = 92


@dataclass(frozen=True, slots=True)
class HelpRow:
    """A key and what it does."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class HelpGroup:
    """``This screen``, ``Everywhere``, or the widget that has the focus."""

    title: str
    rows: Sequence[HelpRow]


class HelpText(LinesView):
    """Groups beside one another from 92 cells, else below one another."""

    def __init__(self, groups: Sequence[HelpGroup], **place: Any) -> None:
        super().__init__(**place)
        self.groups = tuple(groups)

    def lines(self, width: int) -> list[Line]:
        return help_lines(self.groups, width)


class HelpOverlay(ReadingOverlay):
    """``?`` opens it, ``?`` or ``esc`` closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(Keys.KEY, "leave", "close", show=False, id=Keys.id()),
    ]

    def __init__(self, groups: Sequence[HelpGroup]) -> None:
        super().__init__()
        self._groups = tuple(groups)

    def compose_panel(self) -> Sequence[Widget]:
        return (HelpText(self._groups),)


def help_lines(groups: Sequence[HelpGroup], width: int) -> list[Line]:
    shown = [group for group in groups if group.rows]
    if width < TWO_FROM or len(shown) < 2:
        rows: list[Line] = []
        for group in shown:
            rows += [*([[]] if rows else []), *_group_lines(group, width)]
        return rows
    column = (width - GAP) // 2
    # Everywhere stands at the right, all else at the left.
    left: list[Line] = []
    for group in shown[:-1]:
        left += [*([[]] if left else []), *_group_lines(group, column)]
    right = _group_lines(shown[-1], column)
    return [
        [*fill(one or [], column), Span(" " * GAP), *(other or [])]
        for one, other in zip_longest(left, right)
    ]


def _group_lines(group: HelpGroup, width: int) -> list[Line]:
    size = max(cell_len(row.key) for row in group.rows) + 3
    lines = [section_line(group.title, "", width)]
    for row in group.rows:
        text = wrapped([Span(row.text)], width - size)
        for at, part in enumerate(text):
            key = row.key if at == 0 else ""
            pad = " " * (size - cell_len(key))
            lines.append([Span(key, "accent", bold=True), Span(pad), *part])
    return lines

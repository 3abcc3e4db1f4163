"""Columns and rows of a table, how they are laid out in cells, and which rows are in view. Nothing
here draws. If the screen is too narrow, whole columns are dropped. A number is never cut."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple

from msgspec import Struct
from rich.cells import cell_len
from textual.geometry import Region

from swapdesk.flows.notation import split_at_point
from swapdesk.tui.spans import (
    Line,
    LineLike,
    Span,
    cut,
    fill,
    line_of,
    plain_text,
    push_right,
    width_of,
)
from swapdesk.tui.widgets.lines_view import section_line

Align = Literal["left", "right", "point"]
KEEP = 1_000
"""The priority of a column that is never dropped."""
LEAST_WORD = 4


class Column(Struct, frozen=True):
    """A column of a table, ``width`` cells wide without its ``gap``. If there is no room, columns
    with the lowest ``priority`` are left out first. ``unit`` is the width of a symbol after the
    number, or 0."""

    key: str
    label: str
    width: int
    align: Align = "left"
    priority: int = KEEP
    role: str = "foreground"
    gap: int = 2
    grow: int = 0
    unit: int = 0


Cell = LineLike


class Row(Struct):
    """A row of a table. ``cells`` has its cells by column key; missing cells are empty. ``tail``
    replaces the cells from the column ``tail_from`` on."""

    key: str
    cells: Mapping[str, Cell]
    role: str = ""
    tail: Cell = ""
    tail_from: str = ""
    selectable: bool = True


class Section(Struct):
    """A label between the rows of a table, as ``Open ───── 5``. ``stale`` is the age of outdated
    data, as ``41s old``; otherwise empty."""

    key: str
    label: str
    fact: str = ""
    stale: str = ""
    selectable: ClassVar[bool] = False


class Prose(Struct):
    """A row of text over the whole width of the table. Without text it is an empty row."""

    key: str
    text: LineLike = ""
    selectable: ClassVar[bool] = False


Needs = tuple[tuple[str, int, int], ...]
"""For each column aligned on the decimal point: its key, and the cells before and from the
point."""


class Sketch(Struct):
    """A row whose cells are not made yet. ``draw`` makes the row. ``needs`` is the room that its
    numbers need."""

    key: str
    draw: Callable[[], Row]
    needs: Needs = ()
    selectable: ClassVar[bool] = True


TableRow = Row | Section | Prose | Sketch


class Laid(NamedTuple):
    """A row that is laid out: its parts, one part for each column, and the whole line."""

    row: TableRow
    pieces: list[Line]
    line: Line


KEPT = 128
"""Number of laid out rows that are kept for reuse, more than fit on a screen."""


class TableLayout:
    """The widths and positions of a table's columns for a given width."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        self._points = {column.key: (0, 0) for column in columns if column.align == "point"}
        """Most cells before and from the decimal point, by key of an aligned column."""
        self._width = -1
        self._placed: list[tuple[Column, int]] = []
        self._placed_for: list[int] = []
        """The table's width and cells from decimal points for which positions were computed."""
        self._laid: dict[str, Laid] = {}

    def measure(self, row: TableRow) -> bool:
        """Makes the columns of numbers wide enough for ``row``. Returns True if a column became
        wider."""
        needs: Needs = ()
        if isinstance(row, Sketch):
            needs = row.needs
        elif isinstance(row, Row):
            needs = self.needs(row.cells)
        before = self._points
        for key, left, right in needs:
            most_left, most_right = self._points[key]
            if left > most_left or right > most_right:
                grown = (max(left, most_left), max(right, most_right))
                self._points = {**self._points, key: grown}
        if self._points is not before:
            self._width = -1
        return self._points is not before

    def needs(self, cells: Mapping[str, Cell]) -> Needs:
        needs: list[tuple[str, int, int]] = []
        for column in self.columns:
            content = cells.get(column.key)
            if column.key not in self._points or not content:
                continue
            whole, rest, number = split_at_point(_number(column, plain_text(line_of(content)))[0])
            if number:
                needs.append((column.key, cell_len(whole), cell_len(rest)))
        return tuple(needs)

    def forget(self) -> None:
        """Forgets the measured widths of all numbers, so that new rows can be measured."""
        self._points = dict.fromkeys(self._points, (0, 0))
        self._width = -1

    def placed(self, width: int) -> list[tuple[Column, int]]:
        """Returns the columns that are shown if the table is ``width`` cells wide, each with its
        own width in cells."""
        if width == self._width:
            return self._placed
        shown = list(self.columns)
        while len(shown) > 1 and self._needed(shown) > width:
            weakest = min(shown, key=lambda column: column.priority)
            if weakest.priority >= KEEP:
                break
            shown.remove(weakest)
        sizes = {column.key: self._size(column) for column in shown}
        free = width - self._needed(shown)
        while free < 0:
            # Words may be cut, numbers never: the widest word column gives a cell.
            words = [c for c in shown if c.align == "left" and sizes[c.key] > LEAST_WORD]
            if not words:
                break
            sizes[max(words, key=lambda c: sizes[c.key]).key] -= 1
            free += 1
        shares = sum(column.grow for column in shown)
        for column in shown:
            if shares and free > 0:
                sizes[column.key] += free * column.grow // shares
        placed = [(column, sizes[column.key]) for column in shown]
        wanted = [width, *(right for _, right in self._points.values())]
        if (placed, wanted) != (self._placed, self._placed_for):
            self._placed, self._placed_for = placed, wanted
            self._laid.clear()
        self._width = width
        return self._placed

    def arrangement(self, width: int) -> tuple[list[tuple[Column, int]], list[int]]:
        """Returns everything on which the positions of cells depend. Two layouts with equal results
        place their cells alike."""
        return self.placed(width), self._placed_for

    def head(self, width: int) -> Line:
        """Returns the row of column names. The name of a column of numbers ends at the column's
        right edge."""
        line: Line = []
        for at, (column, size) in enumerate(self.placed(width)):
            if at:
                line.append(Span(" " * column.gap))
            label = [Span(column.label, "muted")]
            line += fill(label, size) if column.align == "left" else push_right(label, size)
        return line

    def line(self, row: TableRow, width: int) -> Line:
        """Returns ``row`` laid out in ``width`` cells. Cells that have not changed since the row's
        last layout are reused."""
        self.placed(width)
        former = self._laid.get(row.key)
        if former is not None and former.row is row:
            return former.line
        if isinstance(row, Row):
            pieces = self._pieces(row, width, former)
        elif isinstance(row, Section):
            pieces = [section_line(row.label, row.fact, width, row.stale)]
        else:
            text = row.text if isinstance(row, Prose) else ""
            pieces = [fill(line_of(text), width)] if text else []
        if len(self._laid) >= KEPT and former is None:
            self._laid.clear()
        line = [span for piece in pieces for span in piece]
        self._laid[row.key] = Laid(row, pieces, line)
        return line

    def _pieces(self, row: Row, width: int, former: Laid | None) -> list[Line]:
        same: dict[str, Line] = {}
        if former is not None and isinstance(former.row, Row) and former.row.role == row.role:
            before = {} if former.row.tail else former.row.cells
            for (column, _), piece in zip(self._placed, former.pieces, strict=False):
                if before.get(column.key) == row.cells.get(column.key, ""):
                    same[column.key] = piece
        pieces: list[Line] = []
        for at, (column, size) in enumerate(self._placed):
            cell = row.cells.get(column.key, "")
            if row.tail and column.key == row.tail_from:
                gap = self._gap(at)
                room = width - sum(map(width_of, pieces)) - width_of(gap)
                pieces.append([*gap, *cut(line_of(row.tail, row.role or "foreground"), room)])
                break
            if column.key in same:
                pieces.append(same[column.key])
            else:
                role = row.role or column.role
                pieces.append([*self._gap(at), *self._cell(column, cell, size, role)])
        return pieces

    def _gap(self, at: int) -> Line:
        return [Span(" " * self._placed[at][0].gap)] if at else []

    def _cell(self, column: Column, content: Cell, size: int, role: str) -> Line:
        spans = line_of(content, role)
        if column.align == "left":
            return fill(spans, size)
        if column.align == "right" and not column.unit:
            return push_right(spans, size)
        number, unit = _number(column, plain_text(spans))
        style = spans[0] if spans else Span("", role)
        room = size - (column.unit + 1 if column.unit else 0)
        whole, rest, is_number = split_at_point(number)
        if column.align == "point" and is_number:
            _, right = self._points[column.key]
            text = (whole + rest + " " * (right - cell_len(rest))).rjust(room)
        else:
            text = " " * max(0, room - cell_len(number)) + number
        line = [Span(text, style.role, style.bold, amount=column.align == "point")]
        if column.unit:
            line += [Span(" "), *fill([Span(unit, "muted")], column.unit)]
        return line

    def _size(self, column: Column) -> int:
        need = self._points.get(column.key)
        if need is None:
            return column.width
        unit = column.unit + 1 if column.unit else 0
        return max(column.width, sum(need) + unit)

    def _needed(self, columns: Sequence[Column]) -> int:
        gaps = sum(column.gap for column in columns[1:])
        return gaps + sum(self._size(column) for column in columns)


def _number(column: Column, text: str) -> tuple[str, str]:
    if not column.unit or " " not in text:
        return text, ""
    number, _, unit = text.rpartition(" ")
    return number, unit


MARGIN = 2
"""Cells that stay free at each side of a row."""


class TableView(NamedTuple):
    """The visible part of a table. The first ``head`` of its ``height`` lines are column names and
    rule. ``top`` is the position (from 0) of the first visible row."""

    width: int
    height: int
    top: int
    head: int

    @property
    def row_width(self) -> int:
        return self.width - 2 * MARGIN

    @property
    def room(self) -> int:
        return max(0, self.height - self.head)

    def row_at(self, y: int) -> int | None:
        """Returns the position of the row on line ``y``. The position may be beyond the last row.
        None if that line has the column names."""
        return self.top + y - self.head if y >= self.head else None

    def shows(self, at: int) -> bool:
        return 0 <= at - self.top < self.room

    def cells(self, at: int, start: int, end: int) -> Region:
        """Returns the region of the cells from ``start`` up to ``end``, counted from the left
        margin, in the row at position ``at``."""
        return Region(MARGIN + start, at - self.top + self.head, end - start, 1)

    def row(self, at: int) -> Region:
        """Returns the region of the whole row at position ``at``, margins included."""
        return Region(0, at - self.top + self.head, self.width, 1)

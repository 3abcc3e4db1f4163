"""The rows of a table that were drawn lately: of a row that changes, only the cells that differ
are laid out anew, and it is painted from the first of them on."""

from __future__ import annotations

from collections.abc import Iterable

from rich.style import Style
from textual.app import App
from textual.geometry import Region
from textual.strip import Strip

from swapdesk.tui.lines_view import changed_cells
from swapdesk.tui.painting import Stroke, paint, paints_by_parts
from swapdesk.tui.spans import Line, width_of
from swapdesk.tui.widgets.table_layout import Column, Row, TableLayout, TableRow
from swapdesk.tui.widgets.table_view import TableView

Change = tuple[int, TableRow | None, TableRow | None]
"""A place in a table, what stood there and what stands there now."""

KEPT = 128
"""Rows that are remembered: more than a screen has."""


class LaidRow:
    """One row in its columns. ``since`` is its first piece that was not there before, and
    ``start`` the cell in which that begins."""

    __slots__ = ("_begun", "pieces", "row", "since", "start")

    def __init__(self, row: Row, pieces: list[Line], since: int = 0) -> None:
        self.row = row
        self.pieces = pieces
        self.since = since
        self.start = sum(map(width_of, pieces[:since]))
        self._begun: _Begun | None = None

    @property
    def line(self) -> Line:
        """The whole row."""
        return [span for piece in self.pieces for span in piece]

    def followed_by(self, row: Row, layout: TableLayout, width: int) -> LaidRow:
        """The row after it in its place; cells that are equal are kept."""
        before = self.row
        if row.tail or before.tail or row.role != before.role:
            return LaidRow(row, layout.pieces(row, width))
        old, new = before.cells, row.cells
        pieces, since = self.pieces.copy(), len(self.pieces)
        for at, (column, size) in enumerate(layout.placed(width)):
            if old.get(column.key, "") != new.get(column.key, ""):
                pieces[at] = layout.piece(row, at, size)
                since = min(since, at)
        if since != self.since:
            return LaidRow(row, pieces, since)
        after = LaidRow.__new__(LaidRow)
        after.row, after.pieces, after.since, after.start = row, pieces, since, self.start
        after._begun = self._begun
        return after

    def difference(self, after: LaidRow) -> tuple[int, int] | None:
        """First and last-plus-one cell in which it differs from the row before, None if in none."""
        since, end = after.since, len(after.pieces)
        if end != len(self.pieces):
            return changed_cells(self.line, after.line)
        while end > since and self.pieces[end - 1] is after.pieces[end - 1]:
            end -= 1
        old = [span for piece in self.pieces[since:end] for span in piece]
        new = [span for piece in after.pieces[since:end] for span in piece]
        if width_of(old) != width_of(new):
            return changed_cells(self.line, after.line)
        changed = changed_cells(old, new)
        if changed is None:
            return None
        return after.start + changed[0], after.start + changed[1]

    def painted(self, app: App[object], edge: Line, width: int, base: Style) -> Strip:
        """As :func:`paint`, with ``edge`` before it."""
        if not self.since or not paints_by_parts(app):
            return paint(app, [*edge, *self.line], width, base)
        begun = self._begun
        if begun is None or not begun.holds(app, edge, base):
            begun = self._begun = _Begun(app, edge, self.pieces[: self.since], base)
        stroke = begun.stroke.copy()
        for piece in self.pieces[self.since :]:
            stroke.add(piece)
        return stroke.strip(width)


class _Begun:
    """A row that is painted up to one of its pieces, and what that depends on."""

    __slots__ = ("_base", "_colours", "_edge", "_links", "stroke")

    def __init__(self, app: App[object], edge: Line, pieces: list[Line], base: Style) -> None:
        self._edge = edge
        self._base = base
        # A theme brings its colours as another object.
        self._colours = app.theme_variables
        self._links = getattr(app, "draws_links", False)
        self.stroke = Stroke(app, base)
        self.stroke.add(edge)
        for piece in pieces:
            self.stroke.add(piece)

    def holds(self, app: App[object], edge: Line, base: Style) -> bool:
        return (
            self._colours is app.theme_variables
            and self._links == getattr(app, "draws_links", False)
            and self._base == base
            and self._edge == edge
        )


class LaidRows:
    """Rows by their key, as long as the columns keep their places."""

    def __init__(self) -> None:
        self._rows: dict[str, LaidRow] = {}
        self._placed: list[tuple[Column, int]] | None = None

    def laid(self, row: Row, layout: TableLayout, width: int) -> LaidRow:
        """The row in its columns."""
        self._settle(layout, width)
        known = self._rows.get(row.key)
        if known is None or known.row is not row:
            known = self._keep(LaidRow(row, layout.pieces(row, width)))
        return known

    def regions(
        self, changes: Iterable[Change], layout: TableLayout, view: TableView
    ) -> list[Region]:
        """What is to be painted of rows that stand in the place of others."""
        regions: list[Region] = []
        for at, before, row in changes:
            if view.shows(at):
                changed = self.replaced(before, row, layout, view.row_width)
                regions += [view.cells(at, *changed)] if changed else []
        return regions

    def replaced(
        self, before: TableRow | None, row: TableRow | None, layout: TableLayout, width: int
    ) -> tuple[int, int] | None:
        """The cells in which a row differs from what stood in its place."""
        if before is row:
            return None
        if isinstance(before, Row) and isinstance(row, Row) and before.key == row.key:
            old = self.laid(before, layout, width)
            return old.difference(self._keep(old.followed_by(row, layout, width)))
        lines = (layout.row_line(each, width) if each else [] for each in (before, row))
        return changed_cells(*lines)

    def _settle(self, layout: TableLayout, width: int) -> None:
        placed = layout.placed(width)
        if placed is not self._placed:
            self._placed = placed
            self._rows.clear()

    def _keep(self, laid: LaidRow) -> LaidRow:
        if len(self._rows) >= KEPT and laid.row.key not in self._rows:
            self._rows.clear()
        self._rows[laid.row.key] = laid
        return laid

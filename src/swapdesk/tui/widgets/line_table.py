"""A table on Textual's line API: only visible rows are laid out, and only changed cells are
written. The cursor belongs to the key of a row. It stays on its row while rows move, come or go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.style import Style
from textual import events, on
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from swapdesk.tui.glyphs import CURSOR
from swapdesk.tui.painting import paint, selected_style
from swapdesk.tui.spans import Line, LineLike, Span, fill, line_of, rule, wrapped
from swapdesk.tui.widgets.lines_view import changed_cells, lay_out_again
from swapdesk.tui.widgets.table_layout import (
    MARGIN,
    Column,
    Sketch,
    TableLayout,
    TableRow,
    TableView,
)


@dataclass
class RowMessage(Message):
    """A message about the row with the key ``key`` of ``table``."""

    table: Widget
    key: str

    @property
    def control(self) -> Widget:
        return self.table


class KeyedRows:
    """The rows of a table, which can be found by their keys. ``cursor`` is the position of the row
    under the cursor; -1 if no row can have the cursor."""

    def __init__(self) -> None:
        self.all: list[TableRow] = []
        self.cursor = -1
        self._at: dict[str, int] = {}

    @property
    def current(self) -> TableRow | None:
        return self.all[self.cursor] if self.cursor >= 0 else None

    def at(self, key: str) -> int:
        """Returns the position (from 0) of the row with this key. Raises KeyError if no row has
        it."""
        return self._at[key]

    def selectable_at(self, key: str) -> int | None:
        """Returns the position of the row with this key. None if no row has the key, or if the row
        (such as a label) cannot have the cursor."""
        at = self._at.get(key)
        return at if at is not None and self.all[at].selectable else None

    def replace(self, rows: Iterable[TableRow]) -> None:
        """Replaces all rows. The cursor stays on the row with its key, or else moves nearby. Raises
        ValueError if two rows have the same key."""
        kept = self.current.key if self.current is not None else None
        self.all = list(rows)
        self._at = {row.key: at for at, row in enumerate(self.all)}
        if len(self._at) != len(self.all):
            raise ValueError("two rows have the same key")
        at = self.selectable_at(kept) if kept is not None else None
        self.cursor = at if at is not None else self._near(self.cursor)

    def put(self, row: TableRow) -> None:
        """Replaces the row that has the key of ``row``. Raises KeyError if there is no such row."""
        at = self._at[row.key]
        self.all[at] = row
        if at == self.cursor and not row.selectable:
            self.cursor = self._near(at)

    def away(self, steps: int) -> int:
        """Returns the position to which the cursor moves by ``steps`` rows (negative: up). Rows
        that cannot have the cursor are skipped. Returns -1 if no row can have it."""
        return self._selectable_from(self.cursor, steps)

    def group_top(self, room: int) -> int:
        """Returns the position of the row to scroll to, so that the cursor's row and as many labels
        directly above it as possible are within ``room`` rows."""
        first = self.cursor
        while first and not self.all[first - 1].selectable and self.cursor - first < room - 1:
            first -= 1
        return first

    def _near(self, old: int) -> int:
        return self._selectable_from(min(max(old, 0), len(self.all)) - 1, 1)

    def _selectable_from(self, start: int, steps: int) -> int:
        if not self.all or not steps:
            return start
        forward = 1 if steps > 0 else -1
        wanted = min(len(self.all) - 1, max(0, start + steps))
        for direction in (forward, -forward):
            at = wanted
            while 0 <= at < len(self.all):
                if self.all[at].selectable:
                    return at
                at += direction
        return -1


Change = tuple[int, TableRow | None, TableRow | None]
"""Position, former row and new row; None for no row."""

_END = 10**9


class LineTable(ScrollView, can_focus=True):
    """A table in fixed columns. Only visible rows are drawn, so 50,000 rows cost no more than
    50."""

    DEFAULT_CSS = """
    LineTable {
        height: 1fr;
        width: 1fr;
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size: 0 0;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "down", show=False),
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("ctrl+d", "half_page(1)", "half a page down", show=False),
        Binding("ctrl+u", "half_page(-1)", "half a page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("home", f"move({-_END})", "first row", show=False),
        Binding("end", f"move({_END})", "last row", show=False),
        Binding("enter", "choose", "choose", show=False),
    ]

    below: var[int] = var(0)
    """The number of rows below the visible part of the table."""

    class Highlighted(RowMessage):
        """Reports that the cursor moved to a new row."""

    class Chosen(RowMessage):
        """The message that the user pressed ``enter`` on a row."""

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        heads: bool = True,
        empty: LineLike = "",
        **place: Any,
    ) -> None:
        """Makes the table. ``empty`` is shown while there are no rows. If ``heads`` is False, the
        table has no column names."""
        super().__init__(**place)
        self._layout = TableLayout(columns)
        self.head_height = 2 if heads else 0
        """Number of lines for the column names and the rule below them."""
        self._empty = line_of(empty, "muted")
        self._rows = KeyedRows()
        self._drawing: tuple[Style, TableView] | None = None
        """The style and visible part while lines are drawn; None at other times."""

    # what stands in the table

    @property
    def rows(self) -> Sequence[TableRow]:
        return self._rows.all

    @property
    def cursor_key(self) -> str:
        """The key of the row under the cursor; empty if there is none."""
        row = self._rows.current
        return "" if row is None else row.key

    def visible_keys(self) -> list[str]:
        view = self.view
        return [row.key for row in self.rows[view.top : view.top + view.room]]

    @property
    def view(self) -> TableView:
        size = self.size
        return TableView(size.width, size.height, int(self.scroll_offset.y), self.head_height)

    def set_columns(self, columns: Sequence[Column]) -> None:
        if tuple(columns) == self._layout.columns:
            return
        self._layout = TableLayout(columns)
        self._measure(self.rows)
        self.refresh()

    def set_empty(self, sentence: LineLike) -> None:
        """Sets the sentence for a table without rows: that it is empty, that it is loading, or an
        error."""
        before, self._empty = self._empty, line_of(sentence, "muted")
        if not self.rows and before != self._empty:
            self.refresh()

    def set_rows(self, rows: Iterable[TableRow], measured: TableLayout | None = None) -> None:
        """Replaces all rows. The cursor stays on the row with its key. ``measured`` is a layout
        that has already measured the rows; None measures them now. Raises ValueError if two rows
        have the same key."""
        before, kept, old_cursor = self.rows, self.cursor_key, self._rows.cursor
        self._rows.replace(rows)
        width = self.size.width - 2 * MARGIN
        places = self._layout.arrangement(width) if width > 0 else None
        if measured is not None:
            self._layout = measured
        else:
            self._layout.forget()
            self._measure(self.rows)
        if self.is_mounted:
            moved = places is None or places != self._layout.arrangement(width)
            self._fit()
            if moved or bool(before) != bool(self.rows):
                self.refresh()
            elif before:
                self._repaint_changes(before, old_cursor)
            self._show_cursor()
        if self.cursor_key and self.cursor_key != kept:
            self.post_message(self.Highlighted(self, self.cursor_key))

    def update_rows(self, rows: Iterable[TableRow]) -> None:
        """Replaces the rows of the table that have the keys of ``rows``. Raises KeyError if the
        table has no row with such a key."""
        cursor = self._rows.cursor
        changes: list[Change] = []
        for row in rows:
            at = self._rows.at(row.key)
            changes.append((at, self.rows[at], row))
            self._rows.put(row)
        if self._measure(row for *_, row in changes) or self._rows.cursor != cursor:
            self.refresh()
        else:
            self._repaint(changes)

    def move_to(self, key: str) -> bool:
        """Moves the cursor to the row with the key ``key``. Returns False if that is impossible."""
        at = self._rows.selectable_at(key)
        if at is None:
            return False
        self._put_cursor(at)
        return True

    # keys

    def action_move(self, steps: int) -> None:
        target = self._rows.away(steps)
        if target >= 0:
            self._put_cursor(target)

    def action_half_page(self, direction: int) -> None:
        self.action_move(direction * max(1, self.view.room // 2))

    def action_page(self, direction: int) -> None:
        self.action_move(direction * max(1, self.view.room - 1))

    def action_choose(self) -> None:
        if self.cursor_key:
            self.post_message(self.Chosen(self, self.cursor_key))

    def on_click(self, event: events.Click) -> None:
        at = self.view.row_at(event.y)
        if at is not None and at < len(self.rows) and self.rows[at].selectable:
            self._put_cursor(at)

    # drawing

    def on_mount(self) -> None:
        self._fit()

    def on_resize(self) -> None:
        self._fit()
        self._catch_up()
        self._show_cursor()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._count_below()
        self._catch_up()

    def _count_below(self) -> None:
        shown = int(self.scroll_offset.y) + max(0, self.size.height - self.head_height)
        self.below = max(0, len(self.rows) - shown)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.head_height + max(1, len(self.rows))

    def render_lines(self, crop: Region) -> list[Strip]:
        # The style is computed from all ancestors: once, not for each row.
        self._drawing = self.rich_style, self.view
        try:
            return super().render_lines(crop)
        finally:
            self._drawing = None

    def render_line(self, y: int) -> Strip:
        base, view = self._drawing or (self.rich_style, self.view)
        at = view.row_at(y)
        edge = [Span(" " * MARGIN)]
        if at is not None and at == self._rows.cursor and self._shows_cursor:
            edge, base = [Span(CURSOR, "accent"), Span(" ")], base + selected_style(self.app)
        if at is not None and at < len(self.rows):
            line = self._layout.line(self._seen(at), view.row_width)
        else:
            line = self._line_beside(y, view)
        return paint(self.app, [*edge, *line], view.width, base)

    @property
    def _shows_cursor(self) -> bool:
        return self.has_focus or not self.can_focus or self.screen.focused is None

    @on(events.Focus)
    @on(events.Blur)
    def _focus_moved(self) -> None:
        self._refresh_row(self._rows.cursor)

    def _line_beside(self, y: int, view: TableView) -> Line:
        if y < view.head:
            return rule(view.row_width) if y else self._layout.head(view.row_width)
        sentence = [] if self.rows else wrapped(self._empty, view.row_width)
        below = y - view.head
        return fill(sentence[below], view.row_width) if below < len(sentence) else []

    def _measure(self, rows: Iterable[TableRow | None]) -> bool:
        grown = False
        for row in rows:
            grown = (row is not None and self._layout.measure(row)) or grown
        return grown

    def _seen(self, at: int) -> TableRow:
        row = self.rows[at]
        if isinstance(row, Sketch):
            row = row.draw()
            self._rows.put(row)
            if self._layout.measure(row):
                self.refresh()
        return row

    def _catch_up(self) -> None:
        """Makes the cells of rows that came into view. Call it before painting, because it may
        widen columns."""
        view = self.view
        for at in range(view.top, min(view.top + view.room, len(self.rows))):
            self._seen(at)

    def _fit(self) -> None:
        wanted = Size(self.size.width, len(self.rows) + self.head_height)
        if self.virtual_size != wanted:
            self.virtual_size = wanted
            if self.styles.height is not None and self.styles.height.is_auto:
                lay_out_again(self)
        self._count_below()

    def _repaint_changes(self, before: Sequence[TableRow], old_cursor: int) -> None:
        view = self.view
        changes: list[Change] = []
        for at in range(view.top, view.top + view.room):
            old = before[at] if at < len(before) else None
            new = self._seen(at) if at < len(self.rows) else None
            if (at == old_cursor) != (at == self._rows.cursor):
                self._refresh_row(at)
            else:
                changes.append((at, old, new))
        self._repaint(changes)

    def _repaint(self, changes: Iterable[Change]) -> None:
        view, regions = self.view, []
        for at, before, row in changes:
            if view.shows(at) and before is not row:
                old, new = (
                    self._layout.line(shown, view.row_width) if shown is not None else []
                    for shown in (before, row)
                )
                changed = changed_cells(old, new)
                regions += [view.cells(at, *changed)] if changed else []
        if regions:
            self.refresh(*regions)

    def _refresh_row(self, at: int) -> None:
        view = self.view
        if view.shows(at):
            self.refresh(view.row(at))

    # the cursor

    def _put_cursor(self, at: int) -> None:
        before = self._rows.cursor
        if at == before:
            return
        self._rows.cursor = at
        self._show_cursor()
        self._refresh_row(before)
        self._refresh_row(at)
        self.post_message(self.Highlighted(self, self.rows[at].key))

    def _show_cursor(self) -> None:
        view, cursor = self.view, self._rows.cursor
        if cursor < 0 or view.room <= 0:
            return
        first = self._rows.group_top(view.room)
        if first < view.top:
            self.scroll_to(y=first, animate=False, immediate=True)
        elif cursor >= view.top + view.room:
            self.scroll_to(y=cursor - view.room + 1, animate=False, immediate=True)

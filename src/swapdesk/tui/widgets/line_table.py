"""A table on Textual's line API: only visible rows are built, only changed cells are written.

The cursor belongs to a row key. Rows that move, come or go never move it to another row unless
its own row is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from swapdesk.tui.glyphs import CURSOR
from swapdesk.tui.painting import paint, selected_style
from swapdesk.tui.spans import Line, LineLike, Span, fill, line_of, rule, wrapped
from swapdesk.tui.widgets.keyed_rows import KeyedRows
from swapdesk.tui.widgets.laid_rows import LaidRows
from swapdesk.tui.widgets.row_message import RowMessage
from swapdesk.tui.widgets.table_layout import Column, Row, TableLayout, TableRow

MARGIN = 2
_END = 10**9


class LineTable(ScrollView, can_focus=True):
    """Heads, a thin rule, rows. Fixed columns; 50,000 rows cost no more than 50."""

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

    class Highlighted(RowMessage):
        """The cursor stands on another row."""

    class Chosen(RowMessage):
        """``enter`` on a row."""

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        heads: bool = True,
        head_rule: bool = True,
        empty: LineLike = "",
        **place: Any,
    ) -> None:
        """``empty`` is the sentence drawn while there are no rows (also: what is being asked)."""
        super().__init__(**place)
        self._layout = TableLayout(columns)
        self._heads = heads
        self._head_rule = heads and head_rule
        self._empty = line_of(empty, "muted")
        self._rows = KeyedRows()
        self._laid_rows = LaidRows()
        self._base: Style | None = None
        """The style below the rows while they are drawn together."""

    # what stands in the table

    @property
    def rows(self) -> Sequence[TableRow]:
        return self._rows.all

    @property
    def cursor_key(self) -> str | None:
        """The key of the row under the cursor, None in a table without selectable rows."""
        row = self._rows.current
        return row.key if row is not None else None

    @property
    def cursor_row(self) -> Row | None:
        row = self._rows.current
        return row if isinstance(row, Row) else None

    @property
    def head_height(self) -> int:
        return int(self._heads) + int(self._head_rule)

    def visible_keys(self) -> list[str]:
        """Keys of the rows that are on the screen now."""
        top = int(self.scroll_offset.y)
        room = max(0, self.size.height - self.head_height)
        return [row.key for row in self.rows[top : top + room]]

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Other columns or heads; the rows stay."""
        self._layout = TableLayout(columns)
        for row in self.rows:
            self._layout.measure(row)
        self.refresh()

    def set_empty(self, sentence: LineLike) -> None:
        """The sentence for a table without rows: empty, loading or the reason of an error."""
        before, self._empty = self._empty, line_of(sentence, "muted")
        if not self.rows and before != self._empty:
            self.refresh()

    def set_rows(self, rows: Iterable[TableRow], measured: TableLayout | None = None) -> None:
        """Replace all rows. The cursor stays on its key; visible rows that differ are repainted.

        ``measured`` has these columns and has seen the rows. :class:`ValueError` when two rows
        have one key.
        """
        before, kept, old_cursor = self.rows, self.cursor_key, self._rows.cursor
        self._rows.replace(rows)
        widths = self._layout.placed(self._width) if self._width > 0 else []
        if measured is not None:
            self._layout = measured
        else:
            self._layout.forget()
            for row in self.rows:
                self._layout.measure(row)
        if self.is_mounted:
            moved = self._width <= 0 or widths != self._layout.placed(self._width)
            self._fit()
            if moved or bool(before) != bool(self.rows):
                self.refresh()
            elif before:
                self._repaint_changes(before, old_cursor)
            self._show_cursor()
        if self.cursor_key is not None and self.cursor_key != kept:
            self.post_message(self.Highlighted(self, self.cursor_key))

    def update_row(self, row: TableRow) -> None:
        """Replace the row of the same key in place; :class:`KeyError` when there is none."""
        at = self._rows.at(row.key)
        before, stood = self._rows[at], self._rows.cursor
        self._rows.put(row)
        if self._layout.measure(row, before) or self._rows.cursor != stood:
            self.refresh()
            return
        self._repaint(at, self.laid(before), self.laid(row))

    def move_to(self, key: str) -> bool:
        """Put the cursor on a row; False when the key is not there or cannot be selected."""
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
        self.action_move(direction * max(1, (self.size.height - self.head_height) // 2))

    def action_page(self, direction: int) -> None:
        self.action_move(direction * max(1, self.size.height - self.head_height - 1))

    def action_choose(self) -> None:
        if self.cursor_key is not None:
            self.post_message(self.Chosen(self, self.cursor_key))

    def on_click(self, event: events.Click) -> None:
        at = int(self.scroll_offset.y) + event.y - self.head_height
        if event.y >= self.head_height and at < len(self._rows) and self._rows[at].selectable:
            self._put_cursor(at)

    # drawing

    def on_mount(self) -> None:
        self._fit()

    def on_resize(self) -> None:
        self._fit()
        self._show_cursor()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self.head_height + max(1, len(self._rows))

    def render_lines(self, crop: Region) -> list[Strip]:
        # What is below the rows is asked of every ancestor: once, not for each row.
        self._base = self.rich_style
        try:
            return super().render_lines(crop)
        finally:
            self._base = None

    def render_line(self, y: int) -> Strip:
        base, width = self._base or self.rich_style, self.size.width
        at = self._at(y)
        edge = [Span(" " * MARGIN)]
        if at is not None and at == self._rows.cursor and self._shows_cursor:
            edge, base = [Span(CURSOR, "accent"), Span(" ")], base + selected_style(self.app)
        row = self.laid(self._rows[at]) if at is not None else None
        if isinstance(row, Row):
            laid = self._laid_rows.laid(row, self._layout, width - 2 * MARGIN)
            return laid.painted(self.app, edge, width, base)
        return paint(self.app, [*edge, *self._line_at(y)], width, base)

    @property
    def _shows_cursor(self) -> bool:
        """A table that a field drives (it takes no focus itself) shows its cursor always."""
        return self.has_focus or not self.can_focus or self.screen.focused is None

    def on_focus(self) -> None:
        self._refresh_row(self._rows.cursor)

    def on_blur(self) -> None:
        self._refresh_row(self._rows.cursor)

    @property
    def _width(self) -> int:
        return self.size.width - 2 * MARGIN

    def _at(self, y: int) -> int | None:
        """Which row stands there."""
        at = int(self.scroll_offset.y) + y - self.head_height
        return at if y >= self.head_height and at < len(self._rows) else None

    def _line_at(self, y: int) -> Line:
        if self._heads and y == 0:
            return self._layout.head(self._width)
        if self._head_rule and y == 1:
            return rule(self._width)
        at = self._at(y)
        if at is not None:
            return self._layout.row_line(self._rows[at], self._width)
        said = [] if self._rows else wrapped(self._empty, self._width)
        below = y - self.head_height
        return fill(said[below], self._width) if below < len(said) else []

    def laid(self, row: TableRow) -> TableRow:
        """The row with its cells, for a table that lays out the rows in view only."""
        return row

    def _fit(self) -> None:
        wanted = Size(self.size.width, len(self._rows) + self.head_height)
        if self.virtual_size != wanted:
            self.virtual_size = wanted
            if self.styles.height is not None and self.styles.height.is_auto:
                self.refresh(layout=True)

    def _repaint_changes(self, before: Sequence[TableRow], old_cursor: int) -> None:
        top = int(self.scroll_offset.y)
        for at in range(top, top + max(0, self.size.height - self.head_height)):
            old = self.laid(before[at]) if at < len(before) else None
            new = self.laid(self._rows[at]) if at < len(self._rows) else None
            if (at == old_cursor) != (at == self._rows.cursor):
                self._refresh_row(at)
            else:
                self._repaint(at, old, new)

    def _repaint(self, at: int, old: TableRow | None, new: TableRow | None) -> None:
        size, y = self.size, at - int(self.scroll_offset.y) + self.head_height
        if not self.head_height <= y < size.height:
            return
        changed = self._laid_rows.replaced(old, new, self._layout, size.width - 2 * MARGIN)
        if changed is not None:
            start, end = changed
            self.refresh(Region(MARGIN + start, y, end - start, 1))

    def _refresh_row(self, at: int) -> None:
        y = at - int(self.scroll_offset.y) + self.head_height
        if at >= 0 and self.head_height <= y < self.size.height:
            self.refresh(Region(0, y, self.size.width, 1))

    # the cursor

    def _put_cursor(self, at: int) -> None:
        before = self._rows.cursor
        if at == before:
            return
        self._rows.cursor = at
        self._show_cursor()
        self._refresh_row(before)
        self._refresh_row(at)
        self.post_message(self.Highlighted(self, self._rows[at].key))

    def _show_cursor(self) -> None:
        room = self.size.height - self.head_height
        cursor = self._rows.cursor
        if cursor < 0 or room <= 0:
            return
        top, first = int(self.scroll_offset.y), self._rows.group_top(room)
        if first < top:
            self.scroll_to(y=first, animate=False, immediate=True)
        elif cursor >= top + room:
            self.scroll_to(y=cursor - room + 1, animate=False, immediate=True)

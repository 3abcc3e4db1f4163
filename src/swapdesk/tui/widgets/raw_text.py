"""Text as it came, line by line, each wrapped under its own indentation."""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.tui.spans import plain_text, wrapped
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.table_layout import Column, Row

MARGINS = 4


class RawText(LineTable):
    """Every row can be stood on, so that all of it is read with the keys of a table."""

    def __init__(self) -> None:
        super().__init__([Column("text", "", 20, grow=1)], heads=False)
        self._lines: list[str] = []

    @property
    def value(self) -> str:
        """The whole text, as it is copied."""
        return "\n".join(self._lines)

    def show(self, lines: Sequence[str]) -> None:
        self._lines = list(lines)
        self._wrap()

    def on_resize(self) -> None:
        # The table's own handler follows; the toolkit calls both.
        self._wrap()

    def _wrap(self) -> None:
        width = max(20, self.app.size.width - MARGINS)
        rows: list[Row] = []
        for at, line in enumerate(self._lines):
            indent = len(line) - len(line.lstrip()) + 2
            for part, text in enumerate(wrapped(line, width, min(indent, width // 2))):
                rows.append(Row(f"{at}.{part}", {"text": plain_text(text)}))
        self.set_rows(rows)

"""Where the orders shown are written: a path that can be changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from textual import on
from textual.widget import Widget

from swapdesk.flows.orders.order_export import UnknownForm, form_of
from swapdesk.tui.glyphs import REFUSED
from swapdesk.tui.spans import LineLike, Span
from swapdesk.tui.widgets.key_bar import KeyHint
from swapdesk.tui.widgets.lines_view import TextRows
from swapdesk.tui.widgets.overlay import Overlay
from swapdesk.tui.widgets.text_field import TextField

LIMIT = 400
FORMS: LineLike = [Span("A name that ends in .csv is written as CSV, in .json as JSON.", "muted")]


class ExportOverlay(Overlay[Path]):
    """Dismisses with the path; None when left."""

    def __init__(self, count: int, path: Path) -> None:
        super().__init__([KeyHint("enter", "write")])
        noun = "order" if count == 1 else "orders"
        self._head: LineLike = [Span(f"Export {count} {noun}", bold=True)]
        self._said = TextRows([self._head, FORMS])
        self._field = TextField(limit=LIMIT)
        self._path = path

    def compose_panel(self) -> Sequence[Widget]:
        return (self._said, self._field)

    def on_mount(self) -> None:
        self._field.set_value(str(self._path))
        self._field.focus()

    @on(TextField.Submitted)
    def _decide(self, event: TextField.Submitted) -> None:
        text = event.value.strip()
        if not text:
            return
        path = Path(os.path.expanduser(text))
        # A directory keeps the name that was offered.
        chosen = path / self._path.name if os.path.isdir(path) else path
        try:
            form_of(chosen)
        except UnknownForm as refused:
            self._say([Span(f"{REFUSED} {refused}", "status-trouble")])
        else:
            self.dismiss(chosen)

    @on(TextField.Changed)
    def _typed(self) -> None:
        self._say(FORMS)

    def _say(self, line: LineLike) -> None:
        self._said.show([self._head, line])

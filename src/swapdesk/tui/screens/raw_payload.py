"""What is asked to be signed, field by field as it came."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.widget import Widget

from swapdesk.tui.commands.everywhere import Back as EverywhereBack
from swapdesk.tui.commands.raw_order import Back, CopyAll
from swapdesk.tui.page import Page
from swapdesk.tui.screens.raw_order import MARGINS
from swapdesk.tui.session import Session
from swapdesk.tui.spans import plain_text, wrapped
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.table_layout import Column, Row


class RawPayloadScreen(Page):
    """Nothing is signed from here."""

    NAME = "Raw fields"
    SPENDS = "exchange"
    VERBS = (CopyAll, Back)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"

    def __init__(self, session: Session, context: str, lines: Sequence[str]) -> None:
        super().__init__(session, context=context)
        self._lines = list(lines)
        self._table = LineTable([Column("text", "", 20, grow=1)], heads=False)

    def compose_body(self) -> Iterable[Widget]:
        yield self._table

    def on_mount(self) -> None:
        super().on_mount()
        self._table.focus()
        self.set_money("as on the screen before.", "you: esc goes back to the review")
        self._wrap()

    def on_resize(self) -> None:
        super().on_resize()
        self._wrap()

    def _wrap(self) -> None:
        width = max(20, self.app.size.width - MARGINS)
        rows: list[Row] = []
        for at, line in enumerate(self._lines):
            indent = len(line) - len(line.lstrip()) + 2
            for part, text in enumerate(wrapped(line, width, min(indent, width // 2))):
                rows.append(Row(f"{at}.{part}", {"text": plain_text(text)}))
        self._table.set_rows(rows)

    def do_copy_all(self) -> None:
        copy = getattr(self.app, "copy_value", None)
        if copy is not None:
            copy("fields as JSON", "\n".join(self._lines))

    def do_back(self) -> None:
        self.post_message(self.Go(EverywhereBack))

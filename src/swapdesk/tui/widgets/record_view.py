"""A provider's record at this desk, below the waterfall of the side panel."""

from __future__ import annotations

from typing import Any

from swapdesk.flows.provider_record import ProviderRecord, record_lines
from swapdesk.tui.lines_view import LinesView
from swapdesk.tui.spans import Line, Span, rule, spread


class RecordView(LinesView):
    """Draws the record of the provider under the cursor; nothing without one."""

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._shown: tuple[str, ProviderRecord | None] | None = None

    def show(self, name: str | None, record: ProviderRecord | None) -> None:
        """``name`` is the provider's, None on routes that name none."""
        shown = None if name is None else (name, record)
        if shown != self._shown:
            self._shown = shown
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        if self._shown is None:
            return []
        rows: list[Line] = [rule(width)]
        for label, value in record_lines(*self._shown):
            rows.append(spread([Span(label)], [Span(value, "muted")], width))
        return rows

"""A provider's record at this desk, below the waterfall of the side panel."""

from __future__ import annotations

from typing import Any

from swapdesk.flows.quotes.provider_record import ProviderRecord, record_lines
from swapdesk.tui.spans import Line, Span, rule, spread
from swapdesk.tui.widgets.lines_view import LinesView


class RecordView(LinesView):
    """Draws the record of the provider under the cursor; nothing without one."""

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._shown: tuple[ProviderRecord | None] | None = None

    def show(self, record: ProviderRecord | None, *, named: bool) -> None:
        """``named`` is whether the route names its provider at all."""
        shown = (record,) if named else None
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

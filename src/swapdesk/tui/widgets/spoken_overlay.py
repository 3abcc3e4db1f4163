"""One sentence about a row, whole and alone, for a screen reader."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widget import Widget

from swapdesk.tui.widgets.lines_view import TextRows
from swapdesk.tui.widgets.reading_overlay import ReadingOverlay


class SpokenOverlay(ReadingOverlay):
    """Left with ``esc``."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.sentence = sentence

    def compose_panel(self) -> Sequence[Widget]:
        return (TextRows([self.sentence]),)

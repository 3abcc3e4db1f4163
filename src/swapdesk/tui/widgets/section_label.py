"""A muted word, a rule running right, an optional fact at its end."""

from __future__ import annotations

from typing import Any

from swapdesk.tui.glyphs import STALE
from swapdesk.tui.lines_view import LinesView
from swapdesk.tui.spans import Line, LineLike, Span, line_of, ruled


class SectionLabel(LinesView):
    """``Open ───── 5``. ``stale`` puts the mark and the age before and after the word."""

    DEFAULT_CSS = """
    SectionLabel { height: 1; }
    """

    def __init__(self, label: str, fact: LineLike = "", **place: Any) -> None:
        super().__init__(**place)
        self.label = label
        self.fact = fact
        self.stale = ""

    def show(self, label: str, fact: LineLike = "", stale: str = "") -> None:
        """``stale`` is a text as ``41s old`` or ``41s old, polling``; empty when fresh."""
        self.label, self.fact, self.stale = label, fact, stale
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return [section_line(self.label, self.fact, width, self.stale)]


def section_line(label: str, fact: LineLike, width: int, stale: str = "") -> Line:
    start: Line = [Span(label, "muted")]
    if stale:
        start = [Span(f"{STALE} ", "status-waiting"), Span(f"{label}, {stale}", "muted")]
    return ruled(start, line_of(fact, "muted"), width)

"""The bottom row: at most six keys that work now, and ``?``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swapdesk.tui.key_hint import KeyHint
from swapdesk.tui.spans import Line, Span, spread, width_of
from swapdesk.tui.widgets.lines_view import LinesView

__all__ = ["HELP_KEY", "HELP_WORD", "KeyBar", "KeyHint", "key_line"]

HELP_KEY = "?"
HELP_WORD = "keys"


class KeyBar(LinesView):
    """Keys bottom left, ``? keys`` bottom right."""

    DEFAULT_CSS = """
    KeyBar {
        height: 1;
        background: $surface;
    }
    """

    def __init__(
        self, hints: Sequence[KeyHint] = (), *, help_key: str = HELP_KEY, **place: Any
    ) -> None:
        """``help_key`` as it is written; empty where it does not work (in an overlay)."""
        super().__init__(**place)
        self.help_key = help_key
        self.hints = tuple(hints)

    def show(self, hints: Sequence[KeyHint]) -> None:
        if tuple(hints) != self.hints:
            self.hints = tuple(hints)
            self.redraw()

    def say_help_key(self, key: str) -> None:
        """Another key lists the keys now; none does when it is empty."""
        if key != self.help_key:
            self.help_key = key
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        return [key_line(self.hints, width, help_key=self.help_key)]


def key_line(hints: Sequence[KeyHint], width: int, *, help_key: str = HELP_KEY) -> Line:
    """Six keys, five below 100 cells of screen, four below 80; fewer when they do not fit.

    ``width`` is the content width: four cells less than the screen.
    """
    most = 6 if width >= 96 else 5 if width >= 76 else 4
    right: Line = []
    if help_key:
        right = [Span(help_key, "accent", bold=True), Span(f" {HELP_WORD}", "muted")]
    room = width - width_of(right) - 2
    left: Line = []
    for hint in hints[:most]:
        part = [
            Span(hint.key, "muted" if hint.locked else "accent", bold=not hint.locked),
            Span(f" {hint.text}", "muted"),
        ]
        gap = [Span("   ")] if left else []
        if width_of(left) + width_of(gap) + width_of(part) > room:
            break
        left += [*gap, *part]
    return spread(left, right, width)

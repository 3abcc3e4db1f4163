"""Where nothing is: one sentence about what would be here and the key that fills it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swapdesk.tui.lines_view import LinesView
from swapdesk.tui.spans import Line, Span, wrapped


@dataclass(frozen=True, slots=True)
class Nothing:
    """``No orders yet.`` and the key with its verb: ``n`` ``starts a swap``."""

    sentence: str
    key: str = ""
    verb: str = ""


class EmptyState(LinesView):
    """The sentence as a widget; tables take :func:`empty_line`."""

    def __init__(self, state: Nothing, **place: Any) -> None:
        super().__init__(**place)
        self.state = state

    def show(self, state: Nothing) -> None:
        self.state = state
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return wrapped(empty_line(self.state), width)


def empty_line(state: Nothing) -> Line:
    line: Line = [Span(state.sentence, "muted")]
    if state.key:
        line += [Span(" "), Span(state.key, "accent", bold=True), Span(f" {state.verb}.", "muted")]
    return line

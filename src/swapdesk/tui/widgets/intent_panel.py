"""What exactly is about to be confirmed: frozen, with everything it depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from swapdesk.tui.spans import Line, LineLike, Span, line_of, spread
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.form_fields import Check, check_lines
from swapdesk.tui.widgets.lines_view import LinesView

LABEL = 11


@dataclass(frozen=True, slots=True)
class IntentState:
    """``frozen`` is a clock text; ``facts`` carry ``was`` where a new quote changed a value.

    ``verdict`` is the last line: locked with n problems, ready, expired, asked and waiting.
    """

    facts: Sequence[Fact]
    frozen: str = ""
    title: str = "Intent"
    verdict: Check | None = None
    validity: LineLike = ""


class IntentPanel(LinesView, can_focus=True):
    """36 cells wide beside a form (class ``side``), or the whole body."""

    DEFAULT_CSS = """
    IntentPanel {
        background: $surface;
        padding: 1 2;
    }
    .-short IntentPanel { padding: 0 2; }
    """

    def __init__(self, state: IntentState, **place: Any) -> None:
        super().__init__(**place)
        self.state = state

    def show(self, state: IntentState) -> None:
        self.state = state
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return intent_lines(self.state, width)


def intent_lines(state: IntentState, width: int) -> list[Line]:
    frozen: Line = [Span("frozen ", "muted"), Span(state.frozen)] if state.frozen else []
    rows = [spread([Span(state.title, "foreground", bold=True)], frozen, width), []]
    rows += facts_lines(state.facts, width, LABEL)
    if state.validity:
        rows += [[], [Span("Valid".ljust(LABEL), "muted"), *line_of(state.validity)]]
    if state.verdict is not None:
        rows += [[], *check_lines(state.verdict, width)]
    return rows

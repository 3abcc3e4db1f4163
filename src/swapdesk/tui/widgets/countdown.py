"""Time that runs out: ``0:48``, bold under a minute, ``expired`` at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swapdesk.flows.notation import EXPIRED, countdown
from swapdesk.tui.spans import Line, Span
from swapdesk.tui.widgets.gauge import bar_spans
from swapdesk.tui.widgets.lines_view import LinesView

BOLD_BELOW = 60


@dataclass(frozen=True, slots=True)
class CountdownState:
    """Seconds ``left`` of ``total``; ``bar`` cells of bar before the number, 0 for none."""

    left: float
    total: float = 0
    bar: int = 0


class Countdown(LinesView):
    """Fed from outside once a second; it has no clock and no timer of its own."""

    DEFAULT_CSS = """
    Countdown { height: 1; }
    """

    def __init__(self, state: CountdownState, **place: Any) -> None:
        super().__init__(**place)
        self.state = state

    def show(self, state: CountdownState) -> None:
        self.state = state
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return [countdown_spans(self.state)]


def countdown_spans(state: CountdownState) -> Line:
    text = countdown(state.left)
    if text == EXPIRED:
        return [Span(EXPIRED, "muted")]
    number = Span(text, "foreground", bold=state.left < BOLD_BELOW)
    if not state.bar or state.total <= 0:
        return [number]
    return [*bar_spans(state.left / state.total, state.bar), Span("  "), number]

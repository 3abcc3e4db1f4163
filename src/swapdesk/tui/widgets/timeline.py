"""What happened to one leg of an order: glyph, time, event, note."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from swapdesk.flows.notation import NOTHING, clock_time, short_clock
from swapdesk.tui.glyphs import DONE, ENDED, MOVING, TROUBLE, WAITING
from swapdesk.tui.spans import Line, LineLike, Span, cut, spread
from swapdesk.tui.widgets.lines_view import LinesView, section_line

if TYPE_CHECKING:
    from swapdesk.flows.orders.order_history import Leg, LegStep

TIME_CELLS = 8
_MARKS = {
    "past": (DONE, "status-done"),
    "now": (MOVING, "status-moving"),
    "future": (WAITING, "muted"),
    "trouble": (TROUBLE, "status-trouble"),
    "ended": (ENDED, "muted"),
}


class Timeline(LinesView):
    """One leg under its label."""

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self.leg: Leg | None = None
        self.fact: LineLike = ""

    def show(self, leg: Leg | None, fact: LineLike = "") -> None:
        """``fact`` stands at the end of the label."""
        if leg != self.leg or fact != self.fact:
            self.leg, self.fact = leg, fact
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        return timeline_lines(self.leg, self.fact, width) if self.leg is not None else []


def timeline_lines(leg: Leg, fact: LineLike, width: int) -> list[Line]:
    """The label and one row per step; a time that nobody saw is ``—``."""
    return [section_line(leg.title, fact, width), *(_step(step, width) for step in leg.steps)]


def _step(step: LegStep, width: int) -> Line:
    glyph, role = _MARKS[step.mark]
    if step.at is None:
        time = "" if step.mark == "future" else NOTHING
    else:
        time = f"{'~' if step.expected else ''}{_clock(step)}"
    ahead = step.mark == "future"
    row: Line = [
        Span(f"{glyph} ", role),
        Span(time.ljust(TIME_CELLS), "muted"),
        Span("  "),
        Span(step.text, "muted" if ahead else "foreground", bold=step.mark in ("now", "trouble")),
    ]
    note = step.note or ("now" if step.mark == "now" else "")
    return spread(row, [Span(note, role)], width) if note else cut(row, width)


def _clock(step: LegStep) -> str:
    assert step.at is not None
    return short_clock(step.at) if step.expected else clock_time(step.at)

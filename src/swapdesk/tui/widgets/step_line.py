"""The steps of a flow on one line: ``✓ allowance ─── ◐ sign 1 permit ─── ○ send``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swapdesk.flows.signing.signing_session import FlowStep, Mark
from swapdesk.tui.glyphs import MOVING, REFUSED, RULE, VALID, WAITING
from swapdesk.tui.spans import Line, Span, width_of
from swapdesk.tui.widgets.lines_view import LinesView

_SIGNS = {
    Mark.DONE: (VALID, "status-done"),
    Mark.NOW: (MOVING, "status-moving"),
    Mark.AHEAD: (WAITING, "muted"),
    Mark.FAILED: (REFUSED, "status-trouble"),
}
_JOINS = (f" {RULE * 3} ", f" {RULE} ", "  ")


class StepLine(LinesView):
    """Names shorten, and then the lines between them, until all steps fit."""

    DEFAULT_CSS = """
    StepLine { height: 1; }
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self.steps: tuple[FlowStep, ...] = ()

    def show(self, steps: Sequence[FlowStep]) -> None:
        if tuple(steps) != self.steps:
            self.steps = tuple(steps)
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        return [step_spans(self.steps, width)]


def step_spans(steps: Sequence[FlowStep], width: int) -> Line:
    """The widest form that fits: whole names, then their first words only but of the step that
    goes on."""
    line: Line = []
    for brief in (False, True):
        for join in _JOINS:
            line = _joined(steps, join, brief=brief)
            if width_of(line) <= width:
                return line
    return line


def _joined(steps: Sequence[FlowStep], join: str, *, brief: bool) -> Line:
    line: Line = []
    for step in steps:
        glyph, role = _SIGNS[step.mark]
        now = step.mark in (Mark.NOW, Mark.FAILED)
        name = step.name if now or not brief else " ".join(step.name.split()[:2])
        if line:
            line.append(Span(join, "rule"))
        line += [Span(f"{glyph} ", role), Span(name, "foreground" if now else "muted", bold=now)]
    return line

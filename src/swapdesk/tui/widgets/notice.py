"""One sentence about what just happened, in the row above the money line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from swapdesk.tui.glyphs import CUT, REFUSED, SANDBOX_RULE, TROUBLE
from swapdesk.tui.spans import Line, Span, cut, width_of
from swapdesk.tui.widgets.lines_view import LinesView


class Weight(Enum):
    """How much a notice matters; named as Textual's severities."""

    INFORMATION = ("information", "", "foreground")
    WARNING = ("warning", f"{TROUBLE} ", "status-waiting")
    ERROR = ("error", f"{REFUSED} ", "status-trouble")

    @classmethod
    def of(cls, severity: str) -> Weight:
        """The weight of a Textual severity; an unknown word is information."""
        return next((weight for weight in cls if weight.value[0] == severity), cls.INFORMATION)

    @property
    def mark(self) -> str:
        return self.value[1]

    @property
    def role(self) -> str:
        return self.value[2]


@dataclass(frozen=True, slots=True)
class NoticeState:
    """``text`` is one sentence; an empty one shows the frame rule of the world instead."""

    text: str = ""
    weight: Weight = Weight.INFORMATION
    rule: str = SANDBOX_RULE
    rule_role: str = "frame-sandbox"


class NoticeRow(LinesView):
    """The bottom frame rule, and the notice in its place."""

    DEFAULT_CSS = """
    NoticeRow { height: 1; padding: 0; }
    """

    def __init__(self, state: NoticeState | None = None, **place: Any) -> None:
        super().__init__(**place)
        self.state = state or NoticeState()
        self.brief: NoticeState | None = None

    def show(self, state: NoticeState, brief: NoticeState | None = None) -> None:
        """``brief`` stands in where ``state`` does not fit."""
        if state != self.state or brief != self.brief:
            self.state, self.brief = state, brief
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        if not self.state.text:
            return [[Span(self.state.rule * width, self.state.rule_role)]]
        line = notice_line(self.state)
        if self.brief is not None and width_of(line) > width - 4:
            line = notice_line(self.brief)
        return [[Span("  "), *whole_sentences(line, width - 4)]]


def whole_sentences(line: Line, width: int) -> Line:
    """As many sentences as fit, and ``…`` for the rest; where not one does the line is cut."""
    if len(line) != 1 or width_of(line) <= width:
        return cut(line, width)
    (span,) = line
    text = span.text
    while (end := text.rfind(". ")) > 0:
        text = text[: end + 1]
        shorter: Line = [Span(f"{text} {CUT}", span.role, span.bold)]
        if width_of(shorter) <= width:
            return shorter
    return cut(line, width)


def notice_line(state: NoticeState) -> Line:
    return [Span(f"{state.weight.mark}{state.text}", state.weight.role)]

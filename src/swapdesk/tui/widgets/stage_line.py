"""The 17 cells that show how far an order is, equally long for five and for nine stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swapdesk.tui.glyphs import (
    DONE,
    ENDED,
    HEAVY,
    MOVING,
    REFUSED,
    RULE,
    TROUBLE,
    WAITING,
    GlyphState,
)
from swapdesk.tui.spans import Line, Span
from swapdesk.tui.widgets.lines_view import LinesView

CELLS = 17


class Mark(GlyphState):
    """What the current stage looks like."""

    WAITING = (WAITING, "status-waiting")
    MOVING = (MOVING, "status-moving")
    BACK = (TROUBLE, "status-waiting")
    TROUBLE = (TROUBLE, "status-trouble")
    EXPIRED = (REFUSED, "status-trouble")
    DONE = (DONE, "status-done")
    ENDED = (ENDED, "muted")


@dataclass(frozen=True, slots=True)
class StageState:
    """``at`` is the current stage, from 0; ``of`` is 5 (standard) or 9 (private)."""

    at: int
    of: int
    mark: Mark

    def __post_init__(self) -> None:
        if self.of < 2 or (CELLS - 1) % (self.of - 1) or not 0 <= self.at < self.of:
            raise ValueError(f"no stage {self.at} of {self.of}")


class StageLine(LinesView):
    """One stage line as a widget of its own; tables put :func:`stage_spans` in a cell."""

    DEFAULT_CSS = """
    StageLine { height: 1; }
    """

    def __init__(self, state: StageState, **place: Any) -> None:
        super().__init__(**place)
        self.state = state

    def show(self, state: StageState) -> None:
        self.state = state
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return [stage_spans(self.state)]


def stage_spans(state: StageState) -> Line:
    """``●━━━●━━━◐───○───○``: what is done heavy, what is to come light.

    All in the hue of the state: the glyphs tell done from to come, and each change of colour
    would cost 20 bytes in every row of a table.
    """
    gap = (CELLS - 1) // (state.of - 1) - 1
    past = f"{DONE}{HEAVY * gap}" * state.at
    ahead = f"{RULE * gap}{WAITING}" * (state.of - 1 - state.at)
    return [Span(f"{past}{state.mark.glyph}{ahead}", state.mark.role)]


def track_spans(state: StageState, gaps: list[int]) -> Line:
    """Dots with the given numbers of cells between them."""
    past = "status-done"
    line: Line = []
    for stage in range(state.of):
        if stage < state.at:
            line.append(Span(DONE, past))
        elif stage == state.at:
            line.append(Span(state.mark.glyph, state.mark.role))
        else:
            line.append(Span(WAITING, "muted"))
        if stage < state.of - 1:
            heavy = stage < state.at
            line.append(Span((HEAVY if heavy else RULE) * gaps[stage], past if heavy else "rule"))
    return line

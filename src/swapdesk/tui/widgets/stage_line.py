"""Three drawings of how far an order has come: a line of 17 cells for tables, a track of named
stages, and a list of steps with their times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.cells import cell_len

from swapdesk.flows.notation import NOTHING, clock_time, short_clock
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
from swapdesk.tui.spans import Line, LineLike, Span, cut, plain_text, spread
from swapdesk.tui.widgets.lines_view import section_line

if TYPE_CHECKING:
    from swapdesk.flows.orders.order_history import Leg, LegStep


CELLS = 17
DRAWN_STAGES = (2, 3, 5, 9, 17)
"""The numbers of stages that fit evenly on a line of 17 cells."""


class StageMark(GlyphState):
    """The glyph and the colour role that mark the current stage of an order. The state of the order
    decides which member is used."""

    WAITING = (WAITING, "status-waiting")
    MOVING = (MOVING, "status-moving")
    BACK = (TROUBLE, "status-waiting")
    TROUBLE = (TROUBLE, "status-trouble")
    EXPIRED = (REFUSED, "status-trouble")
    DONE = (DONE, "status-done")
    ENDED = (ENDED, "muted")


class StageState(Struct, frozen=True):
    """The stage that an order has reached: number ``at`` (from 0) of ``of`` stages. Raises
    ValueError if there is no such stage."""

    at: int
    of: int
    mark: StageMark

    def __post_init__(self) -> None:
        if self.of < 2 or not 0 <= self.at < self.of:
            raise ValueError(f"no stage {self.at} of {self.of}")


def stage_spans(state: StageState) -> Line:
    """Returns the stages of an order drawn in 17 cells, as ``●━━━●━━━◐───○───○``. Raises ValueError
    if the number of stages is not in :data:`DRAWN_STAGES`."""
    cells, left = divmod(CELLS - 1, state.of - 1)
    if left:
        raise ValueError(f"{CELLS} cells do not take {state.of} stages")
    gap = cells - 1
    past = f"{DONE}{HEAVY * gap}" * state.at
    ahead = f"{RULE * gap}{WAITING}" * (state.of - 1 - state.at)
    return [Span(f"{past}{state.mark.glyph}{ahead}", state.mark.role)]


def track_spans(state: StageState, gaps: list[int]) -> Line:
    """Returns a dot for each stage, joined by lines. ``gaps`` has the length of each line in
    cells."""
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


def track_lines(
    stage: StageState, names: Sequence[str], short_names: Sequence[str], width: int
) -> list[Line]:
    """Returns a row with a dot for each stage, and below it the names of the stages.
    ``short_names`` replace the names if ``width`` is below 96 cells."""
    names = list(short_names if width < 96 and short_names else names)
    sizes = [cell_len(name) for name in names]
    if sum(sizes) + stage.of - 1 > width:
        room = max(3, (width - (stage.of - 1)) // stage.of)
        names = [plain_text(cut(name, room)) for name in names]
        sizes = [cell_len(name) for name in names]
    first = sizes[0] // 2
    last = width - 1 - (sizes[-1] // 2)
    dots = [first + round((last - first) * at / (stage.of - 1)) for at in range(stage.of)]
    gaps = [dots[at + 1] - dots[at] - 1 for at in range(stage.of - 1)]
    track = [Span(" " * dots[0]), *track_spans(stage, gaps)]
    row: Line = []
    used = 0
    for at, (name, dot) in enumerate(zip(names, dots, strict=True)):
        size = sizes[at]
        latest = width - sum(sizes[at:]) - (stage.of - 1 - at)
        start = max(used + (1 if at else 0), min(dot - size // 2, latest))
        row.append(Span(" " * (start - used)))
        now = at == stage.at
        row.append(Span(name, "foreground" if now else "muted", bold=now))
        used = start + size
    return [track, row]


TIME_CELLS = 8
_MARKS = {
    "past": (DONE, "status-done"),
    "now": (MOVING, "status-moving"),
    "future": (WAITING, "muted"),
    "trouble": (TROUBLE, "status-trouble"),
    "ended": (ENDED, "muted"),
}


def timeline_lines(leg: Leg, fact: LineLike, width: int) -> list[Line]:
    """Returns the rows about one leg (exchange) of an order: its title, then a row for each
    step."""
    return [section_line(leg.title, fact, width), *(_step(step, width) for step in leg.steps)]


def _step(step: LegStep, width: int) -> Line:
    glyph, role = _MARKS[step.mark]
    ahead = step.mark == "future"
    if step.at is None:
        time = "" if ahead else NOTHING
    else:
        time = f"~{short_clock(step.at)}" if ahead else clock_time(step.at)
    row: Line = [
        Span(f"{glyph} ", role),
        Span(time.ljust(TIME_CELLS), "muted"),
        Span("  "),
        Span(step.text, "muted" if ahead else "foreground", bold=step.mark in ("now", "trouble")),
    ]
    note = step.note or ("now" if step.mark == "now" else "")
    return spread(row, [Span(note, role)], width) if note else cut(row, width)

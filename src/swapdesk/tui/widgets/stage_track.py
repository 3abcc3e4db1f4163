"""The stages of one order over the full width, each with its name below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len

from swapdesk.tui.spans import Line, Span, cut, plain_text
from swapdesk.tui.widgets.lines_view import LinesView
from swapdesk.tui.widgets.stage_line import StageState, track_spans


@dataclass(frozen=True, slots=True)
class TrackState:
    """``names`` has one name per stage; ``short_names`` are used below 96 cells."""

    stage: StageState
    names: Sequence[str]
    short_names: Sequence[str] = ()


class StageTrack(LinesView):
    """Two rows: dots, names."""

    DEFAULT_CSS = """
    StageTrack { height: 2; }
    """

    def __init__(self, state: TrackState, **place: Any) -> None:
        super().__init__(**place)
        self.state = state

    def show(self, state: TrackState) -> None:
        self.state = state
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return track_lines(self.state, width)


def track_lines(state: TrackState, width: int) -> list[Line]:
    """Each dot stands over the middle of its name; the current name is bold."""
    stage = state.stage
    names = list(state.names)
    if width < 96 and state.short_names:
        names = list(state.short_names)
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

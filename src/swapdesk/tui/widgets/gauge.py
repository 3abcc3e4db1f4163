"""How much of a limit or of a time is used, as a line, and time that runs out."""

from __future__ import annotations

from msgspec import Struct

from swapdesk.flows.notation import EXPIRED, countdown
from swapdesk.tui.glyphs import HEAVY, RULE, TROUBLE
from swapdesk.tui.spans import Line, Span, joined, width_of

WARN_PERCENT = 80
MOST_CELLS = 48
LEAST_CELLS = 12


class GaugeState(Struct, frozen=True):
    """``used`` of ``limit`` in one unit; ``reset`` is a text as ``41s``."""

    used: int
    limit: int
    reset: str = ""
    label: str = ""


def bar_spans(part: float, cells: int, role: str = "accent") -> Line:
    """A bar of ``cells`` cells, ``part`` (0 to 1) of it heavy. Any use shows at least one cell."""
    part = min(1.0, max(0.0, part))
    heavy = round(part * cells)
    if part > 0:
        heavy = max(1, heavy)
    if part < 1:
        heavy = min(cells - 1, heavy)
    return [Span(HEAVY * heavy, role), Span(RULE * (cells - heavy), "rule")]


def gauge_line(state: GaugeState, width: int) -> Line:
    share = state.used * 100 // state.limit if state.limit > 0 else 100
    role = "accent" if share < WARN_PERCENT else "status-waiting"
    if share >= 100:
        role = "status-trouble"
    mark = f"{TROUBLE} " if share >= WARN_PERCENT else "  "
    numbers: Line = [
        Span(f"{state.used:,}".rjust(6), count=True),
        Span(" of ", "muted"),
        Span(f"{state.limit:,}".rjust(6), count=True),
        Span("  "),
        Span(f"{mark}{share}%".rjust(6), "muted" if share < WARN_PERCENT else role),
    ]
    reset: Line = []
    if state.reset:
        reset = [Span("resets ", "muted"), Span(state.reset.rjust(5))]
    label: Line = [Span(state.label.ljust(9), "muted")] if state.label else []
    room = width - width_of(label) - width_of(numbers) - 2
    if room - width_of(reset) - 2 >= LEAST_CELLS:
        room -= width_of(reset) + 2 if reset else 0
    else:
        reset = []
    cells = min(MOST_CELLS, max(1, room))
    part = state.used / state.limit if state.limit > 0 else 1.0
    return joined([[*label, *bar_spans(part, cells, role)], numbers, reset], "  ")


BOLD_BELOW = 60


class CountdownState(Struct, frozen=True):
    """Seconds ``left`` of ``total``; ``bar`` cells of bar before the number, 0 for none."""

    left: float
    total: float = 0
    bar: int = 0


def countdown_spans(state: CountdownState) -> Line:
    text = countdown(state.left)
    if text == EXPIRED:
        return [Span(EXPIRED, "muted")]
    number = Span(text, "foreground", bold=state.left < BOLD_BELOW)
    if not state.bar or state.total <= 0:
        return [number]
    return [*bar_spans(state.left / state.total, state.bar), Span("  "), number]

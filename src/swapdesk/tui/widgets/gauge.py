"""Bars that show how much of a limit or of a time is used up, and countdowns."""

from __future__ import annotations

from swapdesk.flows.notation import EXPIRED, countdown
from swapdesk.tui.glyphs import HEAVY, RULE, TROUBLE
from swapdesk.tui.spans import Line, Span, joined, width_of

WARN_PERCENT = 80
MOST_CELLS = 48
LEAST_CELLS = 12


def bar_spans(part: float, cells: int, role: str = "accent") -> Line:
    """Returns a bar of ``cells`` cells. The share ``part`` of the bar (0 to 1) is drawn as a heavy
    line."""
    part = min(1.0, max(0.0, part))
    heavy = round(part * cells)
    if part > 0:
        heavy = max(1, heavy)
    if part < 1:
        heavy = min(cells - 1, heavy)
    return [Span(HEAVY * heavy, role), Span(RULE * (cells - heavy), "rule")]


def gauge_line(used: int, limit: int, width: int, *, reset: str = "", label: str = "") -> Line:
    """Returns a row with ``label``, a bar, ``used of limit`` and the percentage. If there is room,
    the row also says when the limit resets."""
    share = used * 100 // limit if limit > 0 else 100
    role = "accent" if share < WARN_PERCENT else "status-waiting"
    if share >= 100:
        role = "status-trouble"
    mark = f"{TROUBLE} " if share >= WARN_PERCENT else "  "
    numbers: Line = [
        Span(f"{used:,}".rjust(6), count=True),
        Span(" of ", "muted"),
        Span(f"{limit:,}".rjust(6), count=True),
        Span("  "),
        Span(f"{mark}{share}%".rjust(6), "muted" if share < WARN_PERCENT else role),
    ]
    resets: Line = [Span("resets ", "muted"), Span(reset.rjust(5))] if reset else []
    head: Line = [Span(label.ljust(9), "muted")] if label else []
    room = width - width_of(head) - width_of(numbers) - 2
    if room - width_of(resets) - 2 >= LEAST_CELLS:
        room -= width_of(resets) + 2 if resets else 0
    else:
        resets = []
    cells = min(MOST_CELLS, max(1, room))
    part = used / limit if limit > 0 else 1.0
    return joined([[*head, *bar_spans(part, cells, role)], numbers, resets], "  ")


BOLD_BELOW = 60


def countdown_spans(left: float, total: float = 0, bar: int = 0) -> Line:
    """Returns a countdown of ``left`` seconds as text. Unless ``bar`` is 0, a bar of that many
    cells before the text shows the share of ``total`` seconds that is left."""
    text = countdown(left)
    if text == EXPIRED:
        return [Span(EXPIRED, "muted")]
    number = Span(text, "foreground", bold=left < BOLD_BELOW)
    if not bar or total <= 0:
        return [number]
    return [*bar_spans(left / total, bar), Span("  "), number]

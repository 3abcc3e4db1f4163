"""Rows 0 and 1 of every screen: which world this is, where one stands, stream and budget."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from textual.strip import Strip

from swapdesk.flows.notation import age
from swapdesk.tui.glyphs import DONE, LIVE_RULE, MOVING, REFUSED, SANDBOX_RULE, STALE, TROUBLE
from swapdesk.tui.painting import body_style, paint
from swapdesk.tui.spans import Line, Span, cut, fill, width_of
from swapdesk.tui.widgets.lines_view import LinesView


class World(Enum):
    """The word of the frame, its role and the pattern of its rule."""

    SANDBOX = ("SANDBOX", "frame-sandbox", SANDBOX_RULE)
    LIVE = ("LIVE", "frame-live", LIVE_RULE)

    @property
    def word(self) -> str:
        return self.value[0]

    @property
    def role(self) -> str:
        return self.value[1]

    @property
    def rule(self) -> str:
        return self.value[2]


class Stream(Enum):
    """How order updates arrive: glyph, word and role of the badge."""

    LIVE = (DONE, "stream", "status-done")
    RESUMING = (STALE, "resuming", "status-waiting")
    POLLING = (MOVING, "polling", "status-moving")
    OFFLINE = (REFUSED, "offline", "status-trouble")

    @property
    def glyph(self) -> str:
        return self.value[0]

    @property
    def word(self) -> str:
        return self.value[1]

    @property
    def role(self) -> str:
        return self.value[2]


@dataclass(frozen=True, slots=True)
class Badge:
    """``age`` is seconds since the last message or answer; None draws no number."""

    stream: Stream
    age: float | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """The calls that the keys of this screen spend, from the rate limit headers.

    Without ``limit`` (a service that sends none) only the own count ``used`` is shown.
    """

    name: str
    left: int = 0
    limit: int | None = None
    reset: str = ""
    used: int = 0


@dataclass(frozen=True, slots=True)
class FrameState:
    """All that stands in the frame; ``context`` is the muted text after the name."""

    name: str
    world: World = World.SANDBOX
    context: str = ""
    account: str = ""
    badge: Badge | None = None
    budget: Budget | None = None
    read_only: bool = False
    lock: str = ""
    """Whether keys are open; it stands where the budget does."""


class Frame(LinesView):
    """Header row and frame rule."""

    DEFAULT_CSS = """
    Frame {
        height: 2;
        padding: 0;
        background: $surface;
    }
    """

    def __init__(self, state: FrameState, **place: Any) -> None:
        super().__init__(**place)
        self.state = state

    def show(self, state: FrameState) -> None:
        """Draw another state; only the cells that differ are written."""
        if state != self.state:
            self.state = state
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        return frame_lines(self.state, width)

    def render_line(self, y: int) -> Strip:
        """The header is painted; the rule under it lies on the body."""
        if y == 0:
            return super().render_line(y)
        return paint(
            self.app, self.lines(self.size.width)[1], self.size.width, body_style(self.app)
        )


def frame_lines(state: FrameState, width: int) -> list[Line]:
    """The account goes below 100 cells, the budget is short there; the context is cut last."""
    world = state.world
    word = Span(f" {world.word} ", f"{world.role}-word", bold=True)
    left: Line = [word, Span(" "), Span(state.name, "foreground", bold=True)]
    if state.read_only:
        left += [Span("  "), Span("READ ONLY", "status-waiting", bold=True)]
    wide = width >= 100
    right: Line = []
    parts: list[Line] = []
    if wide and state.account:
        parts.append([Span(state.account, "muted")])
    if state.badge is not None:
        parts.append(_badge(state.badge))
    if state.budget is not None:
        parts.append(_budget(state.budget, wide))
    if state.lock:
        parts.append([Span(state.lock, "muted")])
    for part in parts:
        right += [Span("   "), *part] if right else part
    room = width - 2 - width_of(right)
    if state.context:
        space = room - width_of(left) - 3
        if space > 1:
            left += [Span("  "), *cut([Span(state.context, "muted")], space)]
    header = [*fill(left, room), *right, Span("  ")]
    return [header, [Span(world.rule * width, world.role)]]


def _badge(badge: Badge) -> Line:
    stream = badge.stream
    line = [Span(f"{stream.glyph} {stream.word}", stream.role)]
    if badge.age is not None:
        line.append(Span(f" {age(badge.age)}", "muted"))
    return line


def _budget(budget: Budget, wide: bool) -> Line:
    if budget.limit is None:
        return [Span(f"{budget.name} {budget.used} used", "muted")]
    role, mark = "muted", ""
    if budget.left <= 0:
        role = "status-trouble"
        mark = f"{TROUBLE} "
    elif (budget.limit - budget.left) * 5 >= budget.limit * 4:
        role = "status-waiting"
        mark = f"{TROUBLE} "
    reset = f" · {budget.reset}" if budget.reset else ""
    if budget.left <= 0:
        return [Span(f"{mark}{budget.name} 0 left{reset}", role)]
    if not wide:
        return [Span(f"{mark}{budget.name[:1]} {budget.left}/{budget.limit}", role)]
    return [Span(f"{mark}{budget.name} {budget.left} of {budget.limit} left{reset}", role)]

"""The widgets around the body of every screen: header, notice, money line and keys.

The header begins with the word SANDBOX, LIVE or FILE, which says whether the desk works with the
sandbox, works with the live service, or shows a support file. The money line says where the funds
are and who acts next; it is always visible.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from textual.strip import Strip

from swapdesk.flows.notation import age
from swapdesk.tui.commands.command import CommandState
from swapdesk.tui.glyphs import CUT, DONE, LIVE_RULE, MOVING, REFUSED, SANDBOX_RULE, STALE, TROUBLE
from swapdesk.tui.painting import body_style, paint
from swapdesk.tui.spans import Line, LineLike, Span, cut, fill, line_of, spread, width_of
from swapdesk.tui.widgets.lines_view import LinesView, StateView

if TYPE_CHECKING:
    from swapdesk.client.live import StreamState

World = Literal["SANDBOX", "LIVE", "FILE"]
"""The first word of the header: sandbox, live service, or a support file."""
_WORLDS: Mapping[World, tuple[str, str]] = {
    "SANDBOX": ("frame-sandbox", SANDBOX_RULE),
    "LIVE": ("frame-live", LIVE_RULE),
    "FILE": ("frame-sandbox", SANDBOX_RULE),
}
"""The colour role and the glyph of the frame rule, by the first word of the header."""
_STREAMS: Mapping[StreamState, tuple[str, str, str]] = {
    "live": (DONE, "stream", "status-done"),
    "resuming": (STALE, "resuming", "status-waiting"),
    "polling": (MOVING, "polling", "status-moving"),
    "offline": (REFUSED, "offline", "status-trouble"),
}
"""Glyph, word and colour role of the header's badge, by the state of the order stream."""


class BudgetFigure(Struct, frozen=True):
    """What the header says about API calls of one kind. If the service states no limit, ``limit``
    is None and ``used`` is the desk's own count."""

    name: str
    left: int = 0
    limit: int | None = None
    reset: str = ""
    used: int = 0


class FrameState(Struct, frozen=True):
    """What the header shows. ``context`` is the text after the page's name, and ``account`` is the
    partner account."""

    name: str
    world: World = "SANDBOX"
    context: str = ""
    account: str = ""
    stream: StreamState | None = None
    """The state of the stream that brings order updates. If it is None, the header has no badge."""
    age: float | None = None
    """Seconds since the service's last message; None shows no age."""
    budget: BudgetFigure | None = None
    read_only: bool = False
    lock: str = ""
    """The state of the wallet's lock; empty if the page shows none."""


class Caption(Struct, frozen=True):
    """A sentence for the viewer of a tape (a demonstration played from a file). ``key`` is the key
    to press; ``ends`` tells how to end the tape."""

    text: str
    key: str = ""
    ends: str = ""


class Frame(StateView[FrameState]):
    """The widget of the top two rows of a screen: the header and the frame rule."""

    DEFAULT_CSS = """
    Frame {
        height: 2;
        padding: 0;
        background: $surface;
    }
    """

    def lines(self, width: int) -> list[Line]:
        return frame_lines(self.state, width, getattr(self.app, "caption", None))

    def render_line(self, y: int) -> Strip:
        if y == 0:
            return super().render_line(y)
        return paint(
            self.app, self.lines(self.size.width)[1], self.size.width, body_style(self.app)
        )


def frame_lines(state: FrameState, width: int, caption: Caption | None = None) -> list[Line]:
    """Returns the header and the frame rule below it. Below 100 cells the account is left out."""
    role, _ = _WORLDS[state.world]
    head = Span(f" {state.world} ", f"{role}-word", bold=True)
    left: Line = [head, Span(" "), Span(state.name, "foreground", bold=True)]
    if state.read_only:
        left += [Span("  "), Span("READ ONLY", "status-waiting", bold=True)]
    wide = width >= 100
    right: Line = []
    parts: list[Line] = []
    if wide and state.account:
        parts.append([Span(state.account, "muted")])
    if state.stream is not None:
        parts.append(_badge(state.stream, state.age))
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
    return [header, _rule(state.world, width, caption)]


def _rule(world: World, width: int, caption: Caption | None = None) -> Line:
    role, rule = _WORLDS[world]
    if caption is None:
        return [Span(rule * width, role)]
    edge = Span(rule, role)
    asked: Line = [Span(f" {caption.key} ", "accent", bold=True), edge] if caption.key else []
    ends: Line = [Span(f" {caption.ends} ", "muted"), edge] if caption.ends else []
    text: Line = [Span(f" {caption.text} ", bold=True)] if caption.text else []
    room = width - width_of(asked) - 2
    if width_of(text) + width_of(ends) <= room:
        room, asked = room - width_of(ends), [*asked, *ends]
    text = cut(text, room)
    return [edge, *text, Span(rule * (room + 1 - width_of(text)), role), *asked]


def _badge(stream: StreamState, seconds: float | None) -> Line:
    glyph, word, role = _STREAMS[stream]
    line = [Span(f"{glyph} {word}", role)]
    if seconds is not None:
        line.append(Span(f" {age(seconds)}", "muted"))
    return line


def _budget(budget: BudgetFigure, wide: bool) -> Line:
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


_WEIGHTS: Mapping[str, tuple[str, str]] = {
    "information": ("", "foreground"),
    "warning": (f"{TROUBLE} ", "status-waiting"),
    "error": (f"{REFUSED} ", "status-trouble"),
}
"""Sign before the text and colour role of a notice, by its severity in Textual's words."""


class NoticeState(Struct, frozen=True):
    """A notice of one sentence. If ``text`` is empty, the frame rule is drawn instead."""

    text: str = ""
    severity: str = "information"
    world: World = "SANDBOX"
    short: str = ""
    """A shorter form of ``text``, shown if the row is too narrow for ``text``."""


class NoticeRow(StateView[NoticeState]):
    """The widget of the row that shows the present notice, or the lower frame rule if there is
    none."""

    DEFAULT_CSS = """
    NoticeRow { height: 1; padding: 0; }
    """

    def lines(self, width: int) -> list[Line]:
        if not self.state.text:
            return [_rule(self.state.world, width)]
        line = notice_line(self.state)
        if self.state.short and width_of(line) > width - 4:
            line = notice_line(self.state, brief=True)
        return [[Span("  "), *whole_sentences(line, width - 4)]]


def whole_sentences(line: Line, width: int) -> Line:
    """Returns the first sentences of ``line`` that fit into ``width`` cells, with ``…`` if some are
    missing."""
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


def notice_line(state: NoticeState, *, brief: bool = False) -> Line:
    mark, role = _WEIGHTS.get(state.severity) or _WEIGHTS["information"]
    return [Span(f"{mark}{state.short if brief else state.text}", role)]


LEAST = 7
"""Least cells for the left half of the money line."""


class MoneyState(Struct, frozen=True):
    """The texts that the money line shows after ``Funds`` and after ``Next``, with their short
    forms."""

    where: str
    next_: str = ""
    where_short: str = ""
    urgent: bool = False
    next_short: str = ""


class MoneyLine(StateView[MoneyState]):
    """The widget of the row above the keys, which says where the money is and who acts next."""

    DEFAULT_CSS = """
    MoneyLine {
        height: 1;
        background: $surface;
    }
    """

    def __init__(self, state: MoneyState, **place: Any) -> None:
        super().__init__(state, **place)
        self._notice: LineLike = ""
        self._brief: LineLike = ""

    def lay_over(self, notice: LineLike, brief: LineLike = "") -> None:
        """Shows ``notice``, or ``brief`` if there is no room, over the text that says where the
        money is. An empty ``notice`` shows that text again."""
        self._notice, self._brief = notice, brief
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return [money_line(self.state, width, self._notice, self._brief)]


def money_line(state: MoneyState, width: int, notice: LineLike = "", brief: LineLike = "") -> Line:
    """Returns the money line. ``notice``, or ``brief`` if there is no room, replaces its left
    half."""
    right = _next(state.next_, state.urgent)
    left = _funds(state.where)
    if notice:
        left = line_of(notice)
        if brief and not _fits(left, right, width):
            left = line_of(brief)
            right = cut(right, max(0, width - width_of(left) - 2))
        elif right:
            if state.next_short and not _fits(left, right, width):
                right = _next(state.next_short, state.urgent)
            left = whole_sentences(left, width - width_of(right) - 2)
    elif not _fits(left, right, width):
        short = _funds(state.where_short) or left
        if state.next_short and not _fits(short, right, width):
            right = _next(state.next_short, state.urgent)
        actor = _next(state.next_.partition(":")[0], state.urgent)
        cuts = bool(short) and not _fits(short, right, width)
        if cuts and not state.urgent and _fits(short, actor, width):
            # The place of the money stays whole; of the next step only who acts.
            right = actor
        left = left if _fits(left, right, width) else short
        # However long the next step is, the place of the money is named.
        least = min(width_of(left), LEAST)
        right = cut(right, width - least - 2 if least else width)
    return spread(left, right, width) if right else fill(left, width)


def _fits(left: Line, right: Line, width: int) -> bool:
    return width_of(left) + 2 + width_of(right) <= width


def _funds(where: str) -> Line:
    return [Span("Funds ", "muted"), Span(where)] if where else []


def _next(step: str, urgent: bool) -> Line:
    return [Span("Next ", "muted"), Span(step, "foreground", bold=urgent)] if step else []


HELP_KEY = "?"
HELP_WORD = "keys"


class KeyBar(LinesView):
    """The bottom row, with the keys of the screen at the left and ``? keys`` at the right."""

    DEFAULT_CSS = """
    KeyBar {
        height: 1;
        background: $surface;
    }
    """

    def __init__(
        self, hints: Sequence[CommandState] = (), *, help_key: str = HELP_KEY, **place: Any
    ) -> None:
        """Makes the row of keys. ``hints`` are the entries, each with a key and its words.
        ``help_key`` is empty if the help cannot be opened here."""
        super().__init__(**place)
        self.help_key = help_key
        self.hints = tuple(hints)

    def show(self, hints: Sequence[CommandState], help_key: str) -> None:
        if (tuple(hints), help_key) != (self.hints, self.help_key):
            self.hints = tuple(hints)
            self.help_key = help_key
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        return [key_line(self.hints, width, help_key=self.help_key)]


def key_line(hints: Sequence[CommandState], width: int, *, help_key: str = HELP_KEY) -> Line:
    """Returns the row of keys: at most six keys of ``hints``, as many as fit, and ``help_key`` at
    the right unless it is empty."""
    most = 6 if width >= 96 else 5 if width >= 76 else 4
    right: Line = []
    if help_key:
        right = [Span(help_key, "accent", bold=True), Span(f" {HELP_WORD}", "muted")]
    room = width - width_of(right) - 2
    left: Line = []
    for hint in hints[:most]:
        part = [
            Span(hint.key, "muted" if hint.locked else "accent", bold=not hint.locked),
            Span(f" {hint.text}", "muted"),
        ]
        gap = [Span("   ")] if left else []
        if width_of(left) + width_of(gap) + width_of(part) > room:
            break
        left += [*gap, *part]
    return spread(left, right, width)


MOST_NOTICES = 200
MOST_CHARACTERS = 400


class KeptNotice(Struct, frozen=True):
    """A notice in the log. ``number`` counts from 1. ``at`` is the time by the desk's clock; None
    if unknown."""

    number: int
    at: datetime | None
    severity: str
    text: str


class NoticeLog:
    """The log of the newest 200 notices. Each further notice replaces the oldest one."""

    def __init__(self) -> None:
        self._kept: deque[KeptNotice] = deque(maxlen=MOST_NOTICES)
        self.count = 0

    def add(self, at: datetime | None, severity: str, text: str) -> None:
        self.count += 1
        self._kept.append(KeptNotice(self.count, at, severity, text[:MOST_CHARACTERS]))

    def __iter__(self) -> Iterator[KeptNotice]:
        return iter(tuple(self._kept))

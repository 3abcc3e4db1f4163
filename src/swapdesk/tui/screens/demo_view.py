"""How a demonstration is drawn: title, stages, panes, and what a watcher can still compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll

from swapdesk.flows.demo.link_search import Comparison
from swapdesk.flows.demo.panes import path_of
from swapdesk.flows.demo.stage import Pane, PaneLine, Stage
from swapdesk.flows.notation import clock_time, counted, short_clock
from swapdesk.tui.glyphs import (
    BECOMES,
    DONE,
    HEAVY,
    MOVING,
    REFUSED,
    RULE,
    SANDBOX_RULE,
    TROUBLE,
    WAITING,
)
from swapdesk.tui.spans import Line, Span, cut, spread, width_of, wrapped
from swapdesk.tui.widgets.lines_view import FittedLines, section_line

TIMED = 28
"""Cells from which on a pane has room for times."""
WITH_SECONDS = 32
_GLYPHS = {
    "done": (DONE, "status-done"),
    "moving": (MOVING, "status-moving"),
    "waiting": (WAITING, "status-waiting"),
    "trouble": (TROUBLE, "status-trouble"),
}
_LONGEST_PATH = 60
"""Cells of all edges of the drawn path."""
_COMPARED = 110
"""Cells from which on there is a table of what can be compared."""


def title_lines(stage: Stage, of: int, come: int, width: int) -> list[Line]:
    """``7 of 9  Second exchange in progress``, with its time; ``come`` stages came by now."""
    left: Line = [
        Span(f"{stage.number} of {of}", bold=True),
        Span("  "),
        Span(stage.row.title, bold=True),
    ]
    later = come - stage.number
    ahead = f", {later} later stage{'' if later == 1 else 's'} came" if later > 0 else ""
    at = clock_time(stage.at)
    said = Span(f"{at} on the sandbox clock{ahead}", "muted")
    short = Span(f"{at}{ahead}", "muted")
    room = width - width_of(left) - 2
    return [spread(left, [said if len(said.text) <= room else short], width)]


def said_lines(stage: Stage, more: bool, width: int) -> list[Line]:
    lines = wrapped([Span(stage.row.sentence)], width)
    return [*lines, *wrapped([Span(stage.row.more, "muted")], width)] if more else lines


def path_lines(stage: Stage, width: int) -> list[Line]:
    """Who pays whom over the exchanges, and below it the edge from Alice to Bob that a search of
    the chains does not find::

        Alice ━━━━━━→ Pell ━━━━━━→ ETH ━━━━━━→ Halyard ──────→ Bob
        Alice ╌╌╌╌╌╌╌╌╌╌ ✗ no path on the chains ╌╌╌╌╌╌╌╌╌╌╌╌╌→ Bob
    """
    places = path_of(stage)
    room = width - sum(cell_len(place.text) for place in places) - 2 * (len(places) - 1)
    if not places or room < 2 * (len(places) - 1):
        return []
    longest, rest = divmod(min(room, _LONGEST_PATH), len(places) - 1)
    first: Line = [Span(places[0].text, bold=True)]
    for number, place in enumerate(places[1:]):
        # As the track: what is done is heavy.
        edge = longest + (number < rest) - 1
        glyph, role = (HEAVY, "status-done") if place.tone == "done" else (RULE, "rule")
        if place.tone == "moving":
            role = "status-moving"
        first += [Span(f" {glyph * edge}{BECOMES} ", role), Span(place.text, bold=True)]
    if stage.search is None:
        return [first]
    found = len(stage.search.path)
    role = "status-trouble" if found else "muted"
    said = f" {TROUBLE} {counted(found, 'payment')}" if found else f" {REFUSED} no path"
    said += " on the chains "
    ends = cell_len(places[0].text) + cell_len(places[-1].text) + 2
    left, right = divmod(width_of(first) - ends - cell_len(said), 2)
    second: Line = [
        Span(places[0].text, bold=True),
        Span(f" {SANDBOX_RULE * left}", "rule"),
        Span(said, role),
        Span(f"{SANDBOX_RULE * (left + right - 1)}{BECOMES} ", "rule"),
        Span(places[-1].text, bold=True),
    ]
    return [first, second]


def pane_lines(pane: Pane, width: int, *, whole: bool) -> tuple[list[Line], list[Line]]:
    """What stands at the top, and the sentence that stands at the bottom."""
    rows: list[Line] = [[Span(pane.title, bold=True)], []]
    label_cells = _label_cells(pane.lines, width)
    for line in pane.lines:
        rows += _rows(line, label_cells, width, whole=whole)
    return rows, wrapped([Span(pane.ending, "muted")], width) if pane.ending else []


def _label_cells(lines: Iterable[PaneLine], width: int) -> int:
    labels = [_label(line, width) for line in lines]
    if width < TIMED:
        return 0
    return max((len(label) for label in labels), default=0) + 2 if any(labels) else 0


def _label(line: PaneLine, width: int) -> str:
    if line.at is None:
        return line.label
    if width < TIMED:
        return ""
    return clock_time(line.at) if width >= WITH_SECONDS else short_clock(line.at)


def _rows(line: PaneLine, label_cells: int, width: int, *, whole: bool) -> list[Line]:
    glyph, role = _GLYPHS.get(line.tone, ("", line.tone if line.tone == "muted" else "foreground"))
    label = _label(line, width)
    text: Line = [Span(f"{label} ", "muted")] if label and not label_cells else []
    text += [Span(f"{glyph} ", role)] if glyph else []
    said = (line.whole or line.text) if whole else line.text
    text.append(Span(said, role, bold=line.tone == "strong"))
    rows = wrapped(text, max(8, width - label_cells))
    heads = [label, *[""] * (len(rows) - 1)]
    return [
        [Span(head.ljust(label_cells), "muted"), *row] if label_cells else row
        for head, row in zip(heads, rows, strict=True)
    ]


def compared_lines(rows: Sequence[Comparison], width: int) -> list[Line]:
    """A table where there is room, one sentence else."""
    if not rows:
        return []
    if width < _COMPARED:
        said = "; ".join(f"{row.label.lower()} {row.brief}" for row in rows if row.brief)
        return wrapped([Span("Still alike: ", "muted"), Span(f"{said}.")], width)
    label = 10
    value = (width - label) // 2
    lines = [section_line("What a watcher can still compare", "", width)]
    for row in rows:
        at: Line = [Span(row.label.ljust(label), "muted"), *cut(row.value, value - 2)]
        gap = Span(" " * (label + value - width_of(at)))
        lines.append([*at, gap, *cut([Span(row.remark, "muted")], width - label - value)])
    return lines


class PaneColumns(VerticalScroll, can_focus=False):
    """The three panes side by side, equally high, each ending at the bottom; the page scrolls
    them."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    PaneColumns { height: 1fr; margin: 1 2 0 2; scrollbar-size: 0 0; }
    .-normal PaneColumns { margin: 0 2; }
    PaneColumns Horizontal { height: auto; }
    PaneColumns FittedLines { width: 1fr; margin: 0 2 0 0; padding: 1 2; background: $surface; }
    PaneColumns FittedLines:last-child { margin: 0; }
    .-short PaneColumns FittedLines { padding: 0 1; }
    .-normal PaneColumns FittedLines { padding: 1 1 0 1; }
    .-short.-narrow PaneColumns FittedLines, .-small PaneColumns FittedLines {
        padding: 0; background: transparent;
    }
    .-short PaneColumns { margin: 0 2; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._columns = [FittedLines() for _ in range(3)]

    def compose(self) -> ComposeResult:
        yield Horizontal(*self._columns)

    def show(self, panes: Sequence[Pane], *, whole: bool) -> None:
        for place, column in enumerate(self._columns):
            column.show(_column(panes, place, whole=whole))


def _column(panes: Sequence[Pane], place: int, *, whole: bool) -> Callable[[int], list[Line]]:
    def lines(width: int) -> list[Line]:
        made = [pane_lines(pane, width, whole=whole) for pane in panes]
        gap = width >= TIMED
        height = max(len(top) + len(end) + (gap and bool(end)) for top, end in made)
        top, end = made[place]
        return [*top, *[[] for _ in range(height - len(top) - len(end))], *end]

    return lines

"""The base of widgets that draw lines of text and repaint only the cells that changed, and simple
widgets for text, such as a label with a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Any, Generic, TypeVar

from rich.cells import cell_len
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from swapdesk.tui.glyphs import STALE
from swapdesk.tui.painting import paint
from swapdesk.tui.spans import (
    GAP,
    Line,
    LineLike,
    Span,
    cut,
    line_of,
    rule,
    ruled,
    spread,
    width_of,
    wrapped,
)


class LinesView(Widget):
    """A widget that draws the rows returned by :meth:`lines`, with two free cells at each side. A
    subclass calls :meth:`redraw` after each change."""

    DEFAULT_CSS = """
    LinesView {
        width: 1fr;
        height: auto;
        padding: 0 2;
    }
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(**{"markup": False, **place})
        self._laid: list[Line] = []
        self._laid_width = -1

    def lines(self, width: int) -> list[Line]:
        """Returns the rows to draw, each at most ``width`` cells wide. An implementation must not
        change anything."""
        return []

    @property
    def laid_out(self) -> bool:
        return (self._laid_width, len(self._laid)) == (self.size.width, self.size.height)

    def redraw(self) -> None:
        """Makes the rows again and repaints only changed cells. If the number of rows changed,
        requests a new layout."""
        if not self.is_mounted:
            return
        if self._laid_width <= 0:
            # Not laid out since the style changed: nothing to compare with.
            lay_out_again(self)
            return
        width = self._laid_width
        before, after = self._laid, self.lines(width)
        self._laid = after
        if len(before) != len(after):
            lay_out_again(self)
            return
        for y, (old, new) in enumerate(zip(before, after, strict=True)):
            changed = changed_cells(old, new)
            if changed is not None:
                start, end = changed
                self.refresh(Region(start, y, max(1, min(end, width) - start), 1))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._at(width))

    def render_line(self, y: int) -> Strip:
        base = self.rich_style
        width = self.size.width
        rows = self._at(width)
        return paint(self.app, rows[y] if y < len(rows) else [], width, base)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._laid_width = -1

    def _at(self, width: int) -> list[Line]:
        if width != self._laid_width:
            self._laid = self.lines(width)
            self._laid_width = width
        return self._laid


def lay_out_again(widget: Widget) -> None:
    """Requests a new layout because the height of ``widget`` changed. Without this, Textual 8.2.8
    may keep the old height."""
    widget._box_model_cache.clear()
    widget.refresh(layout=True)


def changed_cells(old: Line, new: Line) -> tuple[int, int] | None:
    """Returns the first column that differs and the column after the last difference. Returns None
    if the rows are equal. If a row has combining marks, all cells count as different."""
    if old == new:
        return None
    # Only what stands between equal spans is compared cell by cell.
    pairs = zip(old, new, strict=False)
    head = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    old_rest, new_rest = old[head:], new[head:]
    before, after = _cells(old_rest), _cells(new_rest)
    if before is None or after is None:
        return 0, max(width_of(old), width_of(new))
    longest = max(len(before), len(after))
    before += [(" ", "", False)] * (longest - len(before))
    after += [(" ", "", False)] * (longest - len(after))
    places = [at for at in range(longest) if before[at] != after[at]]
    begin = width_of(old[:head])
    return (begin + places[0], begin + places[-1] + 1) if places else None


def _cells(line: Line) -> list[tuple[str, str, bool]] | None:
    cells: list[tuple[str, str, bool]] = []
    for span in line:
        for char in span.text:
            size = 1 if char.isascii() else cell_len(char)
            if not size:
                return None
            cells += [(char, span.role, span.bold)] * size
    return cells


Shown = TypeVar("Shown")


class StateView(LinesView, Generic[Shown]):
    """A widget that draws one value, its ``state``. :meth:`show` replaces the value and redraws
    only if it differs."""

    def __init__(self, state: Shown, **place: Any) -> None:
        super().__init__(**place)
        self.state = state

    def show(self, state: Shown) -> None:
        if state != self.state:
            self.state = state
            self.redraw()


Fitted = Callable[[int], list[Line]]
"""A function that returns the rows for a given width in cells."""


class FittedLines(StateView[Fitted | None]):
    """A widget whose state is a function that returns the rows for the widget's width. It draws
    nothing if the state is None."""

    def __init__(self, made: Fitted | None = None, **place: Any) -> None:
        super().__init__(made, **place)

    def lines(self, width: int) -> list[Line]:
        return self.state(width) if self.state is not None else []


class SectionLabel(LinesView):
    """A widget that draws a label, a rule and a fact, as in ``Open ───── 5``, with a mark if the
    data is outdated."""

    DEFAULT_CSS = """
    SectionLabel { height: 1; }
    """

    def __init__(self, label: str, fact: LineLike = "", **place: Any) -> None:
        super().__init__(**place)
        self.label = label
        self.fact = fact
        self.stale = ""

    def show(self, label: str, fact: LineLike = "", stale: str = "") -> None:
        """Replaces label and fact. ``stale`` says how old the data is, as ``41s old``; empty if the
        data is fresh."""
        self.label, self.fact, self.stale = label, fact, stale
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return [section_line(self.label, self.fact, width, self.stale)]


def section_line(label: str, fact: LineLike, width: int, stale: str = "") -> Line:
    start: Line = [Span(label, "muted")]
    if stale:
        start = [Span(f"{STALE} ", "status-waiting"), Span(f"{label}, {stale}", "muted")]
    return ruled(start, line_of(fact, "muted"), width)


class TextRows(StateView[Sequence[LineLike]]):
    """A widget that draws sentences, each wrapped to the width. An empty sentence is drawn as an
    empty row."""

    def __init__(self, rows: Sequence[LineLike] = (), **place: Any) -> None:
        super().__init__(rows, **place)

    def lines(self, width: int) -> list[Line]:
        return [line for row in self.state for line in wrapped(line_of(row), width)]


class HeadLine(LinesView):
    """A widget of one row with a left and a right part. The right part is the longest text in
    ``rights`` that leaves the left part whole."""

    DEFAULT_CSS = """
    HeadLine { height: 1; }
    """

    def __init__(self, left: LineLike = "", *rights: LineLike, **place: Any) -> None:
        super().__init__(**place)
        self.left, self.rights = left, rights

    def show(self, left: LineLike, *rights: LineLike) -> None:
        self.left, self.rights = left, rights
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        room = width - width_of(self.left) - GAP
        rights = [line_of(right) for right in self.rights if right]
        if not rights:
            return [cut(self.left, width)]
        fitting = (right for right in rights if width_of(right) <= room)
        return [spread(self.left, next(fitting, rights[-1]), width)]


class RuleRow(LinesView):
    DEFAULT_CSS = """
    RuleRow { height: 1; }
    """

    def lines(self, width: int) -> list[Line]:
        return [rule(width)]

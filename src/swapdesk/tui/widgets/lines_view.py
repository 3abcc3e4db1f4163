"""The base of every widget that draws lines of spans and repaints only the cells that change. Also
the widgets for text: labels with a rule, sentences, heads."""

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
    """A widget that draws the rows of :meth:`lines`. A subclass keeps its data and calls
    :meth:`redraw` after a change.

    Two cells at both sides stay free (the left one is for the cursor bar).
    """

    DEFAULT_CSS = """
    LinesView {
        width: 1fr;
        height: auto;
        padding: 0 2;
    }
    """

    def __init__(self, **place: Any) -> None:
        """``place`` are ``id``, ``classes`` and the other arguments of a Textual widget."""
        super().__init__(**{"markup": False, **place})
        self._laid: list[Line] = []
        self._laid_width = -1

    def lines(self, width: int) -> list[Line]:
        """Returns the rows at this width, each at most ``width`` cells. Has no side effects."""
        return []

    @property
    def laid_out(self) -> bool:
        """True if the present size of the widget is the one for which its rows were made."""
        return (self._laid_width, len(self._laid)) == (self.size.width, self.size.height)

    def redraw(self) -> None:
        """Makes the rows again and repaints each changed row from its first to its last differing
        cell."""
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
    """Requests a new layout because the height of ``widget`` changed. Textual 8.2.8 combines
    requests while a layout is pending and could then keep an outdated height, so the widget's
    cached sizes are deleted first."""
    widget._box_model_cache.clear()
    widget.refresh(layout=True)


def changed_cells(old: Line, new: Line) -> tuple[int, int] | None:
    """Returns the column of the first differing cell and the column after the last one; None if the
    rows are equal. If a row has combining marks, all of its cells count as different."""
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
    """Returns the character, the role and the weight of each cell of a line. None if the line has a
    combining mark, which has no cell of its own."""
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
    """A widget that draws its ``state``."""

    def __init__(self, state: Shown, **place: Any) -> None:
        super().__init__(**place)
        self.state = state

    def show(self, state: Shown) -> None:
        if state != self.state:
            self.state = state
            self.redraw()


Fitted = Callable[[int], list[Line]]
"""A function that makes rows for a width in cells."""


class FittedLines(StateView[Fitted | None]):
    """A widget that draws the rows its function returns for the width; without a function it draws
    nothing."""

    def __init__(self, made: Fitted | None = None, **place: Any) -> None:
        super().__init__(made, **place)

    def lines(self, width: int) -> list[Line]:
        return self.state(width) if self.state is not None else []


class SectionLabel(LinesView):
    """A label with a rule and a fact, as in ``Open ───── 5``. With ``stale`` there is a mark before
    the label and the age after it."""

    DEFAULT_CSS = """
    SectionLabel { height: 1; }
    """

    def __init__(self, label: str, fact: LineLike = "", **place: Any) -> None:
        super().__init__(**place)
        self.label = label
        self.fact = fact
        self.stale = ""

    def show(self, label: str, fact: LineLike = "", stale: str = "") -> None:
        """Shows another label and fact. ``stale`` is ``41s old`` or ``41s old, polling``; empty if
        the data is fresh."""
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
    """A widget of wrapped sentences; an empty row is kept as a gap."""

    def __init__(self, rows: Sequence[LineLike] = (), **place: Any) -> None:
        super().__init__(rows, **place)

    def lines(self, width: int) -> list[Line]:
        return [line for row in self.state for line in wrapped(line_of(row), width)]


class HeadLine(LinesView):
    """A row with a left and a right part. Several right parts can be given, from long to short; the
    first that leaves room for the whole left part is shown. If none does, the shortest is shown and
    the left part is shortened."""

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
    """A thin rule between blocks."""

    DEFAULT_CSS = """
    RuleRow { height: 1; }
    """

    def lines(self, width: int) -> list[Line]:
        return [rule(width)]

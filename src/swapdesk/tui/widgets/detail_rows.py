"""Rows of facts about something, such as an order. Each has a muted label, a value and an optional
note at the right. Addresses are never cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from msgspec import Struct
from rich.cells import cell_len
from textual import events, on
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from swapdesk.chain.addresses.display import known_page
from swapdesk.flows.notation import wrapped_address
from swapdesk.tui.glyphs import CURSOR
from swapdesk.tui.painting import paint, selected_style
from swapdesk.tui.spans import Line, LineLike, Span, cut, line_of, spread, width_of, wrapped
from swapdesk.tui.widgets.lines_view import LinesView

MARGIN = 2


class Fact(Struct, frozen=True):
    """A label and its value. If ``address`` is not empty, it is drawn in groups instead of
    ``value``. A copy key copies ``copy`` or, if that is empty, the address."""

    label: str = ""
    value: LineLike = ""
    address: str = ""
    note: LineLike = ""
    was: str = ""
    below: Sequence[LineLike] = ()
    key: str = ""
    copy: str = ""
    bold: bool = False
    link: str = ""
    """The address of a web page about the value. The user may follow it; the desk never opens
    it."""

    @property
    def name(self) -> str:
        return self.key or self.label

    @property
    def copied(self) -> str:
        return self.copy or self.address


class DetailRows(LinesView, can_focus=True):
    """A widget that lists facts. Its cursor moves over the facts that have a label."""

    DEFAULT_CSS = """
    DetailRows { padding: 0; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)", "down", show=False),
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("enter", "choose", "choose", show=False),
    ]

    @dataclass
    class Chosen(Message):
        """The message that the user pressed ``enter`` on ``fact``."""

        rows: DetailRows
        fact: Fact

        @property
        def control(self) -> DetailRows:
            return self.rows

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self.facts: tuple[Fact, ...] = ()
        self._key = ""
        self._names: list[str] = []
        """For each drawn row, the ``name`` of the fact that it belongs to."""

    @property
    def current(self) -> Fact | None:
        return next((fact for fact in self.facts if fact.name == self._key and fact.label), None)

    def show(self, facts: Sequence[Fact]) -> None:
        self.facts = tuple(facts)
        if self.current is None:
            self._key = next((fact.name for fact in self.facts if fact.label), "")
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        size = label_width(self.facts)
        rows = [
            (fact.name, [Span(" "), Span(" "), *line])
            for fact in self.facts
            for line in fact_lines(fact, width - 2 * MARGIN, size)
        ]
        self._names = [name for name, _ in rows]
        return [line for _, line in rows]

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        rows = self._at(width)
        if not (self._key and self.has_focus and y < len(rows) and self._names[y] == self._key):
            return super().render_line(y)
        ground = self.rich_style + selected_style(self.app)
        return paint(self.app, [Span(CURSOR, "accent"), *rows[y][1:]], width, ground)

    @on(events.Focus)
    @on(events.Blur)
    def _focus_moved(self) -> None:
        self.refresh(Region(0, 0, self.size.width, self.size.height))

    def action_move(self, steps: int) -> None:
        names = [fact.name for fact in self.facts if fact.label]
        if not names:
            return
        at = names.index(self._key) if self._key in names else 0
        self._key = names[min(len(names) - 1, max(0, at + steps))]
        self.refresh(Region(0, 0, self.size.width, self.size.height))
        self._show_current()

    def _show_current(self) -> None:
        width = self.size.width
        self._at(width)
        rows = [at for at, name in enumerate(self._names) if name == self._key]
        if not rows or not isinstance(self.parent, Widget):
            return
        # With the first fact everything above the facts comes into view again.
        top = 0 if rows[0] == 0 else self.virtual_region.y + rows[0]
        here = Region(0, top, width, 1 if rows[0] == 0 else len(rows))
        self.parent.scroll_to_region(here, animate=False, force=True, x_axis=False)

    def action_choose(self) -> None:
        if self.current is not None:
            self.post_message(self.Chosen(self, self.current))


def label_width(facts: Sequence[Fact]) -> int:
    """Returns the column at which the values begin, counted from 0: three cells after the longest
    label."""
    return max((cell_len(fact.label) for fact in facts), default=0) + 3


def facts_lines(facts: Sequence[Fact], width: int, label: int = 0) -> list[Line]:
    size = label or label_width(facts)
    return [line for fact in facts for line in fact_lines(fact, width, size)]


def fact_lines(fact: Fact, width: int, label: int) -> list[Line]:
    """Returns the rows of one fact, at most ``width`` cells wide. ``label`` is the number of the
    column in which the value begins."""
    room = max(4, width - label)
    head = Span(fact.label.ljust(label), "muted")
    indent = Span(" " * label)
    page = known_page(fact.link) or ""
    if fact.address:
        rows: list[Line] = [
            [Span(row, "foreground", fact.bold, link=page)]
            for row in wrapped_address(fact.address, room)
        ]
    else:
        value = line_of(fact.value)
        if fact.bold:
            value = [Span(span.text, span.role, True) for span in value]
        if fact.was:
            value = [*value, Span(f"  was {fact.was}", "muted")]
        rows = wrapped(value, room)
    note = line_of(fact.note, "muted")
    if note and width_of(rows[0]) + 2 + width_of(note) <= room:
        rows[0] = spread(rows[0], note, room)
    elif note:
        rows.append(cut(note, room))
    for extra in fact.below:
        rows += wrapped(line_of(extra, "muted"), room)
    return [[head if at == 0 else indent, *row] for at, row in enumerate(rows)]

"""One line is enough: amount, what you sell, what you buy. Under it, how it was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical

from swapdesk.tui.glyphs import DOT, REFUSED, TROUBLE, VALID, GlyphState
from swapdesk.tui.spans import Line, LineLike, Span, line_of, spread, width_of, wrapped
from swapdesk.tui.widgets.lines_view import LinesView
from swapdesk.tui.widgets.text_field import TextField

HINT = "amount   you sell   you buy"
TALL_FROM = 28


class Reading(GlyphState):
    """How far a line was understood: glyph and role."""

    EMPTY = ("", "muted")
    INCOMPLETE = (DOT, "muted")
    AMBIGUOUS = (TROUBLE, "status-waiting")
    VALID = (VALID, "status-done")
    REFUSED = (REFUSED, "status-trouble")


@dataclass(frozen=True, slots=True)
class IntentReading:
    """``text``, its ``right`` end (the value in USD), muted ``below``, wrong ``marked`` places."""

    reading: Reading = Reading.EMPTY
    text: LineLike = ""
    right: LineLike = ""
    below: LineLike = ""
    marked: frozenset[int] = field(default_factory=frozenset)


class ReadingLine(LinesView):
    """The rows under the field."""

    def __init__(self, state: IntentReading, **place: Any) -> None:
        super().__init__(**place)
        self.state = state

    def show(self, state: IntentReading) -> None:
        self.state = state
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return reading_lines(self.state, width)


class IntentLine(Vertical):
    """The field of the first screen. ``TextField.Changed`` and ``Submitted`` come up from it."""

    DEFAULT_CSS = """
    IntentLine { height: auto; }
    IntentLine ReadingLine { margin: 1 0 0 0; min-height: 2; }
    .-short IntentLine ReadingLine { margin: 0; }
    """

    def __init__(self, value: str = "", **place: Any) -> None:
        super().__init__(**place)
        self.field = TextField(value, hint=HINT, tall=True, limit=160)
        self._reading = ReadingLine(IntentReading())

    def compose(self) -> ComposeResult:
        yield self.field
        yield self._reading

    @property
    def value(self) -> str:
        return self.field.value

    def set_value(self, value: str) -> None:
        self.field.set_value(value)

    def show(self, state: IntentReading) -> None:
        """Draw how the line was read and mark the place of a refusal."""
        self.field.mark(state.marked)
        self._reading.show(state)

    def on_resize(self) -> None:
        tall = self.app.size.height >= TALL_FROM
        if tall != self.field.tall:
            self.field.tall = tall
            self.field.redraw()


def reading_lines(state: IntentReading, width: int) -> list[Line]:
    """Two rows at most widths: what was understood, then what else could be said."""
    role = "status-trouble" if state.reading is Reading.REFUSED else "muted"
    text = line_of(state.text, role)
    rows: list[Line] = []
    if text:
        glyph = state.reading.glyph
        head: Line = [Span(f"{glyph} ", state.reading.role), *text] if glyph else text
        right = line_of(state.right, "foreground")
        rows += wrapped(head, width, indent=2)
        # The value goes before anything of the sentence would: an amount is never cut.
        if right and width_of(rows[-1]) + 2 + width_of(right) <= width:
            rows[-1] = spread(rows[-1], right, width)
    if state.below:
        below = wrapped(line_of(state.below, "muted"), width - 2)
        rows += [[Span("  "), *row] for row in below]
    return rows

"""A field of a form: its label, the row to type in, what was checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical

from swapdesk.tui.lines_view import LinesView
from swapdesk.tui.spans import Line, LineLike, Span, cut, line_of
from swapdesk.tui.widgets.check_line import Check, check_lines
from swapdesk.tui.widgets.text_field import TextField


class FieldLabel(LinesView):
    """``Recipient  gets the ETH, on Ethereum``."""

    def __init__(self, label: str, note: LineLike = "", **place: Any) -> None:
        super().__init__(**place)
        self.label, self.note = label, note

    def show(self, label: str, note: LineLike) -> None:
        self.label, self.note = label, note
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        note = line_of(self.note, "muted")
        head = Span(self.label, "foreground", bold=True)
        return [cut([head, Span("  "), *note] if note else [head], width)]


class Checks(LinesView):
    """The sentences under a field."""

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self.checks: tuple[Check, ...] = ()
        self.extra: tuple[Line, ...] = ()

    def show(self, checks: Sequence[Check], extra: Sequence[Line] = ()) -> None:
        self.checks, self.extra = tuple(checks), tuple(extra)
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        rows = [row for check in self.checks for row in check_lines(check, width)]
        return [*rows, *(cut(line, width) for line in self.extra)]


class LabelledField(Vertical):
    """Label, :class:`TextField`, checks. The field's messages come up with it as ``control``."""

    DEFAULT_CSS = """
    LabelledField { height: auto; }
    """

    def __init__(self, label: str, field: TextField, *, note: LineLike = "", **place: Any) -> None:
        super().__init__(**place)
        self.field = field
        self._label = FieldLabel(label, note)
        self._checks = Checks()

    def compose(self) -> ComposeResult:
        yield self._label
        yield self.field
        yield self._checks

    @property
    def value(self) -> str:
        return self.field.value

    def relabel(self, label: str, note: LineLike = "") -> None:
        self._label.show(label, note)

    def show_checks(self, checks: Sequence[Check]) -> None:
        """The result of checking the value; an empty list clears the rows."""
        self._checks.show(checks)

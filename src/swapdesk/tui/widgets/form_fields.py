"""Fields of a form. Each has a label, a row to type in, and the results of checking what was typed.
An address that looks like a known one is shown side by side with the known one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical

from swapdesk.flows.check_line import CheckLevel, CheckLine
from swapdesk.flows.notation import address_groups, differing_groups
from swapdesk.tui.glyphs import DOT, REFUSED, TROUBLE, UNKNOWN, VALID
from swapdesk.tui.spans import Line, LineLike, Span, cut, line_of, wrapped
from swapdesk.tui.widgets.lines_view import FittedLines
from swapdesk.tui.widgets.text_field import TextField

_MARKS: Mapping[CheckLevel, tuple[str, str]] = {
    "ok": (VALID, "status-done"),
    "note": (DOT, "muted"),
    "warn": (TROUBLE, "status-waiting"),
    "refuse": (REFUSED, "status-trouble"),
    "unknown": (UNKNOWN, "muted"),
}
"""Glyph and colour role for the result of a check, by its level."""


def check_lines(check: CheckLine, width: int) -> list[Line]:
    """Returns the rows for the result of one check. Only the glyph of a valid value is coloured."""
    glyph, hue = _MARKS[check.level]
    role = "muted" if check.level == "ok" else hue
    line: Line = [Span(f"{glyph} ", hue), Span(check.text, role)]
    if check.then:
        line.append(Span(f" {check.then}", "muted"))
    return wrapped(line, width, indent=2)


def label_lines(label: str, note: LineLike, width: int) -> list[Line]:
    """Returns one row with the label in bold and a muted note, as in ``Recipient  gets the ETH, on
    Ethereum``."""
    said = line_of(note, "muted")
    head = Span(label, "foreground", bold=True)
    return [cut([head, Span("  "), *said] if said else [head], width)]


def result_lines(checks: Sequence[CheckLine], extra: Sequence[Line], width: int) -> list[Line]:
    """Returns the rows below a field: the results of the checks, then the lines of ``extra``, cut
    to ``width``."""
    rows = [row for check in checks for row in check_lines(check, width)]
    return [*rows, *(cut(line, width) for line in extra)]


ADDRESS_LIMIT = 1024
"""Largest number of characters in an address field, enough for a payment link with its label and
message."""
MEMO_LIMIT = 128


class LabelledField(Vertical):
    """A label, a :class:`TextField` and the results of checking its value."""

    DEFAULT_CSS = """
    LabelledField { height: auto; }
    LabelledField TextField:disabled { display: none; }
    """

    def __init__(self, label: str, field: TextField, *, note: LineLike = "", **place: Any) -> None:
        super().__init__(**place)
        self.field = field
        self._label = FittedLines(partial(label_lines, label, note))
        self._checks = FittedLines()

    def compose(self) -> ComposeResult:
        yield self._label
        yield self.field
        yield self._checks

    @property
    def value(self) -> str:
        return self.field.value

    def relabel(self, label: str, note: LineLike = "") -> None:
        self._label.show(partial(label_lines, label, note))

    def show_checks(
        self,
        checks: Sequence[CheckLine],
        *,
        wrong: frozenset[int] = frozenset(),
        alike: tuple[str, str] | None = None,
    ) -> None:
        """Shows the results of checking the value. The characters at the positions in ``wrong``
        (from 0) are marked. ``alike`` is the name and address of a known, similar entry, or
        None."""
        self.field.mark(wrong)
        pair = alike_lines(self.value, *alike) if alike else ()
        self._checks.show(partial(result_lines, checks, pair))


def alike_lines(address: str, name: str, known: str) -> list[Line]:
    """Returns two rows that compare ``address`` with the similar address ``known``. Groups that
    differ are bold."""
    differing = differing_groups(address, known)
    size = max(len("this"), len(name)) + 2
    return [
        _alike_line("this", address, differing, size),
        _alike_line(name, known, differing, size),
    ]


def _alike_line(name: str, address: str, differing: list[int], size: int) -> Line:
    line: Line = [Span(name.ljust(size), "muted")]
    for at, group in enumerate(address_groups(address)):
        differs = at in differing
        gap = " " if at else ""
        role = "status-waiting" if differs else "foreground"
        line.append(Span(gap + group, role, bold=differs))
    return line


LIMIT = 240
"""Largest number of characters in a filter, enough for the longest hash and a few words."""


class FilterField(TextField):
    """The line above a table in which the user types a filter for the rows."""

    DEFAULT_CSS = """
    FilterField { display: none; }
    FilterField.-open { display: block; }
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(prompt="/", limit=LIMIT, **place)

    @property
    def opened(self) -> bool:
        return self.has_class("-open")

    @property
    def text(self) -> str:
        return self.value.strip()

    def open(self) -> None:
        self.add_class("-open")
        self.focus()

    def say(self, hint: LineLike) -> None:
        """Shows ``hint`` at the right end of the line until the next call. An empty ``hint``
        removes it."""
        if hint != self.hint:
            self.hint = hint
            self.redraw()

    def close(self) -> None:
        self.say("")
        self.remove_class("-open")
        self.set_value("")

"""Two panels made from the commands of the screen: the help, which lists every key that works here,
and the palette, which searches commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from textual import on
from textual.binding import Binding, BindingType
from textual.widget import Widget

from swapdesk.tui.commands.command import CommandState
from swapdesk.tui.commands.everywhere import KEYS, PALETTE
from swapdesk.tui.commands.key_names import shown_key
from swapdesk.tui.spans import Line, Span, beside, wrapped
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import section_line
from swapdesk.tui.widgets.overlay import Overlay, ReadingOverlay
from swapdesk.tui.widgets.table_layout import Column, Row
from swapdesk.tui.widgets.text_field import EDITING, TextField

GAP = 4
TWO_FROM = 92


class HelpGroup(Struct, frozen=True):
    """The keys that the help lists under one title. ``more`` is a shell command that prints more
    about the screen, or empty."""

    title: str
    rows: Sequence[tuple[str, str]]
    """Pairs of a key, as it is drawn, and what it does."""
    more: str = ""


class HelpOverlay(ReadingOverlay):
    """The panel with the help. ``?`` opens it; ``?`` or ``esc`` closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(KEYS.key, "leave", "close", show=False, id=KEYS.id),
    ]

    def __init__(self, groups: Sequence[HelpGroup]) -> None:
        super().__init__(partial(help_lines, groups))


def help_lines(groups: Sequence[HelpGroup], width: int) -> list[Line]:
    """Returns the rows of the help, in two columns if ``width`` is at least 92 cells."""
    shown = [group for group in groups if group.rows]
    if width < TWO_FROM or len(shown) < 2:
        rows: list[Line] = []
        for group in shown:
            rows += [*([[]] if rows else []), *_group_lines(group, width)]
        return rows
    column = (width - GAP) // 2
    # Everywhere stands at the right, all else at the left.
    left: list[Line] = []
    for group in shown[:-1]:
        left += [*([[]] if left else []), *_group_lines(group, column)]
    right = _group_lines(shown[-1], column)
    return beside(left, right, column + GAP)


def _group_lines(group: HelpGroup, width: int) -> list[Line]:
    size = max(cell_len(key) for key, _ in group.rows) + 3
    lines = [section_line(group.title, group.more, width)]
    for key, does in group.rows:
        for at, part in enumerate(wrapped([Span(does)], width - size)):
            head = key if at == 0 else ""
            pad = " " * (size - cell_len(head))
            lines.append([Span(head, "accent", bold=True), Span(pad), *part])
    return lines


_ACTS = {
    "left": "left",
    "right": "right",
    "home": "to the start",
    "end": "to the end",
    "backspace": "delete before",
    "delete": "delete behind",
    "word": "delete a word",
    "to_start": "delete to the start",
    "to_end": "delete to the end",
    "word_left": "a word left",
    "word_right": "a word right",
}
"""What the help says about each editing act in ``EDITING``."""


def widget_help(widget: Widget | None) -> HelpGroup:
    """Returns the keys that the focused widget handles itself. The group has no rows if there are
    no such keys."""
    rows: dict[str, tuple[list[str], list[str]]] = {}
    if isinstance(widget, TextField):
        for key, act in EDITING.items():
            _add(rows, act, key, _ACTS[act])
        return HelpGroup("This field", _rows(rows))
    for key, binding in _own_bindings(widget):
        if binding.description:
            # Up and down are one act with two directions.
            _add(rows, binding.action.partition("(")[0], key, binding.description)
    return HelpGroup("This list", _rows(rows))


def _own_bindings(widget: Widget | None) -> Iterator[tuple[str, Binding]]:
    for kind in type(widget).__mro__ if widget is not None else ():
        if kind.__module__.startswith("swapdesk."):
            for binding in Binding.make_bindings(kind.__dict__.get("BINDINGS", ())):
                yield binding.key, binding


def _add(rows: dict[str, tuple[list[str], list[str]]], act: str, key: str, words: str) -> None:
    keys, said = rows.setdefault(act, ([], []))
    keys.append(shown_key(key))
    if words not in said:
        said.append(words)


def _rows(rows: dict[str, tuple[list[str], list[str]]]) -> list[tuple[str, str]]:
    return [(" ".join(keys), ", ".join(said)) for keys, said in rows.values()]


class PaletteEntry(Struct, frozen=True):
    """A command in the palette, which searches ``text`` and ``help``. ``key`` identifies the
    command; ``shown_key`` is its keyboard key."""

    key: str
    text: str
    help: str = ""
    shown_key: str = ""


class PaletteOverlay(Overlay[str]):
    """The panel that searches commands. Its result is the ``key`` of the chosen entry, or None if
    it was closed."""

    DEFAULT_CSS = """
    PaletteOverlay LineTable { height: 10; margin: 1 0 0 0; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "move(1)", "down", show=False),
        Binding("up", "move(-1)", "up", show=False),
        Binding(PALETTE.key, "leave", "close", show=False, id=PALETTE.id),
    ]

    def __init__(self, entries: Sequence[PaletteEntry]) -> None:
        self._entries = tuple(entries)
        self._table = LineTable(
            [
                Column("text", "", 28),
                Column("key", "", 8, role="accent"),
                Column("help", "", 20, priority=1, role="muted", grow=1),
            ],
            heads=False,
            empty="No command has this name.",
        )
        self._table.can_focus = False
        hints = [CommandState("enter", "do it"), CommandState("↑↓", "move")]
        super().__init__(hints, TextField(prompt=":", limit=64), self._table)

    def on_mount(self) -> None:
        self._fill("")

    @on(TextField.Changed)
    def _search(self, event: TextField.Changed) -> None:
        self._fill(event.value)

    @on(TextField.Submitted)
    def _choose(self) -> None:
        if self._table.cursor_key:
            self.dismiss(self._table.cursor_key)

    def action_move(self, steps: int) -> None:
        self._table.action_move(steps)

    def _fill(self, query: str) -> None:
        self._table.set_rows(
            Row(
                entry.key,
                {
                    "text": entry.text,
                    "key": Span(entry.shown_key, "accent", bold=True),
                    "help": Span(entry.help, "muted"),
                },
            )
            for entry in ranked(self._entries, query)
        )
        self._table.action_move(-len(self._entries))


def ranked(entries: Sequence[PaletteEntry], query: str) -> list[PaletteEntry]:
    """Returns the entries that match ``query``. Matches at the beginning of the text come first,
    then at a word, inside the text, and in the help. An empty ``query`` matches all."""
    wanted = " ".join(query.lower().split())
    if not wanted:
        return list(entries)

    def rank(entry: PaletteEntry) -> int:
        text = entry.text.lower()
        if text.startswith(wanted):
            return 0
        if any(word.startswith(wanted) for word in text.split()):
            return 1
        if wanted in text:
            return 2
        return 3 if wanted in entry.help.lower() else 4

    found = [(rank(entry), at, entry) for at, entry in enumerate(entries)]
    return [entry for place, _, entry in sorted(found, key=lambda item: item[:2]) if place < 4]

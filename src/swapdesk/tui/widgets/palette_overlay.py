"""Finding a verb by its name among those that work now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.widget import Widget

from swapdesk.tui.commands.everywhere import Palette
from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.key_bar import KeyHint
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.overlay import Overlay
from swapdesk.tui.widgets.table_layout import Column, Row
from swapdesk.tui.widgets.text_field import TextField


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """``key`` is handed back, ``text`` and ``help`` are searched, ``shown_key`` is drawn."""

    key: str
    text: str
    help: str = ""
    shown_key: str = ""


class PaletteOverlay(Overlay[str]):
    """Dismisses with the key of the chosen entry, None when left."""

    DEFAULT_CSS = """
    PaletteOverlay LineTable { height: 10; margin: 1 0 0 0; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "move(1)", "down", show=False),
        Binding("up", "move(-1)", "up", show=False),
        Binding(Palette.KEY, "leave", "close", show=False, id=Palette.id()),
    ]

    def __init__(self, entries: Sequence[PaletteEntry]) -> None:
        super().__init__([KeyHint("enter", "do it"), KeyHint("↑↓", "move")])
        self._entries = tuple(entries)
        self._field = TextField(prompt=":", limit=64)
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

    def compose_panel(self) -> Sequence[Widget]:
        return (self._field, self._table)

    def on_mount(self) -> None:
        self._field.focus()
        self._fill("")

    @on(TextField.Changed)
    def _search(self, event: TextField.Changed) -> None:
        self._fill(event.value)

    @on(TextField.Submitted)
    def _choose(self) -> None:
        if self._table.cursor_key is not None:
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
    """Beginning of the text, beginning of a word, inside the text, inside the help; else out."""
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

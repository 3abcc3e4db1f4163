"""The keys of the widget that has the focus, for the help: read from its bindings."""

from __future__ import annotations

from collections.abc import Iterator

from textual.binding import Binding
from textual.widget import Widget

from swapdesk.tui.commands.key_names import shown_key
from swapdesk.tui.widgets.help_overlay import HelpGroup, HelpRow
from swapdesk.tui.widgets.text_field import EDITING, TextField

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
"""The acts of ``EDITING`` in words."""


def widget_help(widget: Widget | None) -> HelpGroup:
    """One row per act, all its keys in front; empty for a widget without keys of its own."""
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
    """Those of the desk's widgets; what a widget has from the toolkit is not for the help."""
    for kind in type(widget).__mro__ if widget is not None else ():
        if kind.__module__.startswith("swapdesk."):
            for binding in Binding.make_bindings(kind.__dict__.get("BINDINGS", ())):
                yield binding.key, binding


def _add(rows: dict[str, tuple[list[str], list[str]]], act: str, key: str, words: str) -> None:
    keys, said = rows.setdefault(act, ([], []))
    keys.append(shown_key(key))
    if words not in said:
        said.append(words)


def _rows(rows: dict[str, tuple[list[str], list[str]]]) -> list[HelpRow]:
    return [HelpRow(" ".join(keys), ", ".join(said)) for keys, said in rows.values()]

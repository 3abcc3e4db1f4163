"""Classes by width and height, and keys by the desk's keymap, for screens and overlays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.screen import Screen

WIDTHS: list[tuple[int, str]] | None = [
    (0, "-tiny"),
    (60, "-small"),
    (80, "-narrow"),
    (100, "-normal"),
    (120, "-roomy"),
    (160, "-wide"),
]
SHORT_BELOW = 28
HEIGHTS: list[tuple[int, str]] | None = [(0, "-short"), (SHORT_BELOW, "-medium"), (36, "-tall")]


def classes_at(width: int, height: int) -> dict[str, bool]:
    """Returns every style class that depends on the screen's size, each with True if a screen of
    this width and height has it."""
    classes: dict[str, bool] = {}
    for cells, steps in ((width, WIDTHS or []), (height, HEIGHTS or [])):
        reached = max((least for least, _ in steps if least <= cells), default=None)
        classes |= {name: least == reached for least, name in steps}
    return classes


def bind_keys(screen: Screen[Any], keymap: Mapping[str, str]) -> None:
    """Gives the verbs of a screen the keys that the user chose in ``keymap``. ``App.set_keymap`` is
    not used, because Textual 8.2.8 applies that keymap only after it asked the focused field
    whether the field takes the key. A verb whose usual key is a letter would then not work in a
    field even under its new key."""
    merged = type(screen)._merged_bindings
    if keymap and merged is not None:
        screen._bindings = merged.copy()
        screen._bindings.apply_keymap(dict(keymap))

"""The style classes of screens and overlays, which depend on the terminal's width and height, and
the binding of the user's own keys."""

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
    """Returns all style classes that depend on the terminal's size, with True for the classes that
    apply."""
    classes: dict[str, bool] = {}
    for cells, steps in ((width, WIDTHS or []), (height, HEIGHTS or [])):
        reached = max((least for least, _ in steps if least <= cells), default=None)
        classes |= {name: least == reached for least, name in steps}
    return classes


def bind_keys(screen: Screen[Any], keymap: Mapping[str, str]) -> None:
    """Rebinds the commands of ``screen`` to the keys in ``keymap``, by command id. With
    ``App.set_keymap``, the new keys come too late for a focused text field (Textual 8.2.8)."""
    merged = type(screen)._merged_bindings
    if keymap and merged is not None:
        screen._bindings = merged.copy()
        screen._bindings.apply_keymap(dict(keymap))

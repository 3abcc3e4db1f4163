"""The keys that a screen has, by the keymap of the desk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.screen import Screen


def bind_keys(screen: Screen[Any], keymap: Mapping[str, str]) -> None:
    """Give the commands of a screen the keys of the keymap.

    Not ``App.set_keymap``: Textual 8.2.8 asks a field whether it takes a key before it applies
    that keymap, and a verb whose old key is a letter is lost while a field has the focus.
    """
    merged = type(screen)._merged_bindings
    if keymap and merged is not None:
        screen._bindings = merged.copy()
        screen._bindings.apply_keymap(dict(keymap))

"""The names of keys in three forms: as the user writes them in a file, as Textual calls them, and
as the desk draws them."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

FORBIDDEN: Mapping[str, str] = {
    "ctrl+h": "backspace",
    "ctrl+i": "tab",
    "ctrl+j": "enter",
    "ctrl+m": "enter",
    "ctrl+left_square_bracket": "escape",
}
"""Keys that terminals cannot tell from a second key, with that second key."""

TAKEN: Mapping[str, str] = {
    **dict.fromkeys(("up", "down", "j", "k", "home", "end", "pageup", "pagedown"), "lists"),
    **dict.fromkeys(("ctrl+d", "ctrl+u"), "lists and fields"),
    **dict.fromkeys(("left", "right", "backspace", "delete", "ctrl+a", "ctrl+e", "ctrl+w",
                     "ctrl+k", "ctrl+left", "ctrl+right", "space"), "fields"),
    **dict.fromkeys(("enter", "tab", "shift+tab", "escape"), "every screen"),
    "ctrl+c": "leaving",
    "ctrl+q": "leaving",
    "ctrl+z": "the shell",
    "f8": "the mouse",
    **dict.fromkeys((*"0123456789", "equals_sign"), "the line of the first screen"),
}  # fmt: skip
"""Keys with a fixed meaning, each with the place of that meaning. A user's keymap cannot reassign
them."""

_SHOWN = {"escape": "esc", "up": "↑", "down": "↓", "left": "←", "right": "→", "space": "space"}
_REPLACED = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
_NAMED = {
    *("up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete"),
    *("backspace", "enter", "escape", "tab", "space"),
    *(f"f{number}" for number in range(1, 25)),
}
_MODIFIERS = {"ctrl", "shift", "alt"}
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def character_key(character: str) -> str:
    """Returns Textual's name of the key that types ``character``."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return _REPLACED.get(name, name)


_MARKS = {character_key(mark): mark for mark in _PUNCTUATION}
KNOWN_KEYS = (*sorted(_NAMED), *_MARKS)


def key_name(written: str) -> str | None:
    """Returns Textual's name of a key that the user wrote, such as ``y``, ``ctrl+t`` or ``slash``.
    Returns None if the text names no usable key."""
    written = written.strip()
    if len(written) == 1:
        return character_key(written) if written.isascii() and written.isprintable() else None
    *modifiers, key = written.lower().split("+") if written != "+" else ["+"]
    if not set(modifiers) <= _MODIFIERS or len(set(modifiers)) < len(modifiers):
        return None
    if len(key) == 1 and modifiers:
        key = character_key(key) if key.isascii() and key.isprintable() else ""
        usable = key in _MARKS or "ctrl" in modifiers or "alt" in modifiers
        return "+".join([*sorted(modifiers), key]) if key and usable else None
    if key not in _NAMED and key not in _MARKS:
        return None
    return "+".join([*sorted(modifiers), key])


def shown_key(name: str) -> str:
    """Returns how the footer draws the key with Textual's name ``name``: ``question_mark`` as
    ``?``, ``escape`` as ``esc``."""
    *modifiers, key = name.split("+")
    return "+".join([*modifiers, _MARKS.get(key, _SHOWN.get(key, key))])


def split_keys(keys: str) -> list[str]:
    """Splits ``keys`` at its commas and returns the keys without blanks around them."""
    return [key.strip() for key in keys.split(",") if key.strip()]

"""The names of keys: as a person writes them in a file, as the toolkit calls them, and as they are
shown."""

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
"""Keys that a program cannot tell from another key, because the terminal sends the same code for
both. Each has the name of that other key; all names are the toolkit's."""

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
"""Keys that have a fixed meaning in lists, fields or on leaving, with the place where they have it.
A keymap cannot give such a key to a verb, unless it is already the verb's usual key."""

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
    """Returns the toolkit's name of the key that types this character."""
    if character.isalnum():
        return character
    name = unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return _REPLACED.get(name, name)


_MARKS = {character_key(mark): mark for mark in _PUNCTUATION}
KNOWN_KEYS = (*sorted(_NAMED), *_MARKS)


def key_name(written: str) -> str | None:
    """Returns the toolkit's name of a key written as ``y``, ``?``, ``ctrl+t``, ``f3`` or ``slash``;
    None if there is no such key."""
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
    """Returns how a key is shown in the footer: ``question_mark`` as ``?``, ``escape`` as
    ``esc``."""
    *modifiers, key = name.split("+")
    return "+".join([*modifiers, _MARKS.get(key, _SHOWN.get(key, key))])


def split_keys(keys: str) -> list[str]:
    """Returns the keys of a binding, which are joined by commas."""
    return [key.strip() for key in keys.split(",") if key.strip()]

"""Keys of the user's choice: checked before Textual would silently drop another verb's key."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from swapdesk.tui.commands.command import Command

# Terminals send these as backspace, tab, enter and escape.
FORBIDDEN = frozenset({"ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "ctrl+left_square_bracket"})


def checked_keymap(
    wanted: Mapping[str, str], commands: Iterable[type[Command]]
) -> tuple[dict[str, str], list[str]]:
    """The entries that can be used (command id to keys) and one sentence for each other one."""
    known = {command.id(): command for command in commands}
    keymap: dict[str, str] = {}
    problems: list[str] = []
    for name, keys in wanted.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            problems.append(f"There is no command {name!r}.{hint}")
            continue
        bad = [key for key in _split(keys) if key in FORBIDDEN]
        if bad:
            problems.append(f"{name}: a terminal cannot tell {bad[0]} from another key.")
            continue
        keymap[name] = keys
    owners: dict[str, str] = {}
    for name, command in known.items():
        for key in _split(keymap.get(name, command.KEY)):
            owner = owners.setdefault(key, name)
            if owner == name or _apart(known[owner], command):
                continue
            loser = name if name in keymap else owner
            if loser in keymap:
                problems.append(f"{key} belongs to both {owner!r} and {name!r}.")
                del keymap[loser]
    return keymap, problems


def _split(keys: str) -> list[str]:
    return [key.strip() for key in keys.split(",") if key.strip()]


def _apart(one: type[Command], other: type[Command]) -> bool:
    """Two verbs of different screens may share a key; a verb of everywhere shares with none."""
    return not (one.EVERYWHERE or other.EVERYWHERE) and one.__module__ != other.__module__

"""Checks a user's keymap. Without the check, Textual would give a key that two commands want to
only one of them, without a word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from swapdesk.toml_document import ConfigProblem, nearest
from swapdesk.tui.commands import pages_of_verbs
from swapdesk.tui.commands.command import Verb
from swapdesk.tui.commands.key_names import (
    FORBIDDEN,
    KNOWN_KEYS,
    TAKEN,
    key_name,
    shown_key,
    split_keys,
)

Refuse = Callable[[str, str, str | None], ConfigProblem]
"""Makes a problem from a command id, a message and the most similar valid name (or None)."""


def without_a_file(command: str, message: str, near: str | None) -> ConfigProblem:
    """Returns a problem with the keys of ``command`` that names no file. ``near`` is a similar
    command id, or None."""
    return ConfigProblem(None, None, f"keys.{command}", message, near)


def checked_keymap(
    wanted: Mapping[str, str],
    commands: Iterable[Verb],
    refuse: Refuse = without_a_file,
) -> tuple[dict[str, str], list[ConfigProblem]]:
    """Returns the usable entries of ``wanted`` (keys by command id) and, for each other entry, a
    problem made by ``refuse``."""
    by_id: dict[str, list[Verb]] = {}
    for command in commands:
        by_id.setdefault(command.id, []).append(command)
    keymap: dict[str, str] = {}
    problems: list[ConfigProblem] = []
    for name, written in wanted.items():
        if name not in by_id:
            near = nearest(name.replace("_", "-"), by_id)
            problems.append(refuse(name, "is no command", near))
            continue
        keys, problem = _keys_of(name, written, by_id[name], refuse)
        if problem is not None:
            problems.append(problem)
        else:
            keymap[name] = ",".join(keys)
    while (clash := _clash(keymap, by_id)) is not None:
        loser, owner, key = clash
        problems.append(refuse(loser, f"wants {shown_key(key)}, which belongs to {owner}", None))
        del keymap[loser]
    return keymap, problems


def _keys_of(
    name: str, written: str, classes: list[Verb], refuse: Refuse
) -> tuple[list[str], ConfigProblem | None]:
    own = {key for command in classes for key in split_keys(command.key)}
    keys: list[str] = []
    for text in split_keys(written):
        key = key_name(text)
        if key is None:
            return [], refuse(name, f"{text[:24]!r} is no key", nearest(text.lower(), KNOWN_KEYS))
        if key in FORBIDDEN:
            reason = f"{shown_key(key)} is sent by terminals as {FORBIDDEN[key]}"
            return [], refuse(name, reason, None)
        if key in TAKEN and key not in own:
            reason = f"{shown_key(key)} is needed by {TAKEN[key]}"
            return [], refuse(name, reason, None)
        keys.append(key)
    return keys, None


def _clash(
    keymap: Mapping[str, str], by_id: Mapping[str, list[Verb]]
) -> tuple[str, str, str] | None:
    order = list(keymap)
    for at in reversed(range(len(order))):
        name = order[at]
        for key in split_keys(keymap[name]):
            for other, classes in by_id.items():
                if other == name or (other in keymap and order.index(other) > at):
                    continue
                if any(key in split_keys(keymap.get(other, verb.key)) and not _apart(verb, mine)
                       for verb in classes for mine in by_id[name]):  # fmt: skip
                    return name, other, key
    return None


def _apart(verb: Verb, other: Verb) -> bool:
    pages = pages_of_verbs()
    return not (verb.everywhere or other.everywhere) and pages.get(verb) != pages.get(other)

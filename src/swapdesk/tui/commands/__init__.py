"""Verbs of the desk: one class each, from which key, footer, palette and help are made.

One module a screen; nothing here needs a screen, so commands check a keymap with them. A class
is registered by being defined here.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from functools import cache
from inspect import isclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swapdesk.tui.commands.command import Command, EverywhereCommand


@cache
def all_commands() -> tuple[type[Command], ...]:
    """Every command class of every module of this folder; those of everywhere first."""
    from swapdesk.tui.commands.command import Command

    found: list[type[Command]] = []
    for name in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        module = importlib.import_module(f"{__name__}.{name}")
        for value in vars(module).values():
            own = isclass(value) and value.__module__ == module.__name__
            if own and issubclass(value, Command) and value.KEY:
                found.append(value)
    everywhere = _of_everywhere(found)
    return (*everywhere, *(command for command in found if command not in everywhere))


@cache
def everywhere_commands() -> tuple[type[EverywhereCommand], ...]:
    """The verbs of every screen, in the order of the help."""
    return _of_everywhere(all_commands())


def _of_everywhere(commands: Iterable[type[Command]]) -> tuple[type[EverywhereCommand], ...]:
    from swapdesk.tui.commands.command import EverywhereCommand

    found = [command for command in commands if issubclass(command, EverywhereCommand)]
    return tuple(sorted(found, key=lambda command: command.PLACE))

"""Verbs of the desk: one class each, from which key, footer, palette and help are made.

One module a screen; nothing here needs a screen, so commands check a keymap with them.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swapdesk.tui.commands.command import Command


def all_commands() -> list[type[Command]]:
    """Every command class of every module of this folder; those of everywhere first."""
    from swapdesk.tui.commands.command import Command

    found: dict[type[Command], None] = {}
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    names.sort(key=lambda name: name != "everywhere")
    for name in names:
        module = importlib.import_module(f"{__name__}.{name}")
        for value in vars(module).values():
            own = inspect.isclass(value) and value.__module__ == module.__name__
            if own and issubclass(value, Command) and value.KEY:
                found[value] = None
    return list(found)

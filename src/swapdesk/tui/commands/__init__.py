"""Verbs of the desk: one row each, from which key, footer, palette and help are made.

One module a page; nothing here needs a screen, so commands check a keymap with them. A row is
registered by standing in a module of this folder.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swapdesk.tui.commands.command import Verb


@cache
def pages_of_verbs() -> Mapping[Verb, str]:
    """Every verb with the page whose module has it; those of everywhere first, in the order of the
    help."""
    from swapdesk.tui.commands.command import Verb

    pages: dict[Verb, str] = {}
    for name in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        module = importlib.import_module(f"{__name__}.{name}")
        pages |= {verb: name for verb in vars(module).values() if isinstance(verb, Verb)}
    return dict(sorted(pages.items(), key=lambda row: (not row[0].everywhere, row[0].place)))


def all_commands() -> tuple[Verb, ...]:
    return tuple(pages_of_verbs())


@cache
def everywhere_commands() -> tuple[Verb, ...]:
    return tuple(verb for verb in pages_of_verbs() if verb.everywhere)

"""The verbs of the desk, one module for each page. A verb is a command of a page or of every page;
its key, footer entry, palette entry and help are all made from one ``Verb`` object.

Every ``Verb`` that is a name in a module of this folder is registered. Nothing here needs a screen,
so a user's keymap can be checked without one.
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
    """Returns every verb (a command with a key) and the name of the page module that defines it, in
    the order of the help."""
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

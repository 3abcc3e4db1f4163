"""Every screen in every state worth seeing: one registry for goldens, keys and hostile texts.

A room adds a module to this folder; it is found by itself. A scene is a function that takes a
desk at 80x24 to a state::

    @scene("quotes")
    async def quotes(run: DeskRun) -> None:
        await run.to_quotes()

``tests/tui/test_scenes.py`` draws each scene at the four sizes and in ASCII, scans the pictures
by the rules all screens share, presses every key of the footer and types every letter;
``tests/tui/test_hostile_scenes.py`` fills it with hostile texts.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tui.desk_run import DeskRun, Market

Reach = Callable[[DeskRun], Awaitable[None]]
Prepare = Callable[[Market], None]
Mask = Callable[[DeskRun, str], str]


def nothing_first(market: Market) -> None:
    """The service and the journal as they are."""


def as_it_is(run: DeskRun, text: str) -> str:
    return text


@dataclass(frozen=True)
class Scene:
    """``prepare`` runs before the desk opens (orders in its journal, faults of the network).

    ``decides``: something is decided here, so addresses stand whole. ``mask`` replaces what is
    drawn at random. ``fed``: whether the scene is still reached when every text of the service
    is replaced by a hostile one. ``keys``: whether its footer keys can be pressed one by one in
    a test (each after reaching the scene anew).
    """

    name: str
    reach: Reach
    prepare: Prepare = nothing_first
    mask: Mask = as_it_is
    decides: bool = False
    fed: bool = True
    keys: bool = True


_KNOWN: dict[str, Scene] = {}


def scene(
    name: str,
    *,
    prepare: Prepare = nothing_first,
    mask: Mask = as_it_is,
    decides: bool = False,
    fed: bool = True,
    keys: bool = True,
) -> Callable[[Reach], Reach]:
    """Register the function below; ValueError for a name that is taken."""

    def register(reach: Reach) -> Reach:
        if name in _KNOWN:
            raise ValueError(f"two scenes are called {name!r}")
        _KNOWN[name] = Scene(name, reach, prepare, mask, decides, fed, keys)
        return reach

    return register


def all_scenes() -> list[Scene]:
    """The scenes of all modules of this folder, by name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return [_KNOWN[name] for name in sorted(_KNOWN)]

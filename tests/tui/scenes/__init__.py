"""Every screen in every state worth seeing: one registry for goldens, keys and hostile texts.

A room adds a module to this folder; it is found by itself. A scene is a function that takes a
desk at 80x24 to a state::

    @scene("quotes")
    async def quotes(run: DeskRun) -> None:
        await run.to_quotes()

A scene may begin where another ends (``after``), and say with which keys one comes back to that
one (``back``)::

    @scene("quote-options", after=quotes, back=("escape",))
    async def options(run: DeskRun) -> None:
        await run.press("f2")

Such scenes are seen one after the other in one desk (:func:`tours`), and so are those whose world
begins with the same orders; each can be reached alone.

``tests/tui/test_scenes.py`` draws each scene at the smallest, a usual and the largest size, and
each kind of page of a tour once in ASCII, scans the pictures by the rules all screens share,
compares the smallest and the largest with goldens, looks at every key of the footer and types
every letter;
``tests/tui/test_hostile_scenes.py`` fills it with hostile texts.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from flows.faulty_network import After
from swapdesk.tui.screens.swap import SwapScreen
from tui.desk_run import DeskRun, Market
from tui.picture import LARGEST, SMALLEST

Step = Callable[[DeskRun], Awaitable[None]]
Prepare = Callable[[Market], None]
Mask = Callable[[DeskRun, str], str]
Size = tuple[int, int]
MOST_BACK = 9
"""Keys that lead from any scene to the empty first screen."""


def nothing_first(market: Market) -> None:
    """The service and the journal as they are."""


def as_it_is(run: DeskRun, text: str) -> str:
    return text


class Scene(Struct, frozen=True):
    """``step`` leads here from ``after``, or from a desk that was just opened; ``back`` are the
    keys that lead back to ``after``, none where nothing does.

    ``prepare`` runs before the desk opens (orders in its journal); ``answers`` stand in place of
    what the service says.

    ``apart``: what it shows depends on what was done before it, or it moves the clock, so that its
    desk shows no other scene but those that follow it or are ``apart`` under the same word.

    ``decides``: something is decided here, so addresses stand whole. ``mask`` replaces what is
    drawn at random. ``fed``: whether the scene is still reached when every text of the service
    is replaced by a hostile one. ``also`` are sizes in between at which the scene is
    laid out as at no other, or which a guide shows: they have goldens as well. ``own_ascii``: it is
    laid out in another way in ASCII.
    """

    name: str
    step: Step
    after: Scene | None = None
    back: tuple[str, ...] = ()
    prepare: Prepare = nothing_first
    answers: After | None = None
    mask: Mask = as_it_is
    decides: bool = False
    fed: bool = True
    apart: str = ""
    also: tuple[Size, ...] = ()
    own_ascii: bool = False

    def begin(self, market: Market) -> None:
        """Make the world in which its desk opens."""
        market.network.after = self.answers
        self.prepare(market)

    @property
    def golden_sizes(self) -> tuple[Size, ...]:
        return (SMALLEST, *self.also, LARGEST)

    async def reach(self, run: DeskRun) -> None:
        """From a desk that was just opened."""
        if self.after is not None:
            await self.after.reach(run)
        await self.step(run)


_KNOWN: dict[str, Scene] = {}


def scene(
    name: str,
    *,
    after: Scene | None = None,
    back: tuple[str, ...] = (),
    prepare: Prepare = nothing_first,
    answers: After | None = None,
    mask: Mask = as_it_is,
    decides: bool = False,
    fed: bool = True,
    apart: str = "",
    also: tuple[Size, ...] = (),
    own_ascii: bool = False,
) -> Callable[[Step], Scene]:
    """Register the function below; ValueError for a name that is taken.

    A scene after another has the world of that one.
    """

    def register(step: Step) -> Scene:
        if name in _KNOWN:
            raise ValueError(f"two scenes are called {name!r}")
        orders = after.prepare if after is not None else prepare
        said = after.answers if after is not None else answers
        _KNOWN[name] = Scene(
            name, step, after, back, orders, said, mask, decides, fed, apart, also, own_ascii
        )
        return _KNOWN[name]

    return register


def all_scenes() -> list[Scene]:
    """The scenes of all modules of this folder, by name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return [_KNOWN[name] for name in sorted(_KNOWN)]


def tours(scenes: Sequence[Scene]) -> list[list[Scene]]:
    """The scenes that one desk shows after each other, for every desk that is needed. The longest
    come first, so that no worker is left alone with one at the end."""
    names = {one.name for one in scenes}
    firsts = [one for one in scenes if one.after is None or one.after.name not in names]
    worlds: dict[object, list[Scene]] = {}
    for tour in sorted((_tour(first, scenes) for first in firsts), key=len, reverse=True):
        worlds.setdefault((tour[0].prepare, tour[0].apart), []).extend(tour)
    return sorted(worlds.values(), key=len, reverse=True)


def _tour(first: Scene, scenes: Sequence[Scene]) -> list[Scene]:
    """All that begins at a scene; from where nothing leads back comes last."""
    nexts = [one for one in scenes if one.after is first]
    nexts.sort(key=lambda one: not one.back)
    return [first, *(seen for one in nexts for seen in _tour(one, scenes))]


async def go_on(run: DeskRun, before: Scene | None, to: Scene) -> None:
    """To the next scene of a tour."""
    if before is None:
        await to.reach(run)
        return
    while before is not to.after and before.back:
        await run.press(*before.back)
        before = before.after
    if before is to.after:
        await to.step(run)
        return
    for _ in range(MOST_BACK):
        screen = run.app.screen
        if isinstance(screen, SwapScreen) and not screen.line.value and not screen.private:
            break
        await run.press("n" if getattr(screen, "private", False) else "escape")
    await to.reach(run)

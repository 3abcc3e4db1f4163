"""A newer service under the desk: members that are added change no screen, and values that nobody
knows end nothing. Exact in process, where nothing varies; whole through a proxy, with the stream.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cli.lying_service import rewriting_service
from cli.newer_answers import KINDS, STATES, Newer, between, blurred, unknown_values
from harness import Sandbox
from swapdesk.paths import Home
from swapdesk.sandbox.tables import VENUE_ROWS
from swapdesk.settings import load_settings
from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.screens.order import OrderScreen
from tui.desk_run import DeskRun, Market, known_list, open_desk
from tui.picture import take
from tui.scenes import Scene, all_scenes
from tui.test_tokens import search

AS_IT_CAME = {"order-raw", "requests", "requests-whole"}
"""Scenes that show what was said, or how much it was."""
SCENES = [one for one in all_scenes() if one.fed and one.name not in AS_IT_CAME]
ALWAYS = SCENES[::18]
VALUES_ALWAYS = SCENES[6::24]
SIZE = (80, 24)
REFUSED_AFTER = 100
"""Looks, after which a scene is taken for refused."""
Golden = Callable[[str, str], None]


def feed(market: Market, one: Scene, newer: Newer) -> None:
    one.begin(market)
    before, here = market.network.after, between(newer)

    def both(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        return here(request, before(request, response) if before is not None else response)

    market.network.after = both


@pytest.fixture
async def newer_market(market: Market, tmp_path_factory: pytest.TempPathFactory) -> Market:
    """Its desk begins with the list of tokens as one keeps it that a newer service told."""
    told = await known_list(tmp_path_factory, "newer", between(Newer(members=KINDS)))
    assert told != market.known
    market.known = told
    return market


async def drawn_as_ever(market: Market, golden: Golden, one: Scene) -> None:
    newer = Newer(members=KINDS)
    feed(market, one, newer)
    async with market.desk((80, 24)) as run:
        await one.reach(run)
        assert newer.changed
        picture = await take(run, SIZE, GlyphSet.UNICODE)
        golden(f"scenes/{one.name}-{picture.label}", one.mask(run, picture.text))


@pytest.mark.parametrize("one", ALWAYS, ids=lambda one: one.name)
async def test_added_members_change_no_screen(
    newer_market: Market, golden: Golden, one: Scene
) -> None:
    await drawn_as_ever(newer_market, golden, one)


@pytest.mark.long
@pytest.mark.parametrize("one", SCENES, ids=lambda one: one.name)
async def test_added_members_change_none_of_all_screens(
    market: Market, golden: Golden, one: Scene
) -> None:
    market.known = b""
    await drawn_as_ever(market, golden, one)


async def goes_on(market: Market, one: Scene, values: Mapping[str, Any]) -> None:
    """The scene is reached or refused; the desk runs, and no work of it came to a defect."""
    newer = Newer(values=values)
    feed(market, one, newer)
    async with market.desk((80, 24)) as run:
        run.looks = REFUSED_AFTER
        try:
            await one.reach(run)
        except AssertionError:
            assert newer.changed
        assert run.app.is_running
        assert "defect" not in run.text, run.text
        said = [kept.text for kept in run.app.notices]
        assert not [text for text in said if "defect" in text], said


@pytest.mark.parametrize("one", VALUES_ALWAYS, ids=lambda one: one.name)
async def test_states_that_nobody_knows_end_nothing(market: Market, one: Scene) -> None:
    await goes_on(market, one, STATES)


@pytest.mark.long
@pytest.mark.parametrize("one", SCENES, ids=lambda one: one.name)
async def test_no_value_that_nobody_knows_ends_anything(market: Market, one: Scene) -> None:
    market.known = b""
    await goes_on(market, one, unknown_values())


_GROUPS = re.compile(r"\b(?:[A-Za-z0-9]{1,4} ){7,}[A-Za-z0-9]{1,4}\b")
"""An address or a hash in groups, in one row of a screen that is wide enough."""
_MOVED = re.compile(r"  was \S+ when you agreed|[━─╌]{3,}")
"""A floating rate moves, or does not; a bar gets shorter."""


async def pages_of(sandbox: Sandbox, home: Path, newer: Newer) -> set[str]:
    """What a trader sees from the search to a completed order, without what varies."""
    pages: set[str] = set()
    places = count()

    def look(run: DeskRun) -> None:
        text = run.text
        for venue in VENUE_ROWS:
            text = text.replace(venue.name, "VENUE")
        text = _MOVED.sub("", _GROUPS.sub("ID", text))
        made = re.search(r"[Oo]rder (\w{6})", text)
        text = text.replace(made[1], "ID") if made is not None else text
        place = next(places)
        rows = [blurred(row).strip() for row in text.split("\n")[1:]]
        # Which steps were seen on the way, and what the rate became, belongs to the moment.
        pages.update(f"{place} {row}" for row in rows if not row.startswith(("●", "Quoted")))

    url = sandbox.ready["url"]
    with rewriting_service(url, lambda *answer: newer.body(*answer), newer.frame) as lying:

        async def ready() -> Mapping[str, Any]:
            return {**sandbox.ready, "url": lying}

        async with open_desk(load_settings({}, Home.at(home)), ready, size=(100, 30)) as run:
            await run.ready()
            await search(run, "usdt")
            look(run)
            await run.press("escape", "escape")
            await run.to_frozen()
            look(run)
            await run.press("c", sees=" left, until ")
            look(run)
            made = re.search(r"order (\w{6})", run.text)
            assert made is not None, run.text
            await run.press_still("f")
            await run.press("o")
            await run.settle(
                lambda: any(made[1] in row and "Completed" in row for row in run.text.split("\n")),
                "the order completed",
            )
            # Orders of other tests are in the list, too.
            await run.press("slash")
            await run.type(made[1])
            await run.press("enter", "enter", sees="Payout tx")
            run.screen(OrderScreen)
            look(run)
            assert run.app.session.desk.link.stream.unusable_frames == 0
    return pages


async def test_a_session_through_a_newer_service(sandbox: Sandbox, tmp_path: Path) -> None:
    """The stream, too: its frames are those of the service, with members nobody knows."""
    newer = Newer(members=KINDS)
    before = await pages_of(sandbox, tmp_path / "today", Newer())
    assert await pages_of(sandbox, tmp_path / "newer", newer) == before
    assert {"frame", "frame.data", "frame.data.inToken.chainData"} <= newer.objects

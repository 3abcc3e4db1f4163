"""A change is laid out once, and only screens that are seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from textual.screen import Screen

from swapdesk.tui.page import Page
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.tokens import TokensScreen
from swapdesk.tui.widgets.help_overlay import HelpOverlay
from swapdesk.tui.widgets.text_rows import TextRows
from tui.desk_run import DeskRun, Market
from tui.picture import ALL_SIZES, settled, take


class Layouts:
    """How often a screen was laid out since."""

    def __init__(self, screen: Screen[Any]) -> None:
        self.count = 0
        screen.screen_layout_refresh_signal.subscribe(screen, self._laid, immediate=True)

    def _laid(self, _: Screen[Any]) -> None:
        self.count += 1


async def to_tokens(run: DeskRun) -> None:
    await run.ready()
    await run.press("t")
    await run.type("usdc")
    await run.see("Contract")


@pytest.mark.parametrize("size", [(100, 30), (120, 40), (200, 60)])
async def test_a_new_size_is_one_layout_and_one_for_what_it_brings(
    market: Market, size: tuple[int, int]
) -> None:
    """The classes of the size are there before; fields and lists may have a row more after."""
    async with market.desk((80, 24)) as run:
        await run.ready()
        await settled(run)
        layouts = Layouts(run.app.screen)
        await take(run, size)
        assert 1 <= layouts.count <= 3


async def test_a_page_under_another_is_laid_out_when_it_is_seen_again(market: Market) -> None:
    async with market.desk((80, 24)) as run:
        await to_tokens(run)
        below = run.app.screen_stack[0]
        layouts = Layouts(below)
        for size in ALL_SIZES:
            await take(run, size)
        assert run.app.screen is not below
        assert layouts.count == 0
        await run.app.home()
        shown = await settled(run)
        assert run.app.screen is below
        assert layouts.count
    async with market.desk(ALL_SIZES[-1]) as fresh:
        await fresh.ready()
        assert shown.split("\n")[1:] == (await settled(fresh)).split("\n")[1:]


async def test_a_page_under_another_draws_nothing(market: Market) -> None:
    async with market.desk((100, 30)) as run:
        await to_tokens(run)
        assert isinstance(run.app.screen, TokensScreen)
        below = run.app.screen_stack[0]
        assert isinstance(below, SwapScreen)
        assert not below.is_current
        below.query_one(".question", TextRows).show(["Written", "below"])
        layouts = Layouts(run.app.screen)
        await settled(run)
        assert layouts.count == 0
        await run.app.home()
        await run.see("Written")


async def test_a_page_under_an_overlay_goes_on(market: Market) -> None:
    async with market.desk((100, 30)) as run:
        await run.ready()
        await run.press("question_mark")
        await run.settle(lambda: isinstance(run.app.screen, HelpOverlay), "help")
        page = run.app.page
        assert isinstance(page, Page)
        assert page.is_current
        page.set_frame(replace(page.frame_state, context="seen through"))
        await run.see("seen through")
        await take(run, (120, 40))
        assert page.size == (120, 40)
        assert "seen through" in run.text

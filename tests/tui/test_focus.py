"""The focus outlives a terminal that is too small, and notices go with what they spoke of."""

from __future__ import annotations

import pytest

from swapdesk.tui import base_screen
from swapdesk.tui.screens.create import CreateScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.tokens import TokensScreen
from swapdesk.tui.widgets.text_field import TextField
from tui.desk_run import DeskRun, Market


async def shrink_and_grow(run: DeskRun) -> None:
    """Below the least size and back, twice, with both sides drawn."""
    for size in ((52, 14), (80, 24), (40, 10), (100, 30)):
        await run.pilot.resize_terminal(*size)
        await run.settle(lambda: ("This desk needs" in run.text) == (size[0] < 60), "the size")  # noqa: B023


@pytest.mark.parametrize("place", [SwapScreen, TokensScreen, CreateScreen])
async def test_typing_goes_on_after_the_terminal_was_too_small(market: Market, place: type) -> None:
    async with market.desk((80, 24)) as run:
        if place is CreateScreen:
            await run.to_form()
        else:
            await run.ready()
        if place is TokensScreen:
            await run.press("t")
        field = run.app.focused
        assert isinstance(field, TextField)
        await run.type("0")
        await shrink_and_grow(run)
        await run.type("top")
        assert isinstance(run.app.screen, place)
        assert run.app.focused is field
        assert field.value == "0top"


async def test_no_key_creates_or_opens_while_the_terminal_is_too_small(market: Market) -> None:
    async with market.desk((80, 24)) as run:
        await run.to_frozen()
        await run.pilot.resize_terminal(52, 14)
        await run.see("This desk needs")
        await run.still()
        await run.press("c", "o", "escape")
        assert isinstance(run.app.screen, CreateScreen)
        assert market.network.posts() == 0
        await run.pilot.resize_terminal(80, 24)
        await run.see("c creates")
        await run.press_still("c")
        await run.settle(lambda: type(run.app.screen).__name__ == "DepositScreen", "the card")


async def test_a_notice_stands_for_its_time_of_the_desks_clock(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a busy machine takes to draw it."""
    monkeypatch.setattr(base_screen, "NOTICE_SECONDS", 0.01)
    async with market.ready_desk() as run:
        run.app.screen.show_notice("Nothing has moved.")
        await run.pilot.pause(0.05)
        assert "Nothing has moved." in run.text
        market.clock.advance(1)
        await run.settle(lambda: "Nothing has moved." not in run.text, "its end")


async def test_a_notice_about_a_field_goes_when_the_field_is_corrected(market: Market) -> None:
    async with market.desk() as run:
        await run.to_form()
        await run.enter("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4")
        assert "▲ " in run.text
        await run.retype("@bob")
        assert "Bitcoin address" not in run.text

"""Keys that are typed faster than the desk acts on them: none is lost on its own page, and none
does anything on a page that nobody has seen yet."""

from __future__ import annotations

import asyncio

import pytest
from textual.events import Event, Key, Paste

from swapdesk.tui import keys_in_turn
from swapdesk.tui.keys_in_turn import KeyInProgress
from swapdesk.tui.screens.orders import OrdersScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.tokens import TokensScreen
from swapdesk.tui.widgets.help_overlay import HelpOverlay
from swapdesk.tui.widgets.text_field import TextField
from tui.desk_run import DeskRun, Market


def by_hand(desk: DeskRun, key: str | Event) -> Event:
    event = key if isinstance(key, Event) else Key(key, key if len(key) == 1 else None)
    event.set_sender(desk.app)
    return event


async def burst(desk: DeskRun, *keys: str | Event, turns: int = 0) -> None:
    """Give all keys with so many turns of the loop between them, then wait for their effect."""
    for key in keys:
        desk.app.post_message(by_hand(desk, key))
        for _ in range(turns):
            await asyncio.sleep(0)
    taken = asyncio.Event()
    # Behind the keys in the same queue: before it comes they may all be on their way still.
    desk.app.call_later(taken.set)
    await desk.settle(lambda: taken.is_set() and desk.app.keys.at_rest)


async def start(desk: DeskRun) -> None:
    """Back to the first screen, with nothing on its line."""
    await desk.pilot.pause()
    for _ in range(4):
        await burst(desk, "escape")
    assert desk.screen(SwapScreen).line.value == ""


def searched(desk: DeskRun) -> str:
    return desk.screen(TokensScreen)._field.value


async def test_what_is_typed_or_pasted_behind_the_key_of_a_page_reaches_its_field(
    market: Market, subtests: pytest.Subtests
) -> None:
    async with market.desk() as desk:
        for turns in (0, 1, 2, 3, 5, 8, 13, 40):
            with subtests.test(turns=turns):
                await burst(desk, *"tusdc", turns=turns)
                assert searched(desk) == "usdc"
                await desk.see("USD Coin")
            await start(desk)
        await burst(desk, "t", Paste("usdc"))
        assert searched(desk) == "usdc"


async def test_a_line_typed_at_once_stands_as_it_was_typed(market: Market) -> None:
    async with market.desk() as desk:
        await burst(desk, *"0.5 btcc", "backspace", *" eth")
        assert desk.screen(SwapScreen).line.value == "0.5 btc eth"


async def test_a_key_for_a_page_nobody_has_seen_does_nothing(market: Market) -> None:
    """With it what was typed behind it is dropped: it was meant for what it would have opened."""
    async with market.desk() as desk:
        await burst(desk, *"tu", "escape", *"sdc")
        assert searched(desk) == "u"
        await burst(desk, "escape")
        await burst(desk, "escape")
        await desk.ready()
        await burst(desk, "o", "q", "q")
        desk.screen(OrdersScreen)
        assert desk.app.is_running


async def test_a_key_pressed_as_soon_as_a_page_is_there_is_not_dropped(market: Market) -> None:
    async with market.ready_desk() as desk:
        desk.app.post_message(by_hand(desk, "o"))
        for _ in range(2_000):
            if isinstance(desk.app.screen, OrdersScreen):
                break
            await asyncio.sleep(0)
        await burst(desk, "escape")
        desk.screen(SwapScreen)


async def test_what_is_pressed_once_a_page_or_overlay_is_there_works_on_it(
    market: Market,
) -> None:
    async with market.desk() as desk:
        for _ in range(3):
            await burst(desk, "t")
            await burst(desk, "u")
            assert searched(desk) == "u"
            await burst(desk, "escape")
            await burst(desk, "escape")
            desk.screen(SwapScreen)
        # An overlay that closes takes no later key with it.
        await burst(desk, "f1")
        desk.screen(HelpOverlay)
        await burst(desk, "escape")
        await burst(desk, *"0.5 btc eth")
        assert desk.screen(SwapScreen).line.value == "0.5 btc eth"


async def test_a_key_that_nobody_answers_holds_back_no_other(market: Market) -> None:
    """Its widget went with it, and said nothing."""
    async with market.desk() as desk:
        app, lost = desk.app, Key("5", "5")
        field = TextField(prompt=">", limit=9)
        app.keys._given = KeyInProgress(
            app.keys._turn, lost, app.screen, field, market.clock.monotonic()
        )
        assert app.keys.at_rest
        await burst(desk, "t", "u")
        assert searched(desk) == "u"


async def test_a_key_that_is_answered_late_is_waited_for_by_the_clock_of_the_desk(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A busy machine changes nothing; time of the clock does."""
    monkeypatch.setattr(keys_in_turn, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(keys_in_turn, "PATIENCE_SECONDS", 0.01)
    async with market.ready_desk() as desk:
        app, late = desk.app, Key("5", "5")
        now = market.clock.monotonic()
        app.keys._given = KeyInProgress(app.keys._turn, late, app.screen, app.screen, now)
        app.post_message(by_hand(desk, "t"))
        for _ in range(50):
            await asyncio.sleep(0.001)
        desk.screen(SwapScreen)
        market.clock.advance(0.1)
        await desk.settle(lambda: app.keys.at_rest)
        desk.screen(TokensScreen)


async def test_letters_of_a_word_on_the_empty_line_are_no_keys(
    market: Market, subtests: pytest.Subtests
) -> None:
    # A route takes these amounts: the screen says the same before and after the limits are known.
    lines = {
        "btc eth": "0.5",
        "op usdc.base": "500",
        "qnt btc": "50",
        "trx btc": "900",
        "near sol": "50",
    }
    async with market.ready_desk() as desk:
        desk.app.keys.word_seconds = 60.0
        for (line, amount), turns in zip(lines.items(), (0, 3, 40, 0, 3), strict=True):
            with subtests.test(line=line, turns=turns):
                await burst(desk, *line, turns=turns)
                assert desk.screen(SwapScreen).line.value == line
                await desk.see("Type the amount before it.")
                await burst(desk, "enter", *amount)
                assert desk.screen(SwapScreen).line.value == f"{amount} {line}"
                await desk.see(f"Sell  {amount} ")
            await start(desk)


async def test_a_letter_that_begins_no_word_is_a_key(market: Market) -> None:
    async with market.ready_desk() as desk:
        desk.app.keys.word_seconds = 60.0
        await burst(desk, *"tusdc")
        assert searched(desk) == "usdc", "no token is called so"
        await burst(desk, "escape", "escape")
        await burst(desk, *"p0.5 eth")
        assert desk.screen(SwapScreen).private
        assert desk.screen(SwapScreen).line.value == "0.5 eth"
        await burst(desk, "escape", "escape")
        desk.app.keys.word_seconds = 0.01
        await burst(desk, "o")
        desk.screen(OrdersScreen)


async def test_a_word_that_is_typed_slowly_stays_on_the_line(market: Market) -> None:
    """The letter says what it does while it waits, and enter waits no longer."""
    assert keys_in_turn.WORD_SECONDS >= 1, "whoever looks for each key needs a second"
    async with market.ready_desk() as desk:
        desk.app.keys.word_seconds = 60.0
        for letter, said in zip("btc", ("b: batch in a moment", "", ""), strict=True):
            desk.app.post_message(by_hand(desk, letter))
            await desk.see(said or "Type the amount before it.")
        assert desk.screen(SwapScreen).line.value == "btc"
        await burst(desk, "escape")
        desk.app.post_message(by_hand(desk, "o"))
        await desk.see("o: orders in a moment")
        await burst(desk, "enter")
        desk.screen(OrdersScreen)

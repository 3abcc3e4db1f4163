"""Small terminals: what has no room is reached by a key, typing goes on, no key acts unseen."""

from __future__ import annotations

import pytest

from flows.orders import NOW
from recorded_demo import recorded
from swapdesk.clock import ManualClock
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.tui import base_screen
from swapdesk.tui.breakpoints import classes_at
from swapdesk.tui.screens.create import CreateScreen
from swapdesk.tui.screens.deposit import DepositScreen, deposit_state
from swapdesk.tui.screens.inspect import InspectScreen
from swapdesk.tui.screens.order import OrderScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.tokens import TokensScreen
from swapdesk.tui.spans import plain_text
from swapdesk.tui.widgets.deposit_card import deposit_lines
from swapdesk.tui.widgets.help_overlay import HelpOverlay
from swapdesk.tui.widgets.text_field import TextField
from tui.desk_run import DeskRun, Market
from tui.known_orders import held, prepare, waiting
from tui.quote_rows import MERIDIAN, quotes_with
from tui.scenes.demo import show

SMALLEST = (60, 15)
MOST_KEYS_PRESSED = 40


async def seen_below(run: DeskRun, words: str, *keys: str) -> None:
    """``words`` come into view by these keys, each pressed as often as it needs."""
    for _ in range(MOST_KEYS_PRESSED):
        if words in run.text:
            return
        await run.press(*keys)
        await run.pilot.pause()
    raise AssertionError(f"{words!r} is never in view\n{run.text}")


async def test_the_state_of_an_order_and_its_whole_deposit_card_can_be_read(market: Market) -> None:
    known = waiting(market.clock)
    prepare(market, [known])
    async with market.ready_desk(SMALLEST) as run:
        await run.press("o")
        await run.settle(lambda: "XRP" in run.text, "the order in the list")
        row = next(row for row in run.text.split("\n") if known.id[:6] in row and "XRP" in row)
        assert row.rstrip().endswith("Waiting for you")
        run.app.navigation.open_order(known.id)
        await run.on(OrderScreen)
        await run.press("d", sees="↓ more")
        assert "1   Destination tag   104882716" in run.text
        assert "Waiting for" not in run.text
        assert "↑ back up" not in run.text
        assert "Funds in your wallet." in run.text
        await seen_below(run, "Now  ", "down")
        assert "Destination tag" not in run.text
        assert "↓ more" not in run.text
        await seen_below(run, "1   Destination tag   104882716", "up")
        await run.see("↓ more")
        # With room for all of it nothing scrolls and no key says so.
        await run.pilot.resize_terminal(120, 40)
        await run.settle(lambda: "↓ more" not in run.text, "the card at rest")
        assert run.screen(DepositScreen).query_one("#body").max_scroll_y == 0


def test_a_card_is_drawn_in_however_few_cells() -> None:
    """A window that is being resized lays the card out without any room."""
    known = waiting(ManualClock(NOW))
    one = TrackedOrder(known.states[-1], known.intent, None, False, NOW, "stream")
    state = deposit_state(one, NOW)
    for width in range(60):
        shown = "\n".join(map(plain_text, deposit_lines(state, width)))
        assert "Destination tag" in shown or width < 30
        assert "104882716" in shown or width < 40


async def test_the_whole_diagnosis_and_the_help_can_be_read(market: Market) -> None:
    known = held(market.clock)
    prepare(market, [known])
    async with market.ready_desk(SMALLEST) as run:
        run.app.navigation.open_order(known.id)
        await run.on(OrderScreen)
        await run.press("i", to=InspectScreen)
        await run.see("Diagnosis")
        assert "We never ask" not in run.text
        await seen_below(run, "We never ask", "j")
        await seen_below(run, "Diagnosis", "pageup")
        await run.press("escape", "question_mark", to=HelpOverlay)
        await seen_below(run, "Leave the desk", "pagedown")
        await run.pilot.resize_terminal(200, 60)
        await run.settle(lambda: "↑↓ move" not in run.text, "the help at rest")


async def test_every_screen_says_what_holds_funds(market: Market) -> None:
    prepare(market, [waiting(market.clock), held(market.clock)])
    async with market.ready_desk((100, 30)) as run:
        await run.see("Funds in your wallet, and in 1 open order; o shows where.")
        await run.press("g", sees="Funds in your wallet, and in 1 open order; o shows where.")
        await run.press("escape")
        await run.pilot.resize_terminal(*SMALLEST)
        await run.see("Funds also in 1 order.")


async def test_the_meanings_of_notes_are_those_of_the_rows_in_view(market: Market) -> None:
    needs_refund = MERIDIAN | {"requiresRefundAddress": True}
    market.network.after = quotes_with(needs_refund)
    async with market.desk((120, 40)) as run:
        await run.to_quotes()
        await run.see("refund this route needs a refund address")
        await run.press("1", sees="standard only")
        assert "Meridian" not in run.text
        assert "needs a refund address" not in run.text


async def test_a_covered_screen_fits_the_terminal_when_it_comes_back(market: Market) -> None:
    """What another screen covers is not laid out: a resize reaches it with the way back."""
    async with market.ready_desk((120, 40)) as run:
        below = run.app.screen
        await run.pilot.pause()
        wide = run.body
        for size in ((80, 24), (120, 40)):
            await run.press("at", sees="@cold")
            await run.resize(*size)
            assert below.region.size != size
            await run.press("escape")
            await run.settle(lambda: run.app.screen is below, "the screen that was covered")
            assert below.region.size == size
            assert below.classes >= {name for name, has in classes_at(*size).items() if has}
        assert run.body == wide


async def test_every_hash_of_a_demonstration_can_be_read_and_esc_ends_what_it_explains(
    market: Market,
) -> None:
    hashes = [each.hash for each in recorded("private").stages[-1].moved]
    async with market.desk((80, 24)) as run:
        await show(run, "private")
        for stage in recorded("private").stages:
            await run.see(stage.row.title)
            assert "…" not in "".join(run.text.split("\n")[-3:]), "no sentence is cut"
            await run.press("space")
        await run.press("e", sees="Privacy here is a crowd")
        # The middle column, in which hashes are broken over rows.
        seen = ""
        while True:
            seen += "".join(row[28:52].strip() for row in run.body.split("\n")[9:20])
            if "↓ more" not in run.text:
                break
            for _ in range(3):
                await run.press("down")
        assert len(hashes) == 3
        assert [one for one in hashes if one not in seen] == []
        await run.press("l", sees="no path on the chains")
        assert "Privacy here is a crowd" in run.text
        await run.see("esc close")
        await run.press("escape")
        await run.settle(lambda: "esc end" in run.text, "the stage without its explanation")
        assert "Privacy here is a crowd" not in run.text
        assert "no path" not in run.text
        await run.press("escape", sees="What do you want to swap?")


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

"""What is confirmed stands on the screen in full, or cannot be confirmed."""

from __future__ import annotations

from swapdesk.tui.screens.create import CreateScreen
from swapdesk.tui.screens.create_form import IntentFacts, fitting_lines
from swapdesk.tui.screens.deposit import DepositScreen
from swapdesk.tui.widgets.detail_rows import Fact
from tui.desk_run import Market


async def test_c_is_locked_until_the_frozen_intent_is_seen_whole(market: Market) -> None:
    async with market.desk((60, 15)) as run:
        await run.to_form("0.5 btc xrp")
        await run.type("@rita")
        await run.press("enter", "enter")
        await run.still()
        assert "more rows: enlarge the window" in run.text
        assert "enlarge the window" in run.text.split("\n")[-1]
        await run.press("c")
        run.screen(CreateScreen)
        assert market.network.posts() == 0
        await run.pilot.resize_terminal(80, 24)
        await run.see("c creates the order")
        await run.press("c")
        assert "The screen just changed." in run.text
        assert market.network.posts() == 0
        await run.press_still("c")
        await run.settle(lambda: isinstance(run.app.screen, DepositScreen), "the card")
        assert market.network.posts() == 1


def test_markup_stays_where_rate_and_fees_go() -> None:
    labels = ("You send", "Route", "Rate", "Fees", "Markup", "Takes", "To")
    state = IntentFacts([Fact(label, "x") for label in labels])
    for height in (9, 8, 7, 6, 5, 1):
        rows = fitting_lines(state, 34, height)
        text = "\n".join("".join(span.text for span in row) for row in rows)
        assert all(label in text for label in ("You send", "Route", "Markup", "To")), height
        assert len(rows) <= height or ("Rate" not in text and "Fees" not in text)

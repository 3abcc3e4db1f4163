"""Settling an unknown outcome on its screen: take the order, or give the request up."""

from __future__ import annotations

import httpx2

from swapdesk.flows.journal.journal_records import IntentState
from swapdesk.tui.screens.create import CreateScreen, CreateStep
from swapdesk.tui.screens.order import OrderScreen
from swapdesk.tui.screens.unfinished import CandidatesScreen
from tui.desk_run import DeskRun, Market


def no_more(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    if request.url.path.startswith(("/v2/exchanges", "/v2/orders")):
        raise httpx2.RemoteProtocolError("gone", request=request)
    return response


async def to_unknown(market: Market, run: DeskRun) -> str:
    """A create that was carried out, and no answer for the whole look; its intent id."""
    await run.to_frozen()
    market.network.after = no_more
    await run.press("c")
    await run.see("The service did not answer.")
    screen = run.screen(CreateScreen)

    def over() -> bool:
        market.clock.advance(2.0)
        return screen.state.step is CreateStep.UNKNOWN

    await run.settle(over, "the end of the look")
    market.network.after = None
    assert screen.state.sent_intent is not None
    await run.app.push_screen(CandidatesScreen(run.app.session, screen.state.sent_intent))
    return screen.state.sent_intent


async def test_the_order_is_compared_and_taken(market: Market) -> None:
    async with market.desk() as run:
        intent_id = await to_unknown(market, run)
        await run.later("1 order since then may be this one.", 0.2)
        assert "every field" in run.text
        assert "✓ 0.5 BTC" in run.text
        await run.still()
        await run.press("c")

        def opened() -> bool:
            market.clock.advance(0.2)
            return isinstance(run.app.screen, OrderScreen)

        await run.settle(opened, "the order")
        entry = run.app.session.desk.journal.intents.get(intent_id)
        assert entry.state is IntentState.CREATED
        assert market.network.posts() == 1


async def test_giving_up_takes_the_payments_own_phrase(market: Market) -> None:
    async with market.desk() as run:
        intent_id = await to_unknown(market, run)
        await run.later("1 order since then may be this one.", 0.2)
        intents = run.app.session.desk.journal.intents
        entry = intents.get(intent_id)
        assert entry is not None
        await run.still()
        await run.press("x")
        await run.type("give up")
        await run.press("enter")
        assert 'Not the same: type "give up' in run.text
        await run.press("ctrl+u")
        await run.type(f"give up {entry.intent.fingerprint[:4]}")
        await run.press("enter")
        await run.settle(lambda: not isinstance(run.app.screen, CandidatesScreen), "the end")
        settled = intents.get(intent_id)
        assert settled.state is IntentState.ABANDONED

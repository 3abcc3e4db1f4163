"""Creates without an answer: settled on their screen by taking the order or giving up, or left."""

from __future__ import annotations

from flows.faulty_network import never_arrives
from swapdesk.flows.journal.journal_records import IntentState
from swapdesk.tui.screens.order import OrderScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.unfinished import CandidatesScreen
from tui.desk_run import DeskRun, Market
from tui.lost_create import looked_for_in_vain, unheard


async def to_unknown(market: Market, run: DeskRun) -> str:
    """A create that was carried out, and no answer for the whole look; its intent id."""
    await run.to_frozen()
    market.network.after = unheard
    await run.press("c")
    await run.see("The service did not answer.")
    intent = await looked_for_in_vain(run)
    market.network.after = None
    await run.app.push_screen(CandidatesScreen(run.app.session, intent))
    return intent


async def test_the_order_is_compared_and_taken(market: Market) -> None:
    async with market.desk() as run:
        intent_id = await to_unknown(market, run)
        await run.later("1 order since then may be this one.", 0.2)
        assert "every field" in run.text
        assert "✓ 0.5 BTC" in run.text
        await run.press_still("c")
        await run.in_time(lambda: isinstance(run.app.screen, OrderScreen), "the order", 0.2)
        entry = run.app.session.desk.journal.intents.get(intent_id)
        assert entry.state is IntentState.CREATED
        assert market.network.posts() == 1


async def test_giving_up_takes_the_payments_own_phrase(market: Market) -> None:
    async with market.desk() as run:
        intent_id = await to_unknown(market, run)
        await run.later("1 order since then may be this one.", 0.2)
        intents = run.app.session.desk.journal.intents
        entry = intents.get(intent_id)
        await run.press_still("x")
        await run.enter("give up")
        assert 'Not the same: type "give up' in run.text
        await run.retype(f"give up {entry.intent.fingerprint[:4]}")
        await run.press("enter")
        await run.settle(lambda: not isinstance(run.app.screen, CandidatesScreen), "the end")
        settled = intents.get(intent_id)
        assert settled.state is IntentState.ABANDONED


LOOKS = "An order may exist: the desk looks."


async def left(run: DeskRun) -> None:
    """Create, hear nothing, and go back to the first screen."""
    await run.press("c")
    await run.see("The service did not answer.")
    await run.press("escape", "escape", "escape")
    await run.settle(lambda: isinstance(run.app.screen, SwapScreen), "the first screen")
    await run.see(LOOKS)


async def test_what_created_nothing_is_told_where_the_desk_is(market: Market) -> None:
    async with market.desk(size=(120, 40)) as run:
        await run.to_frozen()
        market.network.before = never_arrives
        await left(run)
        market.network.before = None
        await run.press("o")
        await run.see(LOOKS)
        await run.press("escape")
        await run.later("0.5 BTC to ETH", 2)
        await run.see("nothing was paid.")
        await run.settle(lambda: LOOKS not in run.text, "the funds anew")
        assert "in your wallet." in run.text


async def test_what_is_found_later_is_told_where_the_desk_is(market: Market) -> None:
    async with market.desk(size=(120, 40)) as run:
        await run.to_frozen()
        market.network.after = unheard
        await left(run)
        await run.in_time(lambda: run.app.creates.creating is None, "the end of the look")
        await run.see("It may have created the order. Nothing was paid.")
        assert LOOKS in run.text
        market.network.after = None
        await run.later("The order exists:", 1)
        await run.settle(lambda: LOOKS not in run.text, "the funds anew")
        assert market.network.posts() == 1

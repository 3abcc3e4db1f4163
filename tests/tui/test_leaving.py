"""Leaving with open orders, unfinished business at the start, and the live word."""

from __future__ import annotations

from datetime import timedelta

import pytest

from flows.orders import NOW, intent
from swapdesk.clock import ManualClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.tracking.open_business import quit_warning
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.tui.app import AGAIN_SECONDS, LeavingGuard, brief_warning
from swapdesk.tui.screens.create import CreateScreen
from swapdesk.tui.screens.unfinished import UnfinishedScreen
from swapdesk.tui.session import LiveGuard
from tui.desk_run import Market
from tui.known_orders import exchanging, prepare, waiting


def test_the_first_key_tells_and_the_second_one_leaves() -> None:
    clock = ManualClock()
    guard = LeavingGuard(clock)
    assert guard.refusal(None) is None
    assert guard.refusal("one order") == "one order"
    assert guard.refusal("one order") is None


def test_a_warning_that_is_gone_or_different_is_told_again() -> None:
    clock = ManualClock()
    guard = LeavingGuard(clock)
    guard.refusal("one order")
    clock.advance(AGAIN_SECONDS + 1)
    assert guard.refusal("one order") == "one order"
    assert guard.refusal("two orders") == "two orders"


async def test_q_with_open_orders_has_its_key_in_view_on_small_screens(market: Market) -> None:
    prepare(market, [waiting(market.clock), exchanging(market.clock)])
    async with market.ready_desk() as run:
        for small in ((60, 15), (80, 24), (80, 30)):
            await run.pilot.resize_terminal(*small)
            await run.press("q")
            await run.see("▲ 1 order waits for you. q quits.")
            # So late it is told again.
            market.clock.advance(AGAIN_SECONDS + 1)
            run.app.screen.clear_notice()
            await run.settle(lambda: "q quits" not in run.text, "no warning")
        await run.pilot.resize_terminal(100, 30)
        await run.press("q")
        await run.see(
            "1 order waits for you. It goes on without the desk and is here when you come back."
        )
        assert run.app.is_running
        await run.press("q")
        assert run.app.return_value == 0


def test_the_brief_warning_keeps_what_is_open_and_the_key() -> None:
    creating = quit_warning([], NOW, creating=True)
    assert brief_warning(creating) == "An order is being created. q quits."


def unfinished(market: Market, *, sent: bool) -> None:
    """An intent that an earlier run left open, by a process that is gone."""
    places = load_settings({}, Home.at(market.home)).places
    places.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    clock = ManualClock(market.clock.now() - timedelta(minutes=5))
    journal = Journal.open(places.journal, clock)
    left = intent(valid_until=NOW + timedelta(minutes=1))
    journal.intents.add(left, "create", "0" * 64)
    if sent:
        journal.intents.mark_sent(left.id, clock.now())
    journal.close()


@pytest.mark.parametrize("sent", [True, False], ids=["sent", "prepared"])
async def test_what_was_never_created_is_said_at_the_start(market: Market, sent: bool) -> None:
    unfinished(market, sent=sent)
    async with market.desk() as run:
        await run.later("Unfinished business", 5)
        assert "0.5 BTC to ETH, standard" in run.text
        assert "The service shows no such order. Nothing was paid." in run.text
        assert "Next you: go on" in run.text
        await run.press("enter")
        assert isinstance(run.app.screen, UnfinishedScreen)
        await run.press("o")
        await run.see("No orders yet.")


def test_the_word_is_asked_once_and_only_live() -> None:
    assert not LiveGuard(live=False).asks
    guard = LiveGuard(live=True)
    assert guard.asks
    assert guard.question().phrase == "live"
    assert "You type real money" in " ".join(guard.question().what)
    guard.agree()
    assert not guard.asks


async def test_nothing_is_created_before_the_word(market: Market) -> None:
    async with market.desk() as run:
        run.app.session.live_guard = LiveGuard(live=True)
        await run.to_frozen()
        await run.press("c")
        await run.see("This is LIVE")
        await run.enter("Live")
        await run.see('Not the same: type "live".')
        await run.press("escape")
        await run.settle(lambda: isinstance(run.app.screen, CreateScreen), "the form")
        assert not any(call.startswith("POST") for call in market.network.seen)
        await run.press_still("c")
        await run.see("This is LIVE")
        await run.enter("live")
        await run.settle(lambda: type(run.app.screen).__name__ == "DepositScreen", "the card")
        assert sum(call.startswith("POST") for call in market.network.seen) == 1
        assert not run.app.session.live_guard.asks

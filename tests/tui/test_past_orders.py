"""A desk with a past: it connects beside its newest orders and reads the others meanwhile."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from swapdesk.flows.connected_desk import PAST_PAUSE, SETTLE_SECONDS
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.tracking.tracking import LOAD_STEP
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.tui.screens.order import OrderScreen
from swapdesk.tui.screens.orders import OrdersScreen
from swapdesk.wire.orders import DisplayStatus, Order
from tui.desk_run import DeskRun, Market
from tui.known_orders import ended, exchanging, prepare

PAST = 3 * LOAD_STEP - 7
COMING = "older ones are being read"


def name_of(number: int) -> str:
    return f"{number:03}".ljust(22, "p")


def traded_for_long(market: Market) -> None:
    """One open order, the oldest, and many completed ones."""
    prepare(market, [exchanging(market.clock)])
    (one,) = ended(market.clock, name_of(0), DisplayStatus.SWAP_COMPLETED).states

    def at(number: int) -> Order:
        over = market.clock.now() - timedelta(hours=PAST - number)
        return one.model_copy(update={"service_id": name_of(number), "created": over})

    places = load_settings({}, Home.at(market.home)).places
    journal = Journal.open(places.journal, market.clock)
    journal.orders.record((at(number), "list", True) for number in range(PAST))
    journal.close()


async def whole(run: DeskRun, market: Market, step: float = PAST_PAUSE) -> None:
    """Let the time pass that reading takes."""
    tracker = run.app.session.desk.link.tracker
    await run.in_time(lambda: tracker.past_known, "the whole past", step)


async def test_the_newest_come_first_and_the_others_while_the_desk_is_in_use(
    market: Market,
) -> None:
    traded_for_long(market)
    async with market.ready_desk() as run:
        tracker = run.app.session.desk.link.tracker
        assert not tracker.past_known
        assert tracker.open_count == 1
        newest = {name_of(number) for number in range(PAST - LOAD_STEP, PAST)}
        assert newest < {one.service_id for one in tracker.known()}
        assert tracker.get(name_of(0)) is None
        await run.press("o")
        await run.see("Open")
        await run.see(f"{LOAD_STEP}, {COMING}")
        await run.press("x")
        await run.see("Older orders are still being read.")
        run.screen(OrdersScreen)
        # An order of the past is opened before it is read.
        run.app.navigation.open_order(name_of(0))
        await run.settle(lambda: isinstance(run.app.screen, OrderScreen), "the order")
        await run.see("Completed")
        assert not tracker.past_known
        await run.press("escape")
        await whole(run, market)
        assert tracker.count == PAST + 1
        await run.settle(lambda: COMING not in run.text, "the end of reading")
        await run.press("slash")
        await run.type(name_of(0)[:6])
        await run.see(f"1 of {PAST}")
        # What ended before the start is no news once it is read.
        old = tracker.get(name_of(0))
        assert run.app.orders.ends.changed([old], market.clock.now()) == []


async def test_a_past_that_cannot_be_read_now_is_read_later(
    market: Market, caplog: pytest.LogCaptureFixture
) -> None:
    traded_for_long(market)
    places = load_settings({}, Home.at(market.home)).places
    async with market.ready_desk() as run:
        with closing(sqlite3.connect(places.journal, isolation_level=None)) as other:
            ((view,),) = other.execute("SELECT sql FROM sqlite_master WHERE name = 'order_row'")
            other.execute("DROP VIEW order_row")
            market.clock.advance(PAST_PAUSE)
            await run.settle(lambda: "the journal cannot be read" in caplog.text, "a failed read")
            other.execute(view)
        await whole(run, market, step=SETTLE_SECONDS)
        assert run.app.session.desk.link.tracker.count == PAST + 1

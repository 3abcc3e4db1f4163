"""The tracker: every state at every size, hostile text, its past, and five keys to the reply."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta

import httpx2
import pytest
from textual.events import Paste

from swapdesk.flows.connected_desk import PAST_PAUSE, SETTLE_SECONDS
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.tracking.tracking import LOAD_STEP
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.tui.screens.order import OrderScreen
from swapdesk.tui.screens.orders import OrdersScreen
from swapdesk.tui.screens.raw_order import RawOrderScreen, RawText
from swapdesk.tui.widgets.table_layout import Section
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.orders import DisplayStatus, Order
from tui.desk_run import DeskRun, Market
from tui.known_orders import HASH, ended, every_state, exchanging, held, prepare, private, waiting
from tui.known_orders import withheld as differing
from tui.picture import ROOMY, SMALLEST, faults_of, take
from tui.scenes.orders import ONES as IN_SCENES

Golden = Callable[[str, str], None]
HIDDEN = "rDp9 pZz6"


async def test_every_state_of_one_order(market: Market, golden: Golden) -> None:
    """Those that have no scene of their own."""
    known = every_state(market.clock)
    prepare(market, known)
    sizes = [SMALLEST, ROOMY]
    shown: dict[int, list[str]] = {size[0]: [] for size in sizes}
    async with market.desk(SMALLEST) as run:
        for listed in known[len(IN_SCENES) :]:
            await run.to_order(listed.id)
            for size in sizes:
                picture = await take(run, size)
                assert faults_of(picture) == []
                shown[size[0]].append("\n".join(picture.rows[1:]))
            # The next order begins at the size at which this one ended.
            sizes.reverse()
        # Facts below the screen come into view.
        await run.pilot.resize_terminal(80, 16)
        await run.to_order(next(one.id for one in known if one.id.startswith("d4Wp6H")))
        assert "Known for" not in run.text
        await run.press(*["j"] * 8)
        assert "Known for" in run.text
        assert "Refund tx" in run.text
        await run.press(*["k"] * 8)
        assert "0.5 BTC →" in run.text
    for width, screens in shown.items():
        golden(f"order-{width}", "\n\n".join(screens))


async def test_without_orders_it_says_what_starts_one_and_none_is_known(market: Market) -> None:
    async with market.desk() as run:
        await run.to_orders("No orders yet.")
        await run.press("enter", "y", "f", "escape")
        run.app.navigation.open_order("q1w2e3r4t5y6u7i8o9p0as")
        await run.see("Neither this desk nor the service knows this order.")
        assert "you: check the id" in run.text
        assert "Facts" not in run.text
        await run.press("y", "J", "d", "f")
        assert run.screen(OrderScreen)


async def test_orders_that_cannot_be_read_are_said_and_are_no_empty_list(market: Market) -> None:
    listed: list[object] = [{"serviceId": "a", "inAmount": "much"}, None]

    def answer(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if request.method != "GET" or request.url.path != "/v2/orders":
            return response
        body = {"orders": listed, "total": len(listed), "totalPages": 1}
        return httpx2.Response(200, json=body, request=request)

    market.network.after = answer
    async with market.desk((120, 40)) as run:
        await run.to_orders("2 orders of the service's list cannot be read and are left out")
        assert "No orders yet" not in run.text
        assert "in your wallet. 2 orders of the service cannot be read." in run.text
        listed.append(json.loads(encode_json(waiting(market.clock).states[-1])))
        await run.press(
            "r", sees="1 order, read now. 2 orders of the service's list cannot be read"
        )
        assert "2, left out or as last known" in run.text
        del listed[:2]
        await run.press("r")
        await run.settle(lambda: "annot be read" not in run.text, "all orders read")


async def test_an_address_that_must_not_be_paid_is_nowhere(market: Market) -> None:
    known = differing(market.clock)
    prepare(market, [known])
    async with market.desk() as run:
        await run.to_orders()
        assert "Do not pay" in run.text
        assert "copy address" not in run.text
        assert "fund" not in run.text
        await run.press("y", "f")
        await run.press("enter", sees="the recipient differs")
        assert "hidden, see above" in run.text
        await run.press("J")
        raw = await run.on(RawOrderScreen)
        whole = raw.query_one(RawText).value
        address = known.states[0].deposit_address
        assert address not in whole
        assert HIDDEN not in run.text
        assert '"depositAddress": "«withheld»"' in whole
        await run.press("y")
        assert address not in run.app.clipboard


async def test_an_order_that_fails_with_its_deposit_comes_to_the_top_and_says_you(
    market: Market,
) -> None:
    done = ended(market.clock, "c4Mb9RzAsDfGhJkLqWeRtY", DisplayStatus.SWAP_COMPLETED, in_status=5)
    prepare(market, [done, private(market.clock), exchanging(market.clock)])
    async with market.desk(size=(120, 40)) as run:
        screen = await run.to_orders()
        link = run.app.session.desk.link
        tracked = link.tracker.get(exchanging(market.clock).id)
        stuck = tracked.order.model_copy(
            update={"display_status": DisplayStatus.FAILED.value, "action_required": True}
        )
        link.tracker._apply(stuck, "list")
        await link.tracker._writes.flush()
        await run.see("Needs you")
        labels = [row for row in screen._table.rows if isinstance(row, Section)]
        told = [(row.label, row.fact) for row in labels]
        assert told == [("Needs you", "1"), ("Open", "1"), ("Finished", "1")]
        line = next(row for row in run.text.split("\n") if "Failed" in row and "h8Kq2P" in row)
        assert "you" in line.split("Failed")[1].split()
        await run.press("escape", sees="in 1 order that needs you")


async def test_the_cursor_stays_on_its_order_whose_cells_change_in_place_until_it_ends(
    market: Market,
) -> None:
    prepare(market, [exchanging(market.clock), private(market.clock)])
    async with market.desk() as run:
        screen = await run.to_orders()
        key = screen._table.cursor_key
        over = screen.current.order.model_copy(
            update={
                "display_status": DisplayStatus.SWAP_COMPLETED.value,
                "in_status": 5,
                "order_finished_received": market.clock.now(),
            }
        )
        # An end is not shown before the journal has it; the tick may come before the news of it.
        following = run.app.session.desk.link.tracker
        following._apply(over, "list")
        run.app.tick()
        await run.pilot.pause()
        assert "Finished" not in run.text
        await following._writes.flush()
        run.app.tick()
        await run.see("Finished")
        labels = [row for row in screen._table.rows if isinstance(row, Section)]
        assert [(row.label, row.fact) for row in labels] == [("Open", "1"), ("Finished", "1")]
        assert screen._table.rows[-1].key == screen._table.cursor_key == key
        assert "Next nobody" in run.text
        # The other one goes on for a while.
        await run.press("k")
        key = screen._table.cursor_key
        sending = screen.current.order.model_copy(
            update={"display_status": DisplayStatus.SENDING_TO_RECEIVER.value, "in_status": 4}
        )
        following._apply(sending, "stream")
        await following._writes.flush()
        await run.see("Sending")
        assert screen._table.cursor_key == key


async def test_the_filter_keeps_what_matches(market: Market) -> None:
    prepare(market, every_state(market.clock))
    async with market.desk() as run:
        await run.to_orders()
        for text, found in (("private", "r3Tz9W"), (HASH, "c5Rf1J"), ("6f1d-22", "h8Kq2P")):
            await run.press("slash")
            await run.type(text, sees=found)
            assert "m1Xc7D" not in run.text or found == "h8Kq2P"
            await run.press("enter", "escape", sees="n3Fo6R")
        await run.press("slash")
        await run.type("nothing like it", sees="No order matches")
        await run.see("all addresses and hashes, and request ids")


async def test_values_are_copied_under_the_cursor_and_times_move_with_the_clock(
    market: Market,
) -> None:
    known = waiting(market.clock)
    prepare(market, [known])
    async with market.desk() as run:
        await run.to_orders()
        assert "27:12" in run.text
        await run.press("y")
        assert run.app.clipboard == known.states[0].deposit_address
        await run.press("enter", sees="Order id")
        await run.press("y")
        assert run.app.clipboard == known.id
        await run.press("j", "y")
        assert run.app.clipboard == "2500"
        await run.press("d", sees="Send this, once,")
        await run.press("enter", sees="Order id")
        while not isinstance(run.app.screen, OrdersScreen):
            await run.press("escape")
        # The service knows no such order, and its answer would stand in place of the time.
        market.network.gate = (asyncio.Event(), asyncio.Event())
        run.advance(61)
        await run.see("26:11")
        assert "26:11" in next(row for row in run.text.split("\n") if row.startswith("▌"))
        run.advance(1600)
        await run.see("Deadline over")


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
        await run.press("o", sees="Open")
        await run.see(f"{LOAD_STEP}, {COMING}")
        await run.press("x", sees="Older orders are still being read.")
        run.screen(OrdersScreen)
        # An order of the past is opened before it is read.
        run.app.navigation.open_order(name_of(0))
        await run.on(OrderScreen)
        await run.see("Completed")
        assert not tracker.past_known
        await run.press("escape")
        await whole(run, market)
        assert tracker.count == PAST + 1
        await run.settle(lambda: COMING not in run.text, "the end of reading")
        await run.press("slash")
        await run.type(name_of(0)[:6], sees=f"1 of {PAST}")
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
            other.execute("ALTER TABLE orders RENAME TO elsewhere")
            market.clock.advance(PAST_PAUSE)
            await run.settle(lambda: "the journal cannot be read" in caplog.text, "a failed read")
            other.execute("ALTER TABLE elsewhere RENAME TO orders")
        await whole(run, market, step=SETTLE_SECONDS)
        assert run.app.session.desk.link.tracker.count == PAST + 1


UNKNOWN = "h8Kq2PdT5mXcVbN3wRtY7z"


async def pasted(run: DeskRun, text: str) -> None:
    await run.press("i", sees="Paste whatever names the order")
    run.app.screen.post_message(Paste(text))
    await run.see("look up")


async def test_five_keys_lead_from_the_journal_to_the_copied_reply(market: Market) -> None:
    known = held(market.clock)
    prepare(market, [known])
    async with market.ready_desk() as run:
        await run.press("o", sees="Orders")
        # i, paste, enter, y
        await pasted(run, f"Where is my order {known.id}?")
        await run.press("enter", sees="rule held")
        await run.press("y")
        assert run.app.clipboard.startswith(f"Order {known.id}\nYour payment arrived.")
        await run.press("escape", "escape")
        # i, paste, enter, enter, y
        await pasted(run, f"Where is my order {UNKNOWN}?")
        await run.press("enter", sees="2 reads by id")
        await run.press("enter")
        await run.settle(lambda: "belongs to another partner" in " ".join(run.text.split()))
        await run.press("y")
        assert run.app.clipboard.startswith(f"We do not find the order {UNKNOWN}:")
        await run.press("Y")
        assert f"  an order id: {UNKNOWN}" in run.app.clipboard.splitlines()

"""Following orders over a real socket: forward only, confirmed at the end, never given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from flows.following import Followed, following, tracker_of
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.journal.order_merge import display_of
from swapdesk.flows.orders.order_listing import Group
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.tracking.tracking import Tracker
from swapdesk.wire.orders import DisplayStatus, ExchangeRequest, LegStatus
from world import World


@pytest.fixture
async def followed(trade: World) -> AsyncIterator[Followed]:
    async with following(trade) as one:
        yield one


async def test_an_order_is_followed_to_its_confirmed_end(followed: Followed) -> None:
    seen: list[str | None] = []

    async def watch() -> None:
        async for changed in followed.tracker.changes():
            if followed.order_id in changed and (not seen or seen[-1] != followed.display):
                seen.append(followed.display)

    def told(display: DisplayStatus) -> bool:
        return bool(seen) and seen[-1] == display

    watching = asyncio.create_task(watch())
    for status, display in (
        (LegStatus.CONFIRMING, DisplayStatus.DEPOSIT_DETECTED),
        (LegStatus.EXCHANGING, DisplayStatus.EXCHANGE_IN_PROGRESS),
        (LegStatus.SENDING, DisplayStatus.SENDING_TO_RECEIVER),
        (LegStatus.FINISHED, DisplayStatus.SWAP_COMPLETED),
    ):
        followed.venue(status)
        await followed.until(partial(told, display))
    await followed.until(lambda: followed.order.ended)
    watching.cancel()
    assert seen[-4:] == [
        DisplayStatus.DEPOSIT_DETECTED,
        DisplayStatus.EXCHANGE_IN_PROGRESS,
        DisplayStatus.SENDING_TO_RECEIVER,
        DisplayStatus.SWAP_COMPLETED,
    ]
    known = followed.trade.known(followed.order_id)
    assert known.ended
    assert display_of(known.order) == DisplayStatus.SWAP_COMPLETED


async def test_a_swapped_address_in_an_update_forbids_paying(followed: Followed) -> None:
    before = followed.order
    other = "0x" + "9" * 40
    followed.tracker._apply(before.order.model_copy(update={"deposit_address": other}), "stream")
    assert "another deposit address" in (followed.order.withheld or "")
    assert followed.order.order.deposit_address == before.order.deposit_address
    known = followed.trade.known(followed.order_id)
    assert known.withheld is not None


async def test_what_was_seen_of_an_order_stays_when_another_desk_turns_out_to_have_made_it(
    followed: Followed,
) -> None:
    """Its creator wrote it down as it was at first, and nobody is to pay what was paid."""
    trade, tracker = followed.trade, followed.tracker
    intent = await trade.quoted("300")
    receipt = await trade.api.create_exchange(
        ExchangeRequest(quote_id=intent.quote_id, address_to=intent.recipient)
    )
    order = receipt.made
    await followed.until(lambda: tracker.get(order.service_id) is not None)
    foreign = followed.tracked(order.service_id)
    assert foreign.intent is None
    assert "not confirmed at this desk" in (foreign.withheld or "")
    seen = {"display_status": DisplayStatus.DEPOSIT_DETECTED.value, "status": 1}
    tracker._apply(order.model_copy(update=seen), "stream")
    trade.left_sent(intent)
    created = await trade.flow.take(intent, order)
    assert created.withheld is None
    tracker.look_at_payments()
    tracked = followed.tracked(order.service_id)
    assert (tracked.intent, tracked.withheld) == (intent, None)
    assert display_of(tracked.order) == DisplayStatus.DEPOSIT_DETECTED


async def test_an_end_that_only_the_stream_tells_is_not_believed(followed: Followed) -> None:
    before = followed.order
    claimed = before.order.model_copy(
        update={"display_status": DisplayStatus.SWAP_COMPLETED.value, "status": 4}
    )
    followed.tracker._apply(claimed, "stream")
    assert followed.display == DisplayStatus.WAITING_FOR_DEPOSIT
    await followed.until(lambda: not followed.tracker._errands)
    assert followed.display == DisplayStatus.WAITING_FOR_DEPOSIT


async def test_an_unrepeated_order_is_repeated_by_a_later_look(followed: Followed) -> None:
    trade = followed.trade
    trade.journal.orders._file._connection.execute(  # type: ignore[union-attr]
        "UPDATE known_order SET standing = ?, withheld = ? WHERE service_id = ?",
        (DepositRelease.UNREPEATED, "not yet", followed.order_id),
    )
    tracker = Tracker(
        trade.journal, trade.api, trade.clock, followed.tracker._stream, flow=trade.flow
    )
    await tracker.load_past()
    await tracker.read(followed.order_id)
    await followed.until(lambda: not tracker._errands)
    tracked = tracker.get(followed.order_id)
    assert tracked.withheld is None


async def test_a_state_is_told_and_an_end_is_shown_once_the_journal_has_it(
    followed: Followed,
) -> None:
    """Whatever ends the desk in between, its next start knows no less."""
    told: asyncio.Queue[str | None] = asyncio.Queue()
    followed.tracker._listeners.append(told)
    seen = {"display_status": DisplayStatus.DEPOSIT_DETECTED.value, "status": 1, "in_status": 2}
    followed.tracker._apply(followed.order.order.model_copy(update=seen), "read")
    assert told.empty()
    await followed.tracker._writes.flush()
    assert told.get_nowait() == followed.order_id
    known = followed.trade.known(followed.order_id)
    assert display_of(known.order) == DisplayStatus.DEPOSIT_DETECTED
    over = followed.order.order.model_copy(
        update={"display_status": DisplayStatus.SWAP_COMPLETED.value, "status": 4}
    )
    followed.tracker._apply(over, "read")
    assert followed.display == DisplayStatus.DEPOSIT_DETECTED
    assert followed.tracker.open_count == 1
    await followed.tracker._writes.flush()
    assert followed.display == DisplayStatus.SWAP_COMPLETED
    assert followed.tracker.open_count == 0


async def test_what_its_owner_dealt_with_holds_nobody_until_it_goes_wrong_otherwise(
    followed: Followed,
) -> None:
    known, tracker = followed.order.order, followed.tracker
    failed = {"display_status": "FAILED", "status": 6, "in_status": 3, "action_required": True}
    stuck = known.model_copy(update={"service_id": "s" * 22, **failed})
    await tracker.take([stuck])
    assert [one.service_id for one in tracker.orders()] == ["s" * 22, known.service_id]
    tracker.put_away("s" * 22)
    assert (tracker.stranded_count, tracker.counts()[Group.PUT_AWAY]) == (0, 1)
    assert not order_status(tracker.orders()[-1], followed.trade.clock.now()).yours
    # Another desk of this home knows it, and may take it back.
    other = tracker_of(followed.trade.journal, followed.trade.clock)
    assert other.counts()[Group.PUT_AWAY] == 1
    other.take_back("s" * 22)
    tracker.look_at_payments()
    assert (tracker.stranded_count, tracker.counts()[Group.PUT_AWAY]) == (1, 0)
    tracker.put_away("s" * 22)
    worse = stuck.model_copy(update={"non_refundable": True})
    await tracker.take([worse])
    assert tracker.stranded_count == 1
    back = {"display_status": "REFUNDED", "status": 7, "action_required": False}
    await tracker.take([stuck.model_copy(update=back)])
    assert (tracker.stranded_count, tracker.counts()[Group.FINISHED]) == (0, 1)
    # Where nothing failed there is nothing to put away.
    tracker.put_away(known.service_id)
    assert tracker.open_count == 1


async def test_a_past_order_is_recalled_when_it_is_asked_for(followed: Followed) -> None:
    """Whoever only asks for one thing does not read every order there ever was."""
    followed.venue(LegStatus.FINISHED)
    trade, past_id = followed.trade, followed.order_id

    def kept() -> bool:
        entry = trade.journal.orders.get(past_id)
        return entry is not None and entry.ended and entry.order == followed.order.order

    # What is known is committed after it is told.
    await followed.until(kept)
    past = followed.order
    open_too = past.order.model_copy(
        update={"service_id": "o" * 22, "display_status": "EXCHANGE_IN_PROGRESS", "status": 2}
    )
    trade.journal.orders.record([(open_too, "list", False)])

    async def begun() -> Tracker:
        tracker = Tracker(trade.journal, trade.api, trade.clock, followed.tracker._stream)
        await tracker.load_present()
        assert tracker.get(past.service_id) is None
        assert [one.service_id for one in tracker.known()] == ["o" * 22]
        assert tracker.open_count == 1
        return tracker

    tracker = await begun()
    recalled = tracker.recall(past.service_id)
    assert (recalled.order, recalled.intent, recalled.ended) == (past.order, past.intent, True)
    assert tracker.get(past.service_id) is recalled
    assert tracker.recall("n" * 22) is None
    again = await begun()
    await again.load_past()
    assert {one.service_id for one in again.orders()} == {past.service_id, "o" * 22}
    late = await begun()
    behind = past.order.model_copy(update={"display_status": "EXCHANGE_IN_PROGRESS", "status": 2})
    late._apply(behind, "stream")
    kept = late.get(past.service_id)
    assert (display_of(kept.order), kept.ended) == (DisplayStatus.SWAP_COMPLETED, True)
    assert late.open_count == 1

"""Deposits that a venue gives up: taken over by another, or sent back (contract 8.13 to 8.15)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from service.orders_fixtures import BTC, EVM, Floor, caller, reopen, row_of, venues_at
from service.test_exchange_terms import create, fixed
from service.venue import PlainVenue
from swapdesk.clock import ManualClock
from swapdesk.wire.orders import LegStatus, Order


@pytest.fixture
async def floor(tmp_path: Path) -> AsyncIterator[Floor]:
    venues = [*venues_at(), PlainVenue("dd", "Delta", spread="0.010")]
    floor = Floor(tmp_path / "service.db", ManualClock(), venues)
    yield floor
    await floor.store.close()


async def shown(floor: Floor, order: Order, looks: int = 0) -> Order:
    """The order as it is told, after so many looks of the worker."""
    for _ in range(looks):
        await floor.work()
    return await floor.desk.get(caller(), order.service_id)


async def declined(floor: Floor, order: Order, leg: str = "in", **more: Any) -> tuple[str, str]:
    """The venue of a leg has the deposit and will not swap it. Its code and key."""
    row = await row_of(floor, order)
    code = row.legs[0 if leg == "in" else 1]
    key = f"{order.service_id}:{leg}"
    held = {"amount_in": order.in_amount if leg == "in" else row.middle_amount}
    more = {"declined": True, **held, **more}
    floor.venue(code).move(key, LegStatus.FAILED, deposit_arrived=True, **more)
    return code, key


async def test_a_floating_order_goes_to_the_next_best_venue(floor: Floor) -> None:
    order = await floor.create()
    old, key = await declined(floor, order)
    moved = await shown(floor, order, 4)
    assert (moved.status, moved.in_, moved.rerouted) == (1, "bb", True)
    assert (moved.quoted_in_amount, moved.quoted_out_amount) == (order.in_amount, order.out_amount)
    assert moved.out_amount == Decimal("0.01656666")
    assert moved.deposit_address == order.deposit_address
    taking = floor.venue("bb").opened[0]
    assert (taking.payout_address, taking.amount_in) == (BTC, order.in_amount)
    place = await floor.venue("bb").find(taking.key)
    assert floor.venue(old).sent_on == {key: (place.address, place.tag)}
    await floor.work(3600)
    assert (await shown(floor, order)).status == 1, "the deposit was made: nothing expires"
    floor.venue("bb").move(taking.key, LegStatus.FINISHED)
    assert (await shown(floor, order, 1)).status == 4


@pytest.mark.parametrize("leg", ["in", "out"])
async def test_a_leg_of_a_private_order_is_taken_over_by_a_stranger(floor: Floor, leg: str) -> None:
    order = await floor.create(route="private")
    before = await row_of(floor, order)
    if leg == "out":
        floor.venue(before.legs[0]).move(f"{order.service_id}:in", LegStatus.FINISHED)
    old, _ = await declined(floor, order, leg)
    await shown(floor, order, 4)
    row = await row_of(floor, order)
    changed, kept = (0, 1) if leg == "in" else (1, 0)
    assert row.legs[kept] == before.legs[kept]
    assert row.legs[changed] not in before.legs, "nobody learns both ends"
    taking = floor.venue(row.legs[changed]).opened[0]
    if leg == "out":
        assert taking.payout_address == BTC
    else:
        waiting = await floor.venue(before.legs[1]).find(f"{order.service_id}:out")
        assert taking.payout_address == waiting.address
    assert (await shown(floor, order)).rerouted
    assert floor.venue(old).sent_on


async def test_a_venue_that_refuses_is_passed_over(floor: Floor) -> None:
    order = await floor.create()
    old, key = await declined(floor, order)
    floor.venue("bb").trouble.reject = True
    assert (await shown(floor, order, 4)).in_ == "cc"
    place = await floor.venue("cc").find(floor.venue("cc").opened[0].key)
    assert floor.venue(old).sent_on[key] == (place.address, place.tag)


@pytest.mark.parametrize("refund", [None, EVM])
async def test_when_nobody_takes_over_it_goes_back_or_waits_for_somebody(
    floor: Floor, refund: str | None
) -> None:
    order = await floor.create(**({} if refund is None else {"refund_address": refund}))
    old, key = await declined(floor, order)
    for venue in floor.adapters:
        venue.trouble.reject = True
    end = await shown(floor, order, 8)
    if refund is None:
        assert (end.status, end.action_required, end.in_) == (6, True, old)
        assert floor.venue(old).sent_on == {}
    else:
        assert (end.status, end.action_required, end.refund_amount) == (7, False, order.in_amount)
        assert floor.venue(old).sent_on == {key: (EVM, None)}


async def test_a_fixed_order_goes_back_and_nowhere_else(floor: Floor) -> None:
    order = await create(floor, await fixed(floor), refund_address=EVM)
    old, key = await declined(floor, order)
    end = await shown(floor, order, 4)
    assert (end.status, end.rerouted) == (7, False)
    assert floor.venue(old).sent_on == {key: (EVM, None)}
    assert len(floor.openings) == 1


@pytest.mark.parametrize("said", [True, False])
async def test_a_private_fixed_order_returns_the_token_originally_sent(
    floor: Floor, said: bool
) -> None:
    order = await create(floor, await fixed(floor, "private"), refund_address=EVM)
    before = await row_of(floor, order)
    floor.venue(before.legs[0]).move(f"{order.service_id}:in", LegStatus.FINISHED)
    old, _ = await declined(floor, order, "out", declined=said)
    under_way = await shown(floor, order, 4)
    assert (under_way.status, under_way.out_status) == (3, 6)
    assert under_way.action_required is False
    code = str((await row_of(floor, order)).detail["backCode"])
    back = floor.venue(code).opened[-1]
    assert back.token_out.symbol == "ETH"
    assert (back.payout_address, back.amount_in) == (EVM, before.middle_amount)
    assert code != old
    floor.venue(code).move(back.key, LegStatus.FINISHED, amount_out=Decimal("0.49"))
    end = await shown(floor, order, 1)
    assert (end.status, end.refund_chain, end.refund_amount) == (7, "ethereum", Decimal("0.49"))
    assert end.refund_hash is not None
    assert end.order_finished_received is None


async def test_a_return_that_fails_needs_somebody(floor: Floor) -> None:
    order = await create(floor, await fixed(floor, "private"), refund_address=EVM)
    before = await row_of(floor, order)
    floor.venue(before.legs[0]).move(f"{order.service_id}:in", LegStatus.FINISHED)
    await declined(floor, order, "out")
    await shown(floor, order, 4)
    code = str((await row_of(floor, order)).detail["backCode"])
    floor.venue(code).move(floor.venue(code).opened[-1].key, LegStatus.FAILED)
    end = await shown(floor, order, 1)
    assert (end.status, end.action_required) == (6, True)


async def test_a_venue_that_keeps_a_deposit_is_left_to_support(floor: Floor) -> None:
    order = await floor.create(refund_address=EVM)
    await declined(floor, order, declined=False)
    end = await shown(floor, order, 4)
    assert (end.status, end.action_required, end.rerouted) == (6, True, False)


@pytest.mark.parametrize("silent", ["the old one", "the new one"])
async def test_a_move_goes_on_after_silence_and_a_restart(floor: Floor, silent: str) -> None:
    order = await floor.create()
    old, key = await declined(floor, order)
    for _ in range(2):  # the deposit is seen, then the move is written down
        await floor.work()
    quiet = floor.venue(old if silent == "the old one" else "bb")
    quiet.trouble.silent = True
    await shown(floor, order, 4)
    assert (await row_of(floor, order)).detail["move"] == "in"
    heir = await reopen(floor)
    try:
        quiet.trouble.silent = False
        await heir.work(300)
        assert "move" not in (await row_of(heir, order)).detail
        assert list(floor.venue(old).sent_on) == [key]
        assert len([k for k in heir.openings if ":in#" in k]) == 1, "opened once"
    finally:
        await heir.store.close()


async def test_money_that_cannot_be_refunded_any_more_is_said_to_be(floor: Floor) -> None:
    order = await floor.create(route="private")
    row = await row_of(floor, order)
    first = floor.venue(row.legs[0])
    first.move(f"{order.service_id}:in", LegStatus.EXCHANGING)
    assert (await shown(floor, order, 1)).non_refundable is None
    first.move(f"{order.service_id}:in", LegStatus.SENDING)
    assert (await shown(floor, order, 1)).non_refundable is True
    promised = await create(floor, await fixed(floor, "private"), refund_address=EVM)
    row = await row_of(floor, promised)
    floor.venue(row.legs[0]).move(f"{promised.service_id}:in", LegStatus.FINISHED)
    assert (await shown(floor, promised, 1)).non_refundable is None, "what was sent can come back"
    floor.venue(row.legs[1]).move(f"{promised.service_id}:out", LegStatus.SENDING)
    assert (await shown(floor, promised, 1)).non_refundable is True

"""Create when venues refuse or are slow: the next venue, privacy kept, time bounded."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

import manual_time
from service.orders_fixtures import (
    ALICE,
    Floor,
    caller,
    exchange,
    only_order,
    refused,
    row_of,
)
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.orders import Order


async def test_a_floating_order_falls_back_to_the_next_best(floor: Floor) -> None:
    floor.venue("aa").trouble.reject = True
    order = await floor.create()
    assert (order.in_, order.swap_name, order.rerouted) == ("bb", "Beta", True)
    assert order.quoted_in_amount == Decimal("0.5")
    assert order.quoted_out_amount == Decimal("0.01660000")
    assert order.out_amount == Decimal("0.01656666")
    assert floor.openings == [f"{order.service_id}:in#2"]


async def test_a_venue_that_left_since_the_quote_is_one_that_refuses(floor: Floor) -> None:
    quote = await floor.quote()
    left = [venue for venue in floor.adapters if venue.provider.short_name != "aa"]
    without = Floor(floor.path, floor.clock, left)
    order = await without.desk.create(caller(), exchange(quote), "exchange")
    await without.store.close()
    assert (order.in_, order.rerouted) == ("bb", True)


@pytest.mark.parametrize("position", ["in", "out"])
async def test_a_private_order_avoids_the_venue_that_refused(floor: Floor, position: str) -> None:
    quote = await floor.quote(route="private")
    floor.venue(quote.legs[0 if position == "in" else 1]).trouble.rejections = 1
    order = await floor.desk.create(caller(), exchange(quote), "exchange")
    assert order.status == 0
    assert order.rerouted
    row = await row_of(floor, order)
    assert row.legs[0 if position == "in" else 1] != quote.legs[0 if position == "in" else 1]
    assert row.legs[0] != row.legs[1]
    if position == "in":
        assert row.legs[1] == quote.legs[1], "who knows the receiver already pays the receiver"
    for venue in floor.adapters:
        sides = {leg.key.removeprefix(order.service_id).split("#")[0] for leg in venue.opened}
        assert len(sides) <= 1, "nobody learns both ends"
    kept = [key for key in floor.openings if key.endswith("#2")]
    assert sorted(kept) == [f"{order.service_id}:in#2", f"{order.service_id}:out#2"]


@pytest.mark.proves("code PROVIDER_EXCHANGE_FAILED")
async def test_when_all_refuse_the_order_fails_and_the_quote_stays_consumed(floor: Floor) -> None:
    for venue in floor.adapters:
        venue.trouble.reject = True
    quote = await floor.quote()
    for _ in range(2):
        await refused(
            floor.desk.create(caller(), exchange(quote), "exchange"),
            ErrorCode.PROVIDER_EXCHANGE_FAILED,
        )
    order = await only_order(floor)
    assert (order.status, order.display_status, order.deposit_address) == (6, "FAILED", None)
    assert order.action_required is False
    assert order.rerouted is False, "no other route was executed"
    assert (order.quoted_in_amount, order.quoted_out_amount) == (None, None)
    assert (order.in_amount, order.out_amount) == (quote.amount_in, quote.amount_out)
    assert floor.openings == []
    stored = await floor.store.get_quote(ALICE.partner_id, quote.quote_id)
    assert stored.consumed_by == order.service_id


async def answered(floor: Floor, creating: asyncio.Task[Order], seconds: float) -> None:
    """Let the clock run until the request is answered, or for so many seconds."""
    until = floor.clock.monotonic() + seconds
    while not creating.done() and floor.clock.monotonic() < until:
        floor.clock.advance(0.25)
        await manual_time.rest()


async def test_no_other_venue_is_tried_when_ten_seconds_have_passed(floor: Floor) -> None:
    quote = await floor.quote(route="private")
    first, second = (floor.venue(code) for code in quote.legs)
    first.trouble.hang = second.trouble.hang = first.trouble.reject = True
    creating = asyncio.create_task(floor.desk.create(caller(), exchange(quote), "exchange"))
    await answered(floor, creating, 9)
    second.trouble.released.set()
    await answered(floor, creating, 4)
    first.trouble.released.set()
    await answered(floor, creating, 1)
    assert creating.done()
    await refused(creating, ErrorCode.SERVICE_UNAVAILABLE)
    assert [key.partition(":")[2] for key in floor.openings] == ["out"]
    for _ in range(2):
        await floor.work(12)
    order = await only_order(floor)
    assert (order.status, order.rerouted) == (0, True), "the worker decided"
    assert await floor.desk.create(caller(), exchange(quote), "exchange") == order


async def test_a_create_and_its_twin_end_within_25_seconds(floor: Floor) -> None:
    quote = await floor.quote(route="private")
    for venue in floor.adapters:
        venue.trouble.hang = True
    refusing = floor.venue(quote.legs[1])
    refusing.trouble.reject = True
    request = exchange(quote)
    begin = floor.clock.monotonic()
    creating = asyncio.create_task(floor.desk.create(caller(), request, "exchange"))
    await answered(floor, creating, 9.5)
    twin = asyncio.create_task(floor.desk.create(caller(), request, "exchange"))
    refusing.trouble.released.set()
    await answered(floor, creating, 9)
    row = await floor.store.order_of_quote(ALICE.partner_id, quote.quote_id)
    floor.venue(row.legs[1]).trouble.released.set()
    await answered(floor, creating, 60)
    assert floor.clock.monotonic() - begin < 25
    await refused(creating, ErrorCode.SERVICE_UNAVAILABLE)
    await refused(twin, ErrorCode.SERVICE_UNAVAILABLE)


@pytest.mark.proves("status NEW", "leg NEW")
async def test_an_order_between_two_venues_is_new(floor: Floor) -> None:
    floor.venue("aa").trouble.reject = True
    floor.venue("bb").trouble.answers_lost = 1
    quote = await floor.quote()
    await refused(
        floor.desk.create(caller(), exchange(quote), "exchange"), ErrorCode.SERVICE_UNAVAILABLE
    )
    order = await only_order(floor)
    assert (order.status, order.status_label, order.in_status) == (-1, "NEW", 0)
    assert (order.display_status, order.deposit_address) == ("WAITING_FOR_DEPOSIT", None)
    await floor.work(12)
    assert (await only_order(floor)).status == 0
    assert [row.status for row in await floor.store.read_outbox(0, 10)] == [-1, 0]

"""Create: at most once per quote, finished after any crash (contract 7.6 to 7.10)."""

from __future__ import annotations

import asyncio
import random
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import manual_time
from service.blade import Blade, Cut, CutVenue, cut_desk
from service.new_store import announced
from service.orders_fixtures import (
    ALICE,
    BOB,
    BTC,
    ETH,
    EVM,
    Floor,
    caller,
    exchange,
    only_order,
    private_send,
    refused,
    reopen,
    row_of,
)
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.clock import ManualClock
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.orders import Order


@pytest.mark.proves("status WAITING", "display WAITING_FOR_DEPOSIT")
async def test_a_standard_order(floor: Floor) -> None:
    order = await floor.create(refund_address=EVM)
    assert (order.status, order.display_status) == (0, "WAITING_FOR_DEPOSIT")
    assert (order.in_, order.swap_name, order.anonymous) == ("aa", "Alpha", False)
    assert order.deposit_address == (await floor.venue("aa").find(f"{order.service_id}:in")).address  # type: ignore[union-attr]
    assert (order.in_amount, order.out_amount) == (Decimal("0.5"), Decimal("0.01660000"))
    assert order.created == floor.clock.now()
    assert (order.expires - order.created).total_seconds() == 1800
    assert re.fullmatch("[0-9a-f]{24}", order.id or "")
    assert order.id != (await floor.create()).id
    leg = floor.venue("aa").opened[0]
    assert (leg.payout_address, leg.refund_address) == (BTC, EVM)
    assert await floor.desk.get(caller(), order.service_id) == order


async def test_a_private_order_hides_its_venues_and_hops(floor: Floor) -> None:
    kept = derive_address("xmr", bytes(32))
    order = await floor.create(route="private", intermediate_refund_address=kept)
    sent = encode_json(order).decode()
    assert (order.anonymous, order.is_dex) == (True, False)
    assert order.intermediate_refund_address == kept
    for secret in ("Alpha", "Beta", "Gamma", '"in":', "swapName", "xmr", "monero"):
        assert secret not in sent
    (first,) = [leg for v in floor.adapters for leg in v.opened if leg.key.endswith(":in")]
    (second,) = [leg for v in floor.adapters for leg in v.opened if leg.key.endswith(":out")]
    assert second.payout_address == BTC
    assert second.refund_address == kept
    assert second.expires > first.expires
    out_venue = next(v for v in floor.adapters if second in v.opened)
    waiting = await out_venue.find(second.key)
    assert (first.payout_address, first.payout_tag) == (waiting.address, waiting.tag)
    assert order.deposit_address != waiting.address
    assert order.out_status == 1


async def test_what_the_venue_restates_is_what_is_to_be_paid(floor: Floor) -> None:
    floor.venue("aa").trouble.restate_in = Decimal("0.50000001")
    floor.venue("aa").trouble.restate_out = Decimal("0.0165")
    order = await floor.create()
    assert (order.in_amount, order.out_amount) == (Decimal("0.50000001"), Decimal("0.0165"))
    assert (order.in_amount_usd, order.out_amount_usd) == (Decimal("1500.00003"), Decimal("1485"))


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("addressTo", {"to": EVM}),
        ("addressTo", {"to": BTC[:-1] + "q"}),
        ("refundAddress", {"to": BTC, "refund_address": BTC}),
    ],
)
async def test_an_address_nobody_could_be_paid_at(
    floor: Floor, field: str, body: dict[str, str]
) -> None:
    quote = await floor.quote()
    others = {name: value for name, value in body.items() if name != "to"}
    request = exchange(quote, body["to"], **others)
    await refused(floor.desk.create(caller(), request, "exchange"), field=field)
    assert floor.openings == []
    assert (await floor.desk.create(caller(), exchange(quote), "exchange")).status == 0


@pytest.mark.proves("code INVALID_SWAP")
async def test_quotes_that_cannot_be_used_are_refused_alike(floor: Floor) -> None:
    mine, theirs = await floor.quote(), await floor.quote(of=BOB)
    unknown = replace(mine, quote_id="f" * 24)
    creates = [
        floor.desk.create(caller(), exchange(unknown), "exchange"),
        floor.desk.create(caller(), exchange(theirs), "exchange"),
        floor.desk.create(caller(), private_send(mine), "private_send"),
    ]
    told = [await refused(create, ErrorCode.INVALID_SWAP) for create in creates]
    floor.clock.advance(60)
    late = floor.desk.create(caller(), exchange(mine), "exchange")
    told.append(await refused(late, ErrorCode.INVALID_SWAP))
    assert len({encode_json(error.body("same")) for error in told}) == 1
    assert floor.openings == []


@pytest.mark.parametrize("first", ["exchange", "private_send"])
async def test_a_private_send_is_created_by_both_operations_and_once(
    floor: Floor, first: str
) -> None:
    quote = await floor.quote(route="private", token_out=ETH, purpose="private_send")

    async def create(purpose: str, **body: str) -> Any:
        make = exchange if purpose == "exchange" else private_send
        return await floor.desk.create(caller(), make(quote, EVM, **body), purpose)  # type: ignore[arg-type]

    order = await create(first)
    assert (order.anonymous, order.in_token_id, order.out_token_id) == (True, ETH.id, ETH.id)
    opened = list(floor.openings)
    for again in ("exchange", "private_send"):
        assert await create(again) == order, "the same body is the same create"
        await refused(create(again, wallet_info="other"), ErrorCode.INVALID_SWAP)
    assert floor.openings == opened


async def test_64_twins_get_one_order(floor: Floor) -> None:
    for _ in range(5):
        request = exchange(await floor.quote())
        answers = await asyncio.gather(
            *(floor.desk.create(caller(), request, "exchange") for _ in range(64))
        )
        assert len({encode_json(answer) for answer in answers}) == 1
    assert len(floor.openings) == len(set(floor.openings)) == 5
    assert (await floor.listed(caller())).total == 5


async def test_a_used_quote_takes_no_other_body(floor: Floor) -> None:
    quote = await floor.quote()
    order = await floor.desk.create(caller(), exchange(quote), "exchange")
    await refused(
        floor.desk.create(caller(), exchange(quote, refund_address=EVM), "exchange"),
        ErrorCode.INVALID_SWAP,
    )
    floor.clock.advance(3600)
    await floor.worker.sweep(floor.clock.now())
    assert await floor.desk.create(caller(), exchange(quote), "exchange") == order
    floor.clock.advance(48 * 3600)
    too_late = await refused(
        floor.desk.create(caller(), exchange(quote), "exchange"), ErrorCode.INVALID_SWAP
    )
    unknown = replace(quote, quote_id="f" * 24)
    never = await refused(
        floor.desk.create(caller(), exchange(unknown), "exchange"), ErrorCode.INVALID_SWAP
    )
    assert encode_json(too_late.body("same")) == encode_json(never.body("same"))


@pytest.mark.proves("status INITIALIZING", "code SERVICE_UNAVAILABLE")
async def test_a_lost_answer_is_settled_by_the_worker(floor: Floor) -> None:
    floor.venue("aa").trouble.answers_lost = 1
    quote = await floor.quote()
    await refused(
        floor.desk.create(caller(), exchange(quote), "exchange"), ErrorCode.SERVICE_UNAVAILABLE
    )
    assert (await only_order(floor)).status == -2
    assert await floor.work(12) == 1
    order = await only_order(floor)
    assert order.status == 0
    assert await floor.desk.create(caller(), exchange(quote), "exchange") == order
    assert floor.openings == [f"{order.service_id}:in"]


async def test_an_opening_nobody_can_ask_about_fails_when_its_time_is_over(floor: Floor) -> None:
    venue = floor.venue("aa")
    venue.trouble.hang = venue.trouble.silent = True
    quote = await floor.quote()
    creating = asyncio.create_task(floor.desk.create(caller(), exchange(quote), "exchange"))
    while await floor.store.orders.of_quote(ALICE.partner_id, quote.quote_id) is None:
        assert not creating.done()
        await asyncio.sleep(0)
    creating.cancel()
    await asyncio.gather(creating, return_exceptions=True)
    for _ in range(12):
        await floor.work(300)
    assert (await only_order(floor)).status == -2, "silence decides nothing"
    venue.trouble.silent = False
    await floor.work(300)
    assert (await only_order(floor)).status == 6
    assert floor.openings == []


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("trouble", ["none", "best venue refuses"])
@pytest.mark.parametrize("route", ["standard", "private"])
async def test_a_crash_in_any_gap_is_finished_by_the_worker(
    tmp_path: Path, route: str, trouble: str
) -> None:
    """Sweeps every boundary call, before and after; the last sweep is the one nothing cut."""
    at, swept = 1, 0
    while True:
        blades = [Blade(at, after=False), Blade(at, after=True)]
        for blade in blades:
            await _crash_and_recover(tmp_path / f"{swept}.db", route, trouble, blade)
            swept += 1
        if len(blades[0].calls) < at:
            break
        at += 1
    assert at > {"standard": 3, "private": 4}[route]


async def _crash_and_recover(path: Path, route: str, trouble: str, blade: Blade) -> None:
    adapters = [
        CutVenue("aa", "Alpha", spread="0.004"),
        CutVenue("bb", "Beta", spread="0.006"),
        CutVenue("cc", "Gamma", spread="0.008"),
    ]
    floor = Floor(path, ManualClock(), adapters)
    quote = await floor.quote(route=route)
    if trouble != "none":
        floor.venue(quote.legs[0]).trouble.reject = True
    desk = cut_desk(floor, blade, random.Random(1))
    for venue in adapters:
        venue.blade = blade
    cut = False
    try:
        await desk.create(caller(), exchange(quote), "exchange")
    except Cut:
        cut = True
    for venue in adapters:
        venue.blade = None
    assert cut == (len(blade.calls) >= blade.at)
    floor = await reopen(floor)
    for _ in range(3):
        await floor.work(12)
    began = not (blade.at == 1 and not blade.after)
    if began:
        order = await only_order(floor)
        assert order.status == 0, blade.calls
    else:
        assert (await floor.listed(caller())).total == 0
    again = await floor.desk.create(caller(), exchange(quote), "exchange")
    assert (await only_order(floor)).service_id == again.service_id
    assert len(floor.openings) == len(set(floor.openings))
    row = await row_of(floor, again)
    first = [k for k in floor.venue(row.legs[0]).keys if k.startswith(f"{again.service_id}:in")]
    assert len(first) == 1, "one deposit address, and it is the order's"
    instruction = await floor.venue(row.legs[0]).find(first[0])
    assert instruction.address == again.deposit_address
    await floor.store.close()


# Create when venues refuse or are slow: the next venue, privacy kept, time bounded


@pytest.mark.parametrize("trouble", ["reject", "addresses_held"])
async def test_a_floating_order_falls_back_to_the_next_best(floor: Floor, trouble: str) -> None:
    setattr(floor.venue("aa").trouble, trouble, True)
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
    stored = await floor.store.quotes.get(ALICE.partner_id, quote.quote_id)
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
    row = await floor.store.orders.of_quote(ALICE.partner_id, quote.quote_id)
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
    assert [row.status for row in await announced(floor.store)] == [-1, 0]

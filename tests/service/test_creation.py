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

from patience import eventually
from service.blade import Blade, Cut, CutStore, CutVenue
from service.orders_fixtures import (
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
from swapdesk.service.orders.creation import OrderDesk
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import ErrorCode


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
    to = body.pop("to")
    await refused(floor.desk.create(caller(), exchange(quote, to, **body), "exchange"), field=field)
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
    for _ in range(20):
        request = exchange(await floor.quote())
        answers = await asyncio.gather(
            *(floor.desk.create(caller(), request, "exchange") for _ in range(64))
        )
        assert len({encode_json(answer) for answer in answers}) == 1
    assert len(floor.openings) == len(set(floor.openings)) == 20
    assert (await floor.listed(caller())).total == 20


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
    creating = asyncio.create_task(
        floor.desk.create(caller(), exchange(await floor.quote()), "exchange")
    )
    await eventually(lambda: bool(floor.desk._in_flight))
    creating.cancel()
    await asyncio.gather(creating, return_exceptions=True)
    for _ in range(12):
        await floor.work(300)
    assert (await only_order(floor)).status == -2, "silence decides nothing"
    venue.trouble.silent = False
    await floor.work(300)
    assert (await only_order(floor)).status == 6
    assert floor.openings == []


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
    desk = OrderDesk(
        CutStore(floor.store, blade),  # type: ignore[arg-type]
        floor.catalog,
        floor.venues,
        floor.engine,
        floor.clock,
        random.Random(1),
    )
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

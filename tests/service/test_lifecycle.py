"""The worker: polls, expiries, refunds, silence (contract 8.5 to 8.16)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

import manual_time
from patience import eventually
from rows import each_row
from service.new_store import announced
from service.orders_fixtures import BTC, EVM, Floor, caller, reopen, row_of, venues_at
from service.test_exchange_terms import create, fixed
from service.venue import PlainVenue
from swapdesk.service.venues.adapter import LegReport
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.orders import LegStatus, Order, OrderStatusCode


async def state(floor: Floor, order: Order, seconds: float = 5, looks: int = 1) -> Order:
    """The order as it is told, once the worker has looked so often after so much time."""
    for _ in range(looks):
        await floor.work(seconds)
    return await floor.desk.get(caller(), order.service_id)


async def legs(floor: Floor, order: Order) -> list[tuple[PlainVenue, str]]:
    """Venue and key of each leg, in the order of the money."""
    row = await row_of(floor, order)
    return [
        (floor.venue(code), f"{order.service_id}:{position}")
        for code, position in zip(row.legs, ("in", "out"), strict=False)
    ]


async def begun(floor: Floor, **body: str) -> tuple[Order, PlainVenue, str]:
    """An order of one leg, with the leg's venue and key."""
    order = await floor.create(**body)
    ((venue, key),) = await legs(floor, order)
    return order, venue, key


async def shown(floor: Floor) -> list[int]:
    return [row.status for row in await announced(floor.store)]


@pytest.mark.proves(
    "status CONFIRMING",
    "display DEPOSIT_DETECTED",
    "display EXCHANGE_IN_PROGRESS",
    "field orderFinishedReceived",
)
async def test_a_standard_order_to_its_end(floor: Floor) -> None:
    order = await floor.create()
    begun = order.created
    ((venue, key),) = await legs(floor, order)
    seen = []
    for status in (
        LegStatus.CONFIRMING,
        LegStatus.EXCHANGING,
        LegStatus.VERIFYING,
        LegStatus.SENDING,
        LegStatus.FINISHED,
    ):
        venue.move(key, status, amount_out=Decimal("0.0165"))
        order = await state(floor, order)
        seen.append((order.status, order.display_status, order.in_status))
        assert order.status_label == OrderStatusCode(order.status or 0).name
        assert order.in_status_label == status.name
        assert order.created == order.in_created == begun
        if status is not LegStatus.FINISHED:
            assert order.order_finished_received is None
    assert seen == [
        (1, "DEPOSIT_DETECTED", 2),
        (2, "EXCHANGE_IN_PROGRESS", 3),
        (2, "EXCHANGE_IN_PROGRESS", 8),
        (2, "SENDING_TO_RECEIVER", 4),
        (4, "SWAP_COMPLETED", 5),
    ]
    assert order.order_finished_received == floor.clock.now()
    assert order.out_amount == Decimal("0.0165")
    assert order.in_transaction_out_hash is not None
    assert order.hash_url == f"https://bitcoin.example/tx/{order.in_transaction_out_hash}"
    assert order.out_transaction_out_hash is None
    assert await state(floor, order, 3600) == order, "what is finished changes no more"


async def test_the_estimate_counts_from_the_deposit(floor: Floor) -> None:
    order, venue, key = await begun(floor)
    told = order.eta
    assert (await state(floor, order, 600)).eta == told
    venue.move(key, LegStatus.CONFIRMING)
    assert (await state(floor, order, 30)).eta == told + Decimal("10.5")
    for status in (LegStatus.EXCHANGING, LegStatus.FINISHED):
        venue.move(key, status)
        order = await state(floor, order, 120)
    assert (order.status, order.eta) == (4, told + Decimal("10.5"))


@pytest.mark.proves(
    "display SENDING_TO_INTERMEDIARY",
    "display REACHED_INTERMEDIARY",
    "display INITIATING_SECOND_EXCHANGE",
    "display SECOND_EXCHANGE_IN_PROGRESS",
    "display SENDING_TO_RECEIVER",
    "display SWAP_COMPLETED",
    "leg WAITING",
    "leg CONFIRMING",
    "leg EXCHANGING",
    "leg SENDING",
    "leg FINISHED",
)
async def test_a_private_order_to_its_end(floor: Floor) -> None:
    order = await floor.create(route="private")
    (first, first_key), (second, second_key) = await legs(floor, order)
    seen = []
    for venue, key, status in (
        (first, first_key, LegStatus.CONFIRMING),
        (first, first_key, LegStatus.EXCHANGING),
        (first, first_key, LegStatus.SENDING),
        (first, first_key, LegStatus.FINISHED),
        (second, second_key, LegStatus.CONFIRMING),
        (second, second_key, LegStatus.EXCHANGING),
        (second, second_key, LegStatus.SENDING),
        (second, second_key, LegStatus.FINISHED),
    ):
        venue.move(key, status)
        order = await state(floor, order)
        seen.append((order.status, order.display_status, order.in_status, order.out_status))
        if order.status < 4:  # type: ignore[operator]
            assert order.out_transaction_out_hash is None
    assert seen == [
        (1, "DEPOSIT_DETECTED", 2, 1),
        (2, "EXCHANGE_IN_PROGRESS", 3, 1),
        (2, "SENDING_TO_INTERMEDIARY", 4, 1),
        (3, "REACHED_INTERMEDIARY", 5, 1),
        (3, "INITIATING_SECOND_EXCHANGE", 5, 2),
        (3, "SECOND_EXCHANGE_IN_PROGRESS", 5, 3),
        (3, "SENDING_TO_RECEIVER", 5, 4),
        (4, "SWAP_COMPLETED", 5, 5),
    ]
    report = await second.report(second_key)
    between = await first.report(first_key)
    assert order.out_transaction_out_hash == report.payout_hash
    assert order.in_transaction_out_hash is None
    assert order.hash_url == f"https://bitcoin.example/tx/{report.payout_hash}"
    assert between.payout_hash not in order.model_dump_json()


async def test_an_order_without_a_deposit_expires_after_thirty_minutes(floor: Floor) -> None:
    order = await floor.create()
    assert (await state(floor, order, 1799)).status == 0
    order = await state(floor, order, 1)
    assert (order.status, order.display_status, order.in_status) == (5, "EXPIRED", 9)
    assert order.action_required is False
    assert order.order_finished_received is None


async def test_a_deposit_seen_in_time_is_not_expired(floor: Floor) -> None:
    order, venue, key = await begun(floor)
    venue.tell(key, LegReport(LegStatus.WAITING, deposit_arrived=True))
    assert (await state(floor, order, 1800)).status == 0


async def test_an_answer_from_before_the_deadline_expires_nothing(floor: Floor) -> None:
    """A deposit made in time, while the venue's answer was under way."""
    order, venue, key = await begun(floor)
    await floor.work(1790)
    asked = len(venue.asked)
    venue.trouble.report_slowly = True
    looking = asyncio.create_task(floor.work(8))
    await eventually(lambda: len(venue.asked) > asked)
    venue.move(key, LegStatus.CONFIRMING)
    floor.clock.advance(3)
    venue.trouble.released.set()
    await looking
    assert (await state(floor, order, looks=0)).status == 0
    assert (await state(floor, order)).status == 1


@each_row(
    ("told", "status", "label"),
    [
        (LegReport(LegStatus.EXPIRED), 5, "EXPIRED"),
        (LegReport(LegStatus.FALLBACK, deposit_arrived=True, payout_hash="0xaa"), 4, "FALLBACK"),
    ],
)
async def test_a_venue_ends_a_leg_itself(
    floor: Floor, told: LegReport, status: int, label: str
) -> None:
    order, venue, key = await begun(floor)
    venue.tell(key, told)
    order = await state(floor, order)
    assert (order.status, order.in_status_label) == (status, label)


@pytest.mark.parametrize("said", [LegStatus.EXCHANGING, LegStatus.EXPIRED])
async def test_a_late_deposit_is_refunded(floor: Floor, said: LegStatus) -> None:
    order, venue, key = await begun(floor, refund_address=EVM)
    await floor.work(1800)
    venue.tell(key, LegReport(said, deposit_arrived=True, deposit_hash="0xaa"))
    late = await state(floor, order, 30)
    assert (late.display_status, late.action_required) == ("EXPIRED", False)
    venue.tell(
        key,
        LegReport(
            LegStatus.REFUNDED,
            deposit_arrived=True,
            refund_hash="0xbb",
            refund_chain="ethereum",
            refund_amount=Decimal("0.49"),
        ),
    )
    late = await state(floor, order, 600)
    assert (late.status, late.display_status) == (7, "REFUNDED")
    assert (late.refund_hash, late.refund_chain, late.refund_amount) == (
        "0xbb",
        "ethereum",
        Decimal("0.49"),
    )
    assert late.order_finished_received is None


async def test_a_late_deposit_without_a_way_back_needs_somebody(floor: Floor) -> None:
    order, venue, key = await begun(floor)
    await floor.work(1800)
    venue.tell(key, LegReport(LegStatus.EXPIRED, deposit_arrived=True, deposit_hash="0xaa"))
    late = await state(floor, order, 30)
    assert (late.status, late.display_status, late.action_required) == (5, "EXPIRED", True)
    assert late.hash_url == "https://ethereum.example/tx/0xaa"


async def test_a_second_deposit_nobody_can_send_back_is_flagged(floor: Floor) -> None:
    order, venue, key = await begun(floor)
    venue.move(key, LegStatus.FINISHED)
    done = await state(floor, order, 10)
    assert (done.status, done.action_required) == (4, False)
    finished = await venue.report(key)
    venue.tell(key, replace(finished, held=True))
    flagged = await state(floor, order, 24 * 3600)
    assert (flagged.status, flagged.display_status) == (4, "SWAP_COMPLETED")
    assert flagged.action_required
    assert flagged.order_finished_received == done.order_finished_received


@pytest.mark.parametrize(
    ("leg", "seconds", "least", "most"),
    [(LegStatus.FINISHED, 10, 40, 120), (LegStatus.WAITING, 1800, 250, 400)],
    ids=["finished", "expired"],
)
async def test_what_has_ended_is_looked_at_for_48_hours_and_seldom(
    floor: Floor, leg: LegStatus, seconds: float, least: int, most: int
) -> None:
    _, venue, key = await begun(floor)
    venue.move(key, leg)
    await floor.work(seconds)
    asked = len(venue.asked)
    begin = floor.clock.now()
    while (due := await floor.store.orders.next_due()) is not None:
        await floor.work((due - floor.clock.now()).total_seconds())
    assert least < len(venue.asked) - asked < most
    assert timedelta(hours=47) < floor.clock.now() - begin < timedelta(hours=49)


async def test_a_fast_venue_is_asked_about_an_unpaid_order_ever_more_slowly(floor: Floor) -> None:
    for adapter in floor.adapters:
        adapter.poll_seconds = 0.2
    order, venue, key = await begun(floor)
    await floor.work(0.1)
    assert venue.asked == [], "nobody can have paid yet"
    waits = []
    for seconds in (0.9, 20, 600):
        await floor.work(seconds)
        due = await floor.store.orders.next_due()
        waits.append((due - floor.clock.now()).total_seconds())
    assert waits == [0.2, pytest.approx(1.05), 2.0]
    venue.move(key, LegStatus.CONFIRMING)
    assert (await state(floor, order, 2)).status > 0


async def test_a_late_deposit_goes_back_at_the_pace_of_its_venue(floor: Floor) -> None:
    order, venue, key = await begun(floor, refund_address=EVM)
    venue.poll_seconds = 0.2
    assert (await state(floor, order, 1800)).status == 5
    back = LegReport(
        LegStatus.REFUNDED, deposit_arrived=True, refund_hash="0xbb", refund_chain="ethereum"
    )
    venue.tell(key, back)
    assert (await state(floor, order, 2)).status == 7


@pytest.mark.parametrize(("arrived", "flagged"), [(True, True), (False, False)])
async def test_a_failure_after_the_deposit_is_flagged(
    floor: Floor, arrived: bool, flagged: bool
) -> None:
    order, venue, key = await begun(floor, refund_address=EVM)
    venue.tell(key, LegReport(LegStatus.FAILED, deposit_arrived=arrived))
    failed = await state(floor, order)
    assert (failed.status, failed.action_required) == (6, flagged)
    venue.tell(key, LegReport(LegStatus.REFUNDED, deposit_arrived=True, refund_hash="0xcc"))
    failed = await state(floor, order, 600)
    assert (failed.status, failed.action_required) == (7, False)


async def test_a_second_leg_that_fails_fails_the_order(floor: Floor) -> None:
    order = await floor.create(route="private")
    (first, first_key), (second, second_key) = await legs(floor, order)
    first.move(first_key, LegStatus.FINISHED)
    second.tell(second_key, LegReport(LegStatus.FAILED, deposit_arrived=True))
    failed = await state(floor, order)
    assert (failed.status, failed.in_status, failed.out_status) == (6, 5, 6)
    assert failed.action_required is True
    assert failed.order_finished_received is None


async def test_a_refund_without_a_known_amount(floor: Floor) -> None:
    order, venue, key = await begun(floor, refund_address=EVM)
    venue.tell(key, LegReport(LegStatus.REFUNDED, refund_hash="0xdd", refund_chain="ethereum"))
    order = await state(floor, order)
    assert (order.status, order.refund_hash, order.refund_amount) == (7, "0xdd", None)
    await floor.worker.sweep(floor.clock.now())
    assert await shown(floor) == [0, 1, 7]


async def test_silence_moves_nothing_and_is_asked_ever_more_seldom(floor: Floor) -> None:
    order = await floor.create()
    venue = floor.venue("aa")
    venue.trouble.silent = True
    for _ in range(120):
        assert (await state(floor, order, 30)).status == 0, (
            "an hour of silence does not expire an order"
        )
    assert 5 < len(venue.asked) < 25
    venue.trouble.silent = False
    assert (await state(floor, order, 300)).status == 5


async def test_a_forgetful_venue_does_not_end_an_order(floor: Floor) -> None:
    order, venue, key = await begun(floor)
    venue.move(key, LegStatus.EXCHANGING)
    await floor.work()
    venue._reports.clear()
    assert (await state(floor, order, 3600)).status == 2


async def test_a_short_deposit_lowers_what_is_paid_out(floor: Floor) -> None:
    order, venue, key = await begun(floor)
    venue.tell(key, LegReport(LegStatus.WAITING, amount_out=Decimal("99")))
    assert (await state(floor, order)).out_amount == order.out_amount
    venue.move(key, LegStatus.EXCHANGING, amount_in=Decimal("0.4"), amount_out=Decimal("0.0132"))
    changed = await state(floor, order)
    assert (changed.in_amount, changed.out_amount) == (order.in_amount, Decimal("0.0132"))
    assert (changed.in_amount_usd, changed.out_amount_usd) == (order.in_amount_usd, Decimal("1188"))


async def test_a_venue_that_hangs_holds_up_no_other_order(floor: Floor) -> None:
    order, venue, key = await begun(floor)
    venue.trouble.hang = True
    creating = asyncio.create_task(floor.create())
    await eventually(lambda: bool(floor.desk._in_flight))
    creating.cancel()
    await asyncio.gather(creating, return_exceptions=True)
    floor.clock.advance(12)
    running = asyncio.create_task(floor.worker.run())
    begin = floor.clock.monotonic()
    for status, reached in ((LegStatus.CONFIRMING, 1), (LegStatus.FINISHED, 4)):
        venue.move(key, status)
        while (await state(floor, order, looks=0)).status != reached:
            assert floor.clock.monotonic() - begin < 9, "the hanging order was waited for"
            floor.clock.advance(0.25)
            await manual_time.rest()
    assert len(floor.openings) == 1, "and it still hangs"
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


# What an order calls a refund: the deposited token, back on its own chain


@pytest.mark.parametrize("intermediate", [{}, {"intermediate_refund_address": "kept"}])
async def test_what_the_second_leg_gives_back_is_no_refund(
    floor: Floor, intermediate: dict[str, str]
) -> None:
    order = await floor.create(route="private", refund_address=EVM, **intermediate)
    row = await row_of(floor, order)
    first, second = (floor.venue(code) for code in row.legs)
    first.move(f"{order.service_id}:in", LegStatus.FINISHED)
    second.tell(
        f"{order.service_id}:out",
        LegReport(
            LegStatus.REFUNDED,
            deposit_arrived=True,
            refund_hash="hash between the legs",
            refund_chain="monero",
            refund_amount=Decimal(8),
        ),
    )
    shown = await state(floor, order)
    assert (shown.status, shown.display_status, shown.action_required) == (6, "FAILED", True)
    assert (shown.refund_hash, shown.refund_chain, shown.refund_amount) == (None, None, None)
    assert shown.order_finished_received is None
    sent = encode_json(shown).decode()
    assert "monero" not in sent
    assert "between" not in sent


async def test_a_private_deposit_given_back_by_the_first_leg_is_a_refund(floor: Floor) -> None:
    order = await floor.create(route="private", refund_address=EVM)
    row = await row_of(floor, order)
    floor.venue(row.legs[0]).tell(
        f"{order.service_id}:in",
        LegReport(
            LegStatus.REFUNDED,
            deposit_arrived=True,
            refund_hash="0xaa",
            refund_chain="ethereum",
            refund_amount=Decimal("0.49"),
        ),
    )
    shown = await state(floor, order)
    assert (shown.status, shown.refund_chain, shown.refund_amount) == (
        7,
        "ethereum",
        Decimal("0.49"),
    )
    assert shown.action_required is False


# Deposits that a venue gives up: taken over by another, or sent back (contract 8.13 to 8.15)


@pytest.fixture
def adapters() -> list[PlainVenue]:
    return [*venues_at(), PlainVenue("dd", "Delta", spread="0.010")]


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
    moved = await state(floor, order, looks=4)
    assert (moved.status, moved.in_, moved.rerouted) == (1, "bb", True)
    assert (moved.quoted_in_amount, moved.quoted_out_amount) == (order.in_amount, order.out_amount)
    assert moved.out_amount == Decimal("0.01656666")
    assert moved.deposit_address == order.deposit_address
    taking = floor.venue("bb").opened[0]
    assert (taking.payout_address, taking.amount_in) == (BTC, order.in_amount)
    place = await floor.venue("bb").find(taking.key)
    assert floor.venue(old).sent_on == {key: (place.address, place.tag)}
    await floor.work(3600)
    assert (await state(floor, order, looks=0)).status == 1, "the deposit was made: nothing expires"
    floor.venue("bb").move(taking.key, LegStatus.FINISHED)
    assert (await state(floor, order)).status == 4


@pytest.mark.parametrize("leg", ["in", "out"])
async def test_a_leg_of_a_private_order_is_taken_over_by_a_stranger(floor: Floor, leg: str) -> None:
    order = await floor.create(route="private")
    before = await row_of(floor, order)
    if leg == "out":
        floor.venue(before.legs[0]).move(f"{order.service_id}:in", LegStatus.FINISHED)
    old, _ = await declined(floor, order, leg)
    await state(floor, order, looks=4)
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
    assert (await state(floor, order, looks=0)).rerouted
    assert floor.venue(old).sent_on


async def test_a_venue_that_refuses_is_passed_over(floor: Floor) -> None:
    order = await floor.create()
    old, key = await declined(floor, order)
    floor.venue("bb").trouble.reject = True
    assert (await state(floor, order, looks=4)).in_ == "cc"
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
    end = await state(floor, order, looks=8)
    if refund is None:
        assert (end.status, end.action_required, end.in_) == (6, True, old)
        assert floor.venue(old).sent_on == {}
    else:
        assert (end.status, end.action_required, end.refund_amount) == (7, False, order.in_amount)
        assert floor.venue(old).sent_on == {key: (EVM, None)}


async def test_a_fixed_order_goes_back_and_nowhere_else(floor: Floor) -> None:
    order = await create(floor, await fixed(floor), refund_address=EVM)
    old, key = await declined(floor, order)
    end = await state(floor, order, looks=4)
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
    under_way = await state(floor, order, looks=4)
    assert (under_way.status, under_way.out_status) == (3, 6)
    assert under_way.action_required is False
    code = str((await row_of(floor, order)).detail["backCode"])
    back = floor.venue(code).opened[-1]
    assert back.token_out.symbol == "ETH"
    assert (back.payout_address, back.amount_in) == (EVM, before.middle_amount)
    assert code != old
    floor.venue(code).move(back.key, LegStatus.FINISHED, amount_out=Decimal("0.49"))
    end = await state(floor, order)
    assert (end.status, end.refund_chain, end.refund_amount) == (7, "ethereum", Decimal("0.49"))
    assert end.refund_hash is not None
    assert end.order_finished_received is None


async def test_a_return_that_fails_needs_somebody(floor: Floor) -> None:
    order = await create(floor, await fixed(floor, "private"), refund_address=EVM)
    before = await row_of(floor, order)
    floor.venue(before.legs[0]).move(f"{order.service_id}:in", LegStatus.FINISHED)
    await declined(floor, order, "out")
    await state(floor, order, looks=4)
    code = str((await row_of(floor, order)).detail["backCode"])
    floor.venue(code).move(floor.venue(code).opened[-1].key, LegStatus.FAILED)
    end = await state(floor, order)
    assert (end.status, end.action_required) == (6, True)


async def test_a_venue_that_keeps_a_deposit_is_left_to_support(floor: Floor) -> None:
    order = await floor.create(refund_address=EVM)
    await declined(floor, order, declined=False)
    end = await state(floor, order, looks=4)
    assert (end.status, end.action_required, end.rerouted) == (6, True, False)


@pytest.mark.parametrize("silent", ["the old one", "the new one"])
async def test_a_move_goes_on_after_silence_and_a_restart(floor: Floor, silent: str) -> None:
    order = await floor.create()
    old, key = await declined(floor, order)
    for _ in range(2):  # the deposit is seen, then the move is written down
        await floor.work()
    quiet = floor.venue(old if silent == "the old one" else "bb")
    quiet.trouble.silent = True
    await state(floor, order, looks=4)
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
    assert (await state(floor, order)).non_refundable is None
    first.move(f"{order.service_id}:in", LegStatus.SENDING)
    assert (await state(floor, order)).non_refundable is True
    promised = await create(floor, await fixed(floor, "private"), refund_address=EVM)
    row = await row_of(floor, promised)
    floor.venue(row.legs[0]).move(f"{promised.service_id}:in", LegStatus.FINISHED)
    assert (await state(floor, promised)).non_refundable is None, "what was sent can come back"
    floor.venue(row.legs[1]).move(f"{promised.service_id}:out", LegStatus.SENDING)
    assert (await state(floor, promised)).non_refundable is True

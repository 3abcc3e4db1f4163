"""A process that only answers beside one that only works, over one store."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta

import pytest

from patience import PATIENCE
from service.http_calls import calling
from service.new_store import changed, found
from service.orders_fixtures import (
    ALICE,
    BITCOIN,
    BTC,
    CHAINS,
    ETH,
    TOKENS,
    XMR,
    Floor,
    credentials,
    venues_at,
)
from swapdesk.clock import SystemClock
from swapdesk.service.app import Role, assemble, build_service, in_background
from swapdesk.service.orders.lifecycle import LEASE
from swapdesk.service.store.database import ClockDiffers, micros
from swapdesk.service.store.store import Store


async def test_a_group_is_set_up_by_another_process_before_it_is_answered(store: Store) -> None:
    """Its deposit addresses are in the answer (contract 9.3)."""
    given = (CHAINS, TOKENS, venues_at(), [ALICE], [XMR.id, BITCOIN.id])
    answers, works = (
        assemble(SystemClock(), random.Random(seed), store, *given) for seed in range(2)
    )
    app = build_service(answers, Role.ANSWERS)
    row = {"from": ETH.id, "to": BITCOIN.id, "amount": 0.5, "addressTo": BTC}
    async with (
        in_background(works, Role.WORKS),
        app.router.lifespan_context(app),
        calling(app, {"Authorization": credentials(ALICE)}) as api,
    ):
        told = (await api.post("/exchanges/multi", json={"orders": [row, row]})).json()
    assert all(each["order"]["depositAddress"] for each in told["orders"])


async def test_a_hint_to_a_process_that_only_answers_makes_its_order_due(floor: Floor) -> None:
    order, now = await floor.create(), floor.clock.now()
    await changed(floor.store, "UPDATE orders SET due_at = due_at + 3600000000")
    assert await floor.store.orders.next_due() >= now + timedelta(hours=1)
    passing_on = asyncio.create_task(floor.worker.pass_on())
    floor.worker.hint(order.service_id)
    async with asyncio.timeout(PATIENCE):
        while await floor.store.orders.next_due() != now:  # noqa: ASYNC110 - of the database
            await asyncio.sleep(0.002)
    passing_on.cancel()
    held = await floor.store.orders.claim_due(
        now, owner="another", lease_until=now + timedelta(seconds=1), limit=1
    )
    assert [each.service_id for each in held] == [order.service_id]


TOLERANCE = timedelta(seconds=30)


async def test_leases_are_by_the_clock_of_the_database(floor: Floor) -> None:
    """A clock that is ahead takes nothing early, one that is behind loses nothing, and one that
    is too far away works on nothing."""
    floor.clock.advance((SystemClock().now() - floor.clock.now()).total_seconds())
    await floor.create()
    now, lease = SystemClock().now(), timedelta(hours=1)
    orders = floor.store.orders

    async def claimed(ahead: timedelta) -> int:
        at = now + ahead
        asked = {"owner": f"{ahead}", "limit": 9, "tolerance": TOLERANCE}
        return len(await orders.claim_due(at, lease_until=at + lease, **asked))

    behind, ahead = timedelta(seconds=-20), timedelta(seconds=20)
    assert await claimed(behind) == 0, "it is not due there yet"
    await changed(floor.store, "UPDATE orders SET due_at = 0")
    assert await claimed(behind) == 1
    # As it would stand if its owner had been killed long ago, but for 10 s.
    await changed(floor.store, "UPDATE orders SET lease_until = lease_until - 3590000000")
    assert await claimed(ahead) == 0, "another one still works on it"
    await orders.renew(f"{behind}", now + behind, now + behind + lease, TOLERANCE)
    await changed(floor.store, "UPDATE orders SET lease_until = lease_until - 3600000000")
    for minutes, side in ((-10, "behind"), (10, "ahead of")):
        with pytest.raises(ClockDiffers, match=rf"this clock is \d+ s {side} the database's"):
            await claimed(timedelta(minutes=minutes))
    assert await claimed(ahead) == 1, "whoever had it is gone"


async def test_a_worker_keeps_its_lease_while_it_looks_and_leaves_it_when_it_ends(
    floor: Floor,
) -> None:
    """However long its venue takes nobody else begins, and then another one may at once."""
    await floor.create()
    floor.clock.advance(5.0)
    for venue in floor.adapters:
        venue.trouble.report_slowly = True
    working = asyncio.create_task(floor.worker.run())
    for _ in range(2):  # the claim, and a renewal
        async with asyncio.timeout(PATIENCE):
            while await lease_of(floor) != micros(floor.clock.now() + LEASE):
                floor.worker.hint("nobody")  # lets it go round
                await asyncio.sleep(0.002)
        floor.clock.advance(2.2)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert await lease_of(floor) is None


async def lease_of(floor: Floor) -> int | None:
    ((until,),) = await found(floor.store, "SELECT lease_until FROM orders")
    return until

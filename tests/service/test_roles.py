"""A process that only answers beside one that only works, over one store."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta

from patience import PATIENCE
from service.http_calls import calling
from service.new_store import changed
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
    assert await floor.store.orders.next_due() == now + timedelta(hours=1)
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

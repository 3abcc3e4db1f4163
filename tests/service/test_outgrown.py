"""A process whose database a newer release takes over: its support ends while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from manual_time import pass_seconds, rest
from patience import eventually
from service.http_calls import calling, code, running, small_service
from service.new_store import found
from service.orders_fixtures import venues_at
from service.quote_calls import finish
from service.test_orders_api import created, quote_of
from service.test_store import released_as
from service.venue import PlainVenue
from service.world import AS_FIRST, BTC_ADDRESS
from swapdesk.clock import ManualClock
from swapdesk.service.app import Role, build_service, in_background
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.store import schema
from swapdesk.service.store.schema import VERSION
from swapdesk.service.store.store import Store
from swapdesk.service.venues.adapter import LegStatus
from swapdesk.wire.orders import OrderStatusCode


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


async def standings(store: Store) -> dict[str, tuple[int, int]]:
    rows = await found(store, "SELECT service_id, status, version FROM orders")
    return {name: (status, version) for name, status, version in rows}


async def test_work_ends_and_leaves_no_half_order(
    service: ServiceParts,
    store: Store,
    clock: ManualClock,
    venue_list: list[PlainVenue],
    reopened: Callable[[], Awaitable[Store]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Neither the worker nor a call changes anything from then on, a create that is under way at
    its venue no more than others; the newer release goes on with all of it."""
    async with running(service, AS_FIRST) as api:
        first = (await created(api))["serviceId"]
        body = {"quoteId": await quote_of(api), "addressTo": BTC_ADDRESS}
        for venue in venue_list:
            venue.trouble.hang = True
        creating = asyncio.create_task(api.post("/exchanges", json=body))
        await rest()
        before = await standings(store)
        (begun,) = before.keys() - {first}
        await released_as(store, VERSION + 1, VERSION + 1)
        await pass_seconds(clock, 1)
        await eventually(lambda: service.readiness.outgrown is not None)
        standing = await api.get("/ready")
        assert (standing.status_code, standing.json()["database"]) == (503, "newer")
        for venue in venue_list:
            venue.trouble.hang = False
            venue.trouble.released.set()
        unavailable = (503, "SERVICE_UNAVAILABLE")
        assert code(await finish(clock, creating)) == unavailable
        assert code(await api.post("/exchanges", json=body)) == unavailable
        (venue,) = (
            each for each in venue_list if each.opened[:1] and each.opened[0].key == f"{first}:in"
        )
        venue.move(f"{first}:in", LegStatus.CONFIRMING)
        await pass_seconds(clock, 60)
    assert f"it has schema {VERSION + 1}, this release knows {VERSION}" in caplog.text
    monkeypatch.setattr(schema, "VERSION", VERSION + 1)
    newer = await reopened()
    assert await standings(newer) == before
    parts = small_service(clock, newer, venues=venue_list)
    await finish(clock, parts.worker.step(clock.now()))
    after = calling(build_service(parts), AS_FIRST)
    twin = await finish(clock, after.post("/exchanges", json=body))
    assert twin.json().get("serviceId") == begun, twin.text
    status, _ = (await standings(newer))[first]
    assert status > OrderStatusCode.WAITING
    legs = [leg.key for each in venue_list for leg in each.opened]
    assert sorted(legs) == sorted(f"{name}:in" for name in before)
    await newer.close()


@pytest.mark.parametrize("role", [Role.ANSWERS, Role.WORKS])
async def test_a_process_is_told_to_end_by_a_step_that_ends_its_support(
    service: ServiceParts, store: Store, clock: ManualClock, role: Role
) -> None:
    stop = asyncio.Event()
    async with in_background(service, role, stop):
        await released_as(store, VERSION + 1, VERSION)
        await pass_seconds(clock, 3)
        assert not stop.is_set(), "a neighbour is worked beside"
        await released_as(store, VERSION + 1, VERSION + 1)
        await pass_seconds(clock, 1)
        await eventually(stop.is_set)

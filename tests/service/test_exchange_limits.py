"""What counts as an exchange: one that begins (contract 2.10)."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from service.orders_fixtures import venues_at
from service.test_orders_api import quote_of
from service.venue import PlainVenue
from service.world import AS_FIRST, BTC_ADDRESS, FIRST
from swapdesk.clock import ManualClock
from swapdesk.service.access import Partner
from swapdesk.wire.account import RateWindows

READS = 12


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


@pytest.fixture
def partner_list() -> list[Partner]:
    """The first partner may begin two exchanges and send twelve requests a minute."""
    limited = replace(
        FIRST,
        exchange_limits=RateWindows(per_minute=2, per_hour=3, per_day=9),
        read_limits=RateWindows(per_minute=READS, per_hour=99, per_day=99),
    )
    return [limited]


async def body(api: httpx2.AsyncClient) -> dict[str, Any]:
    return {"quoteId": await quote_of(api), "addressTo": BTC_ADDRESS}


async def create(api: httpx2.AsyncClient, wanted: dict[str, Any]) -> tuple[int, str]:
    """The status of a create, and how many exchanges the minute has left."""
    answer = await api.post("/exchanges", json=wanted)
    return answer.status_code, answer.headers["ratelimit-remaining"]


async def test_what_is_refused_or_repeated_begins_none(
    api: httpx2.AsyncClient, clock: ManualClock
) -> None:
    first, second, third = [await body(api) for _ in range(3)]
    assert await create(api, {**first, "addressTo": "nobody"}) == (422, "2")
    assert await create(api, {}) == (422, "2")
    assert await create(api, {**first, "quoteId": "0" * 24}) == (422, "2")
    assert await create(api, first) == (200, "1")
    assert await create(api, first) == (200, "1")
    assert await create(api, second) == (200, "0")
    refused = await api.post("/exchanges", json=third)
    assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert refused.json()["message"].startswith("The exchange limit of 2")
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert await create(api, second) == (200, "0"), "the outcome is told while the window is full"
    clock.advance(float(refused.headers["retry-after"]))
    assert (await create(api, third))[0] == 200, "the quote was not used up"


async def test_one_that_no_venue_opens_has_begun(
    api: httpx2.AsyncClient, venue_list: list[PlainVenue]
) -> None:
    wanted = await body(api)
    for venue in venue_list:
        venue.trouble.reject = True
    assert await create(api, wanted) == (502, "1")
    assert await create(api, wanted) == (502, "1")


async def test_of_many_at_once_exactly_the_limit_begins(api: httpx2.AsyncClient) -> None:
    bodies = [await body(api) for _ in range(6)]
    answers = await asyncio.gather(*(api.post("/exchanges", json=each) for each in bodies))
    codes = sorted(answer.status_code for answer in answers)
    assert codes == [200, 200, 429, 429, 429, 429]


async def test_requests_that_begin_none_are_bounded_too(
    api: httpx2.AsyncClient, clock: ManualClock
) -> None:
    for _ in range(READS):
        assert await create(api, {}) == (422, "2")
    refused = await api.post("/exchanges", json={}, headers=AS_FIRST)
    assert (refused.status_code, refused.json()["code"]) == (429, "RATE_LIMIT_EXCEEDED")
    assert "retry-after" in refused.headers
    assert (await api.get("/chains")).status_code == 200, "reads are counted apart"

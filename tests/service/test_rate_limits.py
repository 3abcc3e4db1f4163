"""``GET /rateLimits``: the effective limits, and a count that survives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from service.http_calls import running
from service.world import AS_FREE, AS_SECOND, BY_PARTNER_ID, FIRST
from swapdesk.clock import ManualClock
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.rate_limits import RequestCounter
from swapdesk.service.store.records import StoreUnavailable
from swapdesk.service.store.sqlite import SqliteStore


async def counted(api: httpx2.AsyncClient, headers: dict[str, str] | None = None) -> int:
    answer = await api.get("/rateLimits", headers=headers)
    assert answer.status_code == 200
    return answer.json()["monthlyRequestCount"]


async def test_limits_of_the_partner(api: httpx2.AsyncClient) -> None:
    assert (await api.get("/rateLimits")).json() == {
        "monthlyRequestCount": 1,
        "quote": {"perMinute": 500, "perHour": 2000, "perDay": 5000},
        "exchange": {"perMinute": 50, "perHour": 500, "perDay": 2000},
    }
    assert (await api.get("/rateLimits", headers=AS_FREE)).json() == {
        "monthlyRequestCount": 1,
        "quote": {"perMinute": 5, "perHour": 20, "perDay": 50},
        "exchange": {"perMinute": 1, "perHour": 5, "perDay": 10},
    }


async def test_authenticated_requests_are_counted(
    api: httpx2.AsyncClient, anyone: httpx2.AsyncClient
) -> None:
    await api.get("/chains")
    await api.get("/tokens", params={"page": "x"})
    await anyone.get("/chains", headers=BY_PARTNER_ID)
    assert await counted(api) == 4
    await anyone.get("/chains")
    await anyone.get("/health")
    await anyone.get("/nothing")
    await api.get("/chains", headers={"Authorization": "first-key:wrong"})
    await api.get("/chains", headers=AS_SECOND)
    assert await counted(api) == 5
    assert await counted(api, AS_SECOND) == 2


async def test_the_count_begins_anew_with_the_month(
    store: SqliteStore,
) -> None:
    clock = ManualClock(datetime(2026, 11, 30, 23, 59, 50, tzinfo=UTC))
    counter = RequestCounter(store, clock)
    counter.count(FIRST)
    assert await counter.in_month(FIRST) == 1
    clock.advance(20)
    assert await counter.in_month(FIRST) == 0
    counter.count(FIRST)
    await counter.flush()
    assert await store.requests_in_month(FIRST.partner_id, "2026-11") == 1
    assert await store.requests_in_month(FIRST.partner_id, "2026-12") == 1


async def test_written_and_unwritten_requests_are_added(
    store: SqliteStore, clock: ManualClock
) -> None:
    counter = RequestCounter(store, clock)
    for _ in range(3):
        counter.count(FIRST)
    await counter.flush()
    await counter.flush()
    counter.count(FIRST)
    assert await counter.in_month(FIRST) == 4
    assert await store.requests_in_month(FIRST.partner_id, "2026-11") == 3


async def test_a_clean_shutdown_writes_the_count(service: ServiceParts, store: SqliteStore) -> None:
    async with running(service, BY_PARTNER_ID) as api:
        for _ in range(7):
            await api.get("/chains")
    assert await store.requests_in_month(FIRST.partner_id, "2026-11") == 7


class FaintStore(SqliteStore):
    """A store that does not answer the first time something is added."""

    faint = True

    async def add_requests(self, month: str, counts: dict[str, int]) -> None:
        if self.faint:
            raise StoreUnavailable
        await super().add_requests(month, counts)


@pytest.fixture
async def faint(tmp_path: Any) -> AsyncIterator[FaintStore]:
    opened = FaintStore.open(tmp_path / "faint.db")
    assert isinstance(opened, FaintStore)
    yield opened
    await opened.close()


async def test_what_could_not_be_written_is_kept(faint: FaintStore, clock: ManualClock) -> None:
    counter = RequestCounter(faint, clock)
    counter.count(FIRST)
    with pytest.raises(StoreUnavailable):
        await counter.flush()
    counter.count(FIRST)
    assert await counter.in_month(FIRST) == 2
    faint.faint = False
    await counter.flush()
    assert await faint.requests_in_month(FIRST.partner_id, "2026-11") == 2

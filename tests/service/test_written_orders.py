"""Order details that were written once: told again only while they are still true."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from service.orders_fixtures import venues_at
from service.valid import require_valid
from service.venue import PlainVenue
from service.world import AS_SECOND, BTC, BTC_ADDRESS, ETH, FIRST
from swapdesk.clock import ManualClock
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.orders.presentation import delete_order
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.store.sqlite import SqliteStore
from swapdesk.wire.tokens import ScanResult, TokenSecurityScan


class CountingStore(SqliteStore):
    """Counts the whole rows of orders that are read."""

    rows_read = 0

    async def get_order(self, partner_id: str, service_id: str) -> StoredOrder | None:
        self.rows_read += 1
        return await super().get_order(partner_id, service_id)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = CountingStore.open(tmp_path / "service.db")
    yield opened
    await opened.close()


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


@pytest.fixture
async def order(api: httpx2.AsyncClient) -> dict[str, Any]:
    """An order whose details were asked for twice."""
    query = {"amount": "0.5", "from": ETH.id, "to": BTC.id, "types": "standard"}
    quote = (await api.get("/quotes", params=query)).json()["quotes"][0]["quoteId"]
    body = {"quoteId": quote, "addressTo": BTC_ADDRESS}
    service_id = (await api.post("/exchanges", json=body)).json()["serviceId"]
    for _ in range(2):
        answer = await api.get(f"/orders/{service_id}")
    return answer.json()


async def test_a_whole_row_is_read_once_for_a_version(
    api: httpx2.AsyncClient, order: dict[str, Any], store: CountingStore
) -> None:
    store.rows_read = 0
    for _ in range(3):
        assert (await api.get(f"/orders/{order['serviceId']}")).json() == order
    assert store.rows_read == 0


async def test_another_verdict_of_its_token_is_told_at_once(
    api: httpx2.AsyncClient, order: dict[str, Any], service: ServiceParts, clock: ManualClock
) -> None:
    until = clock.now() + timedelta(days=1)
    verdict = TokenSecurityScan(
        result_type=ScanResult.WARNING, scanned_at=clock.now(), expires_at=until
    )
    service.catalog.put_scan(ETH.id, verdict)
    told = (await api.get(f"/orders/{order['serviceId']}")).json()
    assert told["inToken"]["securityScan"]["resultType"] == "Warning"


async def test_nobody_else_reads_what_was_written(
    api: httpx2.AsyncClient, order: dict[str, Any]
) -> None:
    answer = await api.get(f"/orders/{order['serviceId']}", headers=AS_SECOND)
    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


async def test_of_a_deleted_order_its_state_alone_is_left(
    api: httpx2.AsyncClient, order: dict[str, Any], service: ServiceParts, clock: ManualClock
) -> None:
    row = await service.store.get_order(FIRST.partner_id, order["serviceId"])
    assert await delete_order(service.store, row, clock.now())
    left = {
        "serviceId": order["serviceId"],
        "status": 8,
        "statusLabel": "DELETED",
        "displayStatus": "DELETED",
    }
    assert (await api.get(f"/orders/{order['serviceId']}")).json() == left
    assert (await api.get("/orders")).json()["orders"] == [left]
    require_valid((await api.get("/openapi.json")).json(), "Order", left)

"""A whole session of three partners: every answer is what the served document states."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from service.http_calls import calling
from service.orders_fixtures import venues_at
from service.test_orders_api import created
from service.valid import HeldAnswers
from service.venue import PlainVenue
from service.world import AS_FIRST, AS_FREE, AS_SECOND, BTC, ETH
from swapdesk.service.app import build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.orders.states import display, rank
from swapdesk.wire.encoding.timestamps import rfc3339
from swapdesk.wire.orders import LegStatus, OrderStatusCode

PARTNERS = (AS_FIRST, AS_SECOND, AS_FREE)


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


@pytest.fixture
async def held(
    service: ServiceParts,
) -> AsyncIterator[tuple[list[httpx2.AsyncClient], HeldAnswers]]:
    """A client of each partner."""
    app = build_service(service)
    async with calling(app, AS_FIRST) as client:
        held = HeldAnswers((await client.get("/openapi.json")).json())
    hooks = {"response": [held.later]}
    clients = [calling(app, each, event_hooks=hooks) for each in PARTNERS]
    yield clients, held
    for client in clients:
        await client.aclose()


READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("/health", {}),
    ("/openapi.json", {}),
    ("/chains", {}),
    ("/tokens", {"pageSize": 5}),
    (f"/tokens/{ETH.id}", {}),
    ("/swaps", {}),
    ("/minMax", {"tokenIdFrom": ETH.id, "tokenIdTo": BTC.id}),
    ("/quotes", {"amount": "0.5", "from": ETH.id, "to": BTC.id}),
    ("/quotes/private-send", {"amount": "0.5", "from": ETH.id}),
    ("/rateLimits", {}),
    ("/commissions/summary", {}),
    ("/stats/volume", {}),
    ("/stats/weeklyVolume", {}),
    ("/stats/chart", {"metric": "volume", "granularity": "day"}),
    ("/orders", {}),
    ("/orders/nobodysorder1234567890", {}),
    ("/exchanges/multi/nogroup", {}),
    ("/quotes", {"amount": "x"}),
)


async def test_every_answer_is_what_the_document_states(
    held: tuple[list[httpx2.AsyncClient], HeldAnswers], service: ServiceParts
) -> None:
    clients, answers = held
    for client in clients:
        for path, query in READS:
            await client.get(path, params=query)
        for path in ("/exchanges", "/exchanges/private-send", "/exchanges/multi", "/dex/approve"):
            await client.post(path, json={})
    states = 0
    for client, partner in zip(clients[:2], ("partner-first", "partner-second"), strict=True):
        for kind in ("standard", "private"):
            name = (await created(client, kind=kind))["serviceId"]
            for status in OrderStatusCode:
                for leg in LegStatus:
                    row = await service.store.get_order(partner, name)
                    out = leg if row.route == "private" else None
                    shown = display(status, leg, out, row.route)
                    moved = replace(
                        row,
                        status=int(status),
                        in_status=int(leg),
                        out_status=None if out is None else int(out),
                        display_status=shown.value,
                        rank=max(row.rank, rank(shown)),
                        due_at=None,
                        detail={**row.detail, "finished": rfc3339(row.created)},
                    )
                    if not await service.store.advance_order(moved, expected_version=row.version):
                        continue
                    states += 1
                    assert (await client.get(f"/orders/{name}")).status_code == 200
            assert (await client.get("/orders")).json()["total"] >= 1
    assert states > 100
    good = {(method, path) for method, path, status in answers.seen if status == 200}
    assert len(good) >= 15

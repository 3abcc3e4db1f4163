"""One partner never sees a byte of another (reliability: partner isolation)."""

from __future__ import annotations

import json

import httpx2
import pytest

from service.orders_fixtures import BTC as BTC_ADDRESS
from service.orders_fixtures import venues_at
from service.quote_calls import stored_quote
from service.test_orders_api import created, quote_of, without_id
from service.venue import PlainVenue
from service.world import AS_SECOND, BTC, ETH
from swapdesk.service.handlers import ServiceParts

UNKNOWN = "zzzzzzzzzzzzzzzzzzzzzz"


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


@pytest.fixture
async def secrets(api: httpx2.AsyncClient) -> list[str]:
    """What belongs to the first partner alone."""
    found = []
    for kind in ("standard", "private"):
        order = await created(api, kind=kind)
        found += [order["serviceId"], order["id"], order["depositAddress"]]
    return found


@pytest.mark.proves("code NOT_FOUND", "input get_order serviceId")
async def test_details_of_a_foreign_order_are_those_of_none(
    api: httpx2.AsyncClient, secrets: list[str]
) -> None:
    for service_id in (secrets[0], secrets[3]):
        foreign = await api.get(f"/orders/{service_id}", headers=AS_SECOND)
        unknown = await api.get(f"/orders/{UNKNOWN}", headers=AS_SECOND)
        assert foreign.status_code == 404
        assert without_id(foreign) == without_id(unknown)


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"status": "0"},
        {"anonymous": "true"},
        {"anonymous": "false"},
        {"inTokenId": ETH.id},
        {"outTokenId": BTC.id},
        {"from": "2020-01-01", "to": "2030-01-01"},
        {"sortBy": "amount"},
        {"sortBy": "updated", "sortOrder": "asc"},
        {"pageSize": "1", "page": "1"},
        {"pageSize": "1", "page": "2"},
        {"multiId": UNKNOWN},
    ],
)
async def test_no_filter_of_the_list_shows_foreign_orders(
    api: httpx2.AsyncClient, secrets: list[str], query: dict[str, str]
) -> None:
    answer = await api.get("/orders", params=query, headers=AS_SECOND)
    assert answer.json() == {"orders": [], "total": 0, "totalPages": 0}
    own = await api.get("/orders", params=query)
    assert (own.json()["total"] > 0) == ("multiId" not in query)


async def test_a_foreign_quote_is_no_quote(
    api: httpx2.AsyncClient, service: ServiceParts, venue_list: list[PlainVenue]
) -> None:
    quote_id = await quote_of(api)
    answers = [
        await api.post(path, json={"quoteId": used, "addressTo": BTC_ADDRESS}, headers=AS_SECOND)
        for path in ("/exchanges", "/exchanges/private-send")
        for used in (quote_id, "f" * 24)
    ]
    assert {answer.status_code for answer in answers} == {422}
    assert len({json.dumps(without_id(answer)[2]) for answer in answers}) == 1
    assert len({without_id(answer)[1] for answer in answers}) == 1
    assert sum(len(venue.opened) for venue in venue_list) == 0
    stored = await stored_quote(service, quote_id)
    assert stored.consumed_by is None, "and it is still good for its owner"
    body = {"quoteId": quote_id, "addressTo": BTC_ADDRESS}
    assert (await api.post("/exchanges", json=body)).status_code == 200
    again = await api.post("/exchanges", json=body, headers=AS_SECOND)
    assert without_id(again)[1] == without_id(answers[0])[1]


async def test_a_foreign_quote_tells_nothing_by_its_addresses(api: httpx2.AsyncClient) -> None:
    quote_id = await quote_of(api)
    body = {"quoteId": quote_id, "addressTo": "not-an-address"}
    foreign = await api.post("/exchanges", json=body, headers=AS_SECOND)
    body["quoteId"] = "f" * 24
    unknown = await api.post("/exchanges", json=body, headers=AS_SECOND)
    assert without_id(foreign) == without_id(unknown)

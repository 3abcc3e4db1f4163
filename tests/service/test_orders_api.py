"""Orders over HTTP: create, details, list, the 48-hour window (contract 8.1, 8.18 to 8.21)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from rows import each_row
from service.http_calls import declined
from service.orders_fixtures import venues_at
from service.quote_calls import stored_quote
from service.valid import require_valid
from service.venue import PlainVenue
from service.world import AS_SECOND, BTC, BTC_ADDRESS, ETH, FIRST, SOL, UNKNOWN
from swapdesk.clock import ManualClock
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.orders.presentation import delete_order
from swapdesk.service.store.orders import Orders
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.store.store import Store
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.encoding.timestamps import rfc3339
from swapdesk.wire.orders import LegStatus, Order
from swapdesk.wire.tokens import ScanResult, TokenSecurityScan


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


async def quote_of(
    api: httpx2.AsyncClient, *, amount: str = "0.5", kind: str = "standard", token: str = ETH.id
) -> str:
    answer = (
        await api.get(
            "/quotes", params={"amount": amount, "from": token, "to": BTC.id, "types": kind}
        )
    ).raise_for_status()
    return answer.json()["quotes"][0]["quoteId"]


async def created(
    api: httpx2.AsyncClient, *, amount: str = "0.5", kind: str = "standard", token: str = ETH.id
) -> dict[str, Any]:
    quote_id = await quote_of(api, amount=amount, kind=kind, token=token)
    body = {"quoteId": quote_id, "addressTo": BTC_ADDRESS}
    answer = (await api.post("/exchanges", json=body)).raise_for_status()
    return json.loads(answer.content, parse_float=str, parse_int=str)


async def listed(api: httpx2.AsyncClient, **query: Any) -> tuple[list[str], int, int]:
    answer = (await api.get("/orders", params=query)).raise_for_status()
    body = answer.json()
    return [o["serviceId"] for o in body["orders"]], body["total"], body["totalPages"]


@pytest.mark.proves("input get_order serviceId")
async def test_create_details_and_list_give_the_same_object(api: httpx2.AsyncClient) -> None:
    for kind in ("standard", "private"):
        body = {"quoteId": await quote_of(api, kind=kind), "addressTo": BTC_ADDRESS}
        first = await api.post("/exchanges", json=body)
        service_id = first.json()["serviceId"]
        details = await api.get(f"/orders/{service_id}")
        assert details.content == first.content
        (row,) = [
            o for o in (await api.get("/orders")).json()["orders"] if o["serviceId"] == service_id
        ]
        assert row == details.json()
        repeated = await api.post("/exchanges", json=body)
        assert repeated.content == first.content
        order = decode(Order, details.content, side="client")
        assert order.in_token.chain_data.short_name == "ethereum"
        assert "receiverTag" in details.json()
        assert details.json()["receiverTag"] is None
        for absent in (
            "metadata",
            "multiId",
            "depositTag",
            "refundHash",
            "orderFinishedReceived",
            "isX402",
        ):
            assert absent not in details.json()


async def test_an_order_ends_48_hours_after_its_creation_to_the_millisecond(
    api: httpx2.AsyncClient, clock: ManualClock
) -> None:
    clock.advance(0.0004)
    order = await created(api)
    path = f"/orders/{order['serviceId']}"
    clock.advance(48 * 3600 - 0.0004)
    assert (await api.get(path)).status_code == 200
    assert (await listed(api))[1] == 1
    clock.advance(0.001)
    gone = await api.get(path)
    unknown = await api.get("/orders/" + "x" * 22)
    assert gone.status_code == unknown.status_code == 404
    assert without_id(gone) == without_id(unknown)
    assert (await listed(api)) == ([], 0, 0)
    assert (await listed(api, **{"from": "2020-01-01"})) == ([], 0, 0), "the window clamps"


OF_EVERY_CALL = ("x-request-id", "date", "ratelimit-remaining", "ratelimit-reset")
"""Headers that differ from call to call: the id, the time, and the caller's own count."""


def without_id(answer: httpx2.Response) -> tuple[int, bytes, dict[str, str]]:
    body = answer.content.replace(answer.json()["requestId"].encode(), b"")
    headers = {k: v for k, v in answer.headers.items() if k not in OF_EVERY_CALL}
    return answer.status_code, body, headers


@pytest.mark.proves(
    "input list_orders page",
    "input list_orders pageSize",
    "input list_orders multiId",
    "input list_orders status",
    "input list_orders from",
    "input list_orders to",
    "input list_orders sortBy",
    "input list_orders sortOrder",
    "input list_orders anonymous",
    "input list_orders inTokenId",
    "input list_orders outTokenId",
)
async def test_lists_filter_sort_and_page(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, venue_list: list[PlainVenue]
) -> None:
    plan = [
        ("0.5", "standard", ETH.id),
        ("0.7", "private", ETH.id),
        ("20", "standard", SOL.id),
        ("0.6", "standard", ETH.id),
        ("30", "private", SOL.id),
    ]
    orders = []
    for amount, kind, token in plan:
        orders.append(await created(api, amount=amount, kind=kind, token=token))
        clock.advance(10)
    ids = [order["serviceId"] for order in orders]
    assert (await listed(api)) == (ids[::-1], 5, 1)
    assert (await listed(api, sortOrder="asc"))[0] == ids
    assert (await listed(api, anonymous="true", sortOrder="asc"))[0] == [ids[1], ids[4]]
    assert (await listed(api, anonymous="false", sortOrder="asc"))[0] == [ids[0], ids[2], ids[3]]
    assert (await listed(api, inTokenId=SOL.id.upper(), sortOrder="asc"))[0] == [ids[2], ids[4]]
    assert (await listed(api, outTokenId=SOL.id))[1] == 0
    assert (await listed(api, outTokenId=BTC.id.upper())) == (ids[::-1], 5, 1)
    both = {"inTokenId": SOL.id, "outTokenId": BTC.id, "anonymous": "true"}
    assert (await listed(api, **both)) == ([ids[4]], 1, 1)
    assert (await listed(api, sortBy="created", sortOrder="desc"))[0] == ids[::-1]
    by_amount = await listed(api, sortBy="amount", sortOrder="asc")
    assert by_amount[0] == [ids[0], ids[3], ids[1], ids[2], ids[4]]
    assert (await listed(api, pageSize=2, page=2, sortOrder="asc")) == (ids[2:4], 5, 3)
    assert (await listed(api, pageSize=2, page=3, sortOrder="asc")) == (ids[4:], 5, 3)
    assert (await listed(api, pageSize=2, page=4, sortOrder="asc")) == ([], 5, 3)
    edges = {"from": orders[1]["created"], "to": orders[3]["created"], "sortOrder": "asc"}
    assert (await listed(api, **edges))[0] == ids[1:4]
    assert (await listed(api, multiId="x" * 22)) == ([], 0, 0)
    venue_list[0].move(f"{ids[0]}:in", LegStatus.FINISHED)
    clock.advance(10)
    await service.worker.step(clock.now())  # type: ignore[attr-defined]
    assert (await listed(api, status=4))[0] == [ids[0]]
    assert (await listed(api, status=["4", "0"]))[1] == 5
    assert (await listed(api, status=5))[1] == 0
    assert (await listed(api, sortBy="updated"))[0][0] == ids[0]


@pytest.mark.proves("input list_orders from", "input list_orders to")
async def test_from_after_to_is_refused(api: httpx2.AsyncClient, clock: ManualClock) -> None:
    moment = rfc3339(clock.now())
    later = rfc3339(clock.now() + timedelta(milliseconds=1))
    await declined(api.get("/orders", params={"from": later, "to": moment}), field="from")
    assert (await api.get("/orders", params={"from": moment, "to": moment})).status_code == 200


@pytest.mark.parametrize("dialect", Dialect)
async def test_each_dialect_says_that_a_recipient_is_a_deposit_address(
    api: httpx2.AsyncClient, dialect: Dialect
) -> None:
    quote_id = await quote_of(api)
    sent = {"quoteId": quote_id, "addressTo": BTC_ADDRESS}
    deposit = (await api.post("/exchanges", json=sent)).json()["depositAddress"]
    params = {"amount": "0.05", "from": BTC.id, "to": ETH.id, "types": "standard"}
    quote = (await api.get("/quotes", params=params)).json()["quotes"][0]["quoteId"]
    answer = await api.post("/exchanges", json={"quoteId": quote, "addressTo": deposit.lower()})
    body = answer.json()
    assert answer.status_code == 422
    if dialect is Dialect.VENDOR:
        assert (body["code"], body["fields"]) == ("ADDRESS_TO_IN_DEPOSIT_LOG", {})
    else:
        assert (body["code"], body["fields"].keys()) == ("VALIDATION_ERROR", {"addressTo"})
    sent = {"quoteId": await quote_of(api), "addressTo": BTC_ADDRESS, "refundAddress": deposit}
    refused = (await api.post("/exchanges", json=sent)).json()
    assert (refused["code"], refused["fields"].keys()) == ("VALIDATION_ERROR", {"refundAddress"})


# One partner never sees a byte of another


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
    """Also of details that were written once for their owner."""
    for service_id in (secrets[0], secrets[3]):
        for _ in range(2):
            assert (await api.get(f"/orders/{service_id}")).status_code == 200
        foreign = await api.get(f"/orders/{service_id}", headers=AS_SECOND)
        unknown = await api.get(f"/orders/{UNKNOWN}", headers=AS_SECOND)
        assert foreign.status_code == 404
        assert without_id(foreign) == without_id(unknown)


@each_row(
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
        await api.post(path, json={"quoteId": used, "addressTo": to}, headers=AS_SECOND)
        for path in ("/exchanges", "/exchanges/private-send")
        for used in (quote_id, "f" * 24)
        for to in (BTC_ADDRESS, "not-an-address")
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


# Order details that were written once: told again only while they are still true


class CountingOrders(Orders):
    """Counts the whole rows of orders that are read."""

    rows_read = 0

    async def get(self, partner_id: str, service_id: str) -> StoredOrder | None:
        self.rows_read += 1
        return await super().get(partner_id, service_id)


@pytest.fixture
async def order(api: httpx2.AsyncClient) -> dict[str, Any]:
    """An order whose details were asked for twice."""
    service_id = (await created(api))["serviceId"]
    for _ in range(2):
        answer = await api.get(f"/orders/{service_id}")
    return answer.json()


async def test_a_whole_row_is_read_once_for_a_version(
    api: httpx2.AsyncClient, order: dict[str, Any], store: Store
) -> None:
    store.orders = counting = CountingOrders(store.database)
    for _ in range(3):
        assert (await api.get(f"/orders/{order['serviceId']}")).json() == order
    assert counting.rows_read == 0


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


async def test_of_a_deleted_order_its_state_alone_is_left(
    api: httpx2.AsyncClient, order: dict[str, Any], service: ServiceParts, clock: ManualClock
) -> None:
    row = await service.store.orders.get(FIRST.partner_id, order["serviceId"])
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

"""Every error code of the service, raised over HTTP with its exact body."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from service.price_venue import PriceVenue
from service.world import AS_FREE, AS_READER, BTC, BY_PARTNER_ID, DISABLED, ETH, UNKNOWN_TOKEN
from swapdesk.clock import ManualClock
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.store.protocol import StoreUnavailable
from swapdesk.service.store.sqlite import SqliteStore
from swapdesk.service.venues.adapter import (
    CentralizedVenue,
    DepositAddressesInUse,
    DepositInstruction,
    LegOrder,
    VenueTraits,
)
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import STATUS_OF, ErrorCode
from swapdesk.wire.operations import BODY_LIMIT, OPERATIONS

RECEIVER = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F"
REFUND = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
JSON = {"content-type": "application/json"}
Way = Callable[[httpx.AsyncClient], Awaitable[httpx.Response]]


class MoodyStore(SqliteStore):
    """A store whose count of requests fails in the way a test asks for."""

    failure: Exception | None = None

    async def requests_in_month(self, partner_id: str, month: str) -> int:
        if self.failure is not None:
            raise self.failure
        return await super().requests_in_month(partner_id, month)


@pytest.fixture
async def store(tmp_path: Any) -> AsyncIterator[SqliteStore]:
    opened = MoodyStore.open(tmp_path / "service.db")
    yield opened
    await opened.close()


def quotes(amount: str, from_: str = BTC.id) -> Way:
    parameters = {"amount": amount, "from": from_, "to": ETH.id}
    return lambda api: api.get("/quotes", params=parameters)


async def no_venue_opens(api: httpx.AsyncClient) -> httpx.Response:
    """The venues of this world price and refuse to open."""
    quoted = (await quotes("0.5")(api)).json()["quotes"][0]
    body = {"quoteId": quoted["quoteId"], "addressTo": RECEIVER}
    return await api.post("/exchanges", json=body)


def from_a_fixed_quote(code: str) -> Way:
    """A create from a fixed quote of one venue."""

    async def create(api: httpx.AsyncClient) -> httpx.Response:
        parameters = {"amount": "0.5", "from": BTC.id, "to": ETH.id, "fixed": "true"}
        answer = await api.get("/quotes", params={**parameters, "swaps": code})
        (quoted,) = answer.json()["quotes"]
        body = {"quoteId": quoted["quoteId"], "addressTo": RECEIVER, "refundAddress": REFUND}
        return await api.post("/exchanges", json=body)

    return create


async def too_many(api: httpx.AsyncClient) -> httpx.Response:
    """One quote more in a minute than the free tier has."""
    for _ in range(5):
        await api.get("/quotes", headers=AS_FREE)
    return await api.get("/quotes", headers=AS_FREE)


class FullVenue(PriceVenue):
    """All its static deposit addresses are held."""

    async def open(self, leg: LegOrder) -> DepositInstruction:
        raise DepositAddressesInUse("no address is free")


@pytest.fixture
def venue_list(
    aa: PriceVenue, bb: PriceVenue, cc: PriceVenue, clock: ManualClock
) -> list[CentralizedVenue]:
    fixed = VenueTraits(fixed=True, static_deposits=True)
    late = PriceVenue("late", traits=fixed, rates_until=clock.now())
    return [aa, bb, cc, late, FullVenue("full", traits=fixed)]


WAYS: dict[ErrorCode, Way] = {
    ErrorCode.FIXED_RATE_NOT_ALLOWED: lambda api: api.get(
        "/quotes",
        params={"amount": "0.5", "from": BTC.id, "to": ETH.id, "fixed": "true"},
        headers=AS_FREE,
    ),
    ErrorCode.FIXED_RATE_QUOTE_EXPIRED: from_a_fixed_quote("late"),
    ErrorCode.STATIC_DEPOSIT_IN_USE: from_a_fixed_quote("full"),
    ErrorCode.RATE_LIMIT_EXCEEDED: too_many,
    ErrorCode.BAD_REQUEST: lambda api: api.post("/exchanges", content=b"[]", headers=JSON),
    ErrorCode.INVALID_API_CREDENTIALS: lambda api: api.get(
        "/chains", headers={"Authorization": "nobody:nothing"}
    ),
    ErrorCode.PARTNER_ID_NOT_SUPPORTED: lambda api: api.get("/orders", headers=BY_PARTNER_ID),
    ErrorCode.ACCESS_DENIED: lambda api: api.post("/exchanges", json={}, headers=AS_READER),
    ErrorCode.NOT_FOUND: lambda api: api.get("/orders/unknown"),
    ErrorCode.TOKEN_NOT_FOUND: quotes("1", UNKNOWN_TOKEN),
    ErrorCode.TOKEN_DISABLED: quotes("1", DISABLED.id),
    ErrorCode.METHOD_NOT_ALLOWED: lambda api: api.delete("/exchanges"),
    ErrorCode.PAYLOAD_TOO_LARGE: lambda api: api.post(
        "/exchanges", content=b" " * (BODY_LIMIT + 1), headers=JSON
    ),
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: lambda api: api.post("/exchanges", content=b"{}"),
    ErrorCode.VALIDATION_ERROR: quotes("NaN"),
    ErrorCode.AMOUNT_TOO_LOW: quotes("0.00000001"),
    ErrorCode.QUOTE_OVER_LIMIT: quotes("1000"),
    ErrorCode.INVALID_SWAP: lambda api: api.post(
        "/exchanges", json={"quoteId": "0" * 24, "addressTo": RECEIVER}
    ),
    ErrorCode.PROVIDER_EXCHANGE_FAILED: no_venue_opens,
    ErrorCode.INTERNAL_SERVER_ERROR: lambda api: api.get("/rateLimits"),
    ErrorCode.SERVICE_UNAVAILABLE: lambda api: api.get("/rateLimits"),
}


def test_every_code_has_a_way() -> None:
    assert set(ErrorCode) == set(WAYS)
    assert set(STATUS_OF) == set(ErrorCode)


@pytest.mark.parametrize("code", WAYS)
async def test_error(
    api: httpx.AsyncClient, anyone: httpx.AsyncClient, store: MoodyStore, code: ErrorCode
) -> None:
    if code is ErrorCode.INTERNAL_SERVER_ERROR:
        store.failure = KeyError("detail")
    if code is ErrorCode.SERVICE_UNAVAILABLE:
        store.failure = StoreUnavailable("detail")
    client = anyone if code is ErrorCode.PARTNER_ID_NOT_SUPPORTED else api
    answer = await WAYS[code](client)
    body = answer.json()
    assert (answer.status_code, body["code"]) == (STATUS_OF[code], code)
    assert answer.headers["content-type"] == "application/json"
    wanted = {"message", "code", "requestId"} | ({"fields"} if answer.status_code == 422 else set())
    assert body.keys() == wanted
    assert body["message"]
    assert body["requestId"] == answer.headers["x-request-id"]
    assert "detail" not in answer.text
    for problem in body.get("fields", {}).values():
        assert problem.keys() <= {"message", "value"}
        assert problem["message"]


async def test_documented_codes_are_those_raised() -> None:
    """Beyond the one that belongs to no row, every code stands in the table."""
    rowless = {ErrorCode.METHOD_NOT_ALLOWED}
    documented = {code for operation in OPERATIONS for code in operation.errors}
    assert documented == set(ErrorCode) - rowless


def test_a_422_always_has_fields() -> None:
    error = ServiceError(ErrorCode.INVALID_SWAP, "The quote is not known.")
    assert encode_json(error.body("an-id")) == (
        b'{"message":"The quote is not known.","code":"INVALID_SWAP","requestId":"an-id",'
        b'"fields":{}}'
    )


def test_a_field_has_a_value_only_when_one_was_sent() -> None:
    with_value = invalid("amount", "must be a number", "x").body("an-id")
    without = invalid("amount", "is required").body("an-id")
    assert b'"fields":{"amount":{"message":"must be a number","value":"x"}}' in encode_json(
        with_value
    )
    assert b'"fields":{"amount":{"message":"is required"}}' in encode_json(without)


def test_other_errors_have_no_fields() -> None:
    body = encode_json(ServiceError(ErrorCode.NOT_FOUND, "Nothing.").body("an-id"))
    assert b"fields" not in body


async def test_messages_are_sentences(api: httpx.AsyncClient) -> None:
    for way in (WAYS[ErrorCode.NOT_FOUND], WAYS[ErrorCode.AMOUNT_TOO_LOW]):
        message = (await way(api)).json()["message"]
        assert re.fullmatch(r"[A-Z].*\.", message)

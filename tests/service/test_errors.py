"""Every error code of every operation that documents it, raised over HTTP with its exact body."""

from __future__ import annotations

import re
import uuid

import httpx2
import pytest

from service.error_ways import ONE_CALL, WAYS, Asking, FalteringClock
from service.plain_bundler import PlainBundler
from service.price_venue import PriceVenue
from service.world import PARTNERS
from swapdesk.chain.rpc.evm import EvmClient
from swapdesk.clock import ManualClock
from swapdesk.service.access import Partner
from swapdesk.service.app import Onchain
from swapdesk.service.dex.desk import EvmSightings
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.venues.adapter import (
    CentralizedVenue,
    DepositAddressesInUse,
    DepositInstruction,
    LegOrder,
    VenueTraits,
)
from swapdesk.service.venues.onchain.reader import ChainPlace, OnchainReader
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import STATUS_OF, ErrorCode
from swapdesk.wire.operation import Operation
from swapdesk.wire.operations import OPERATIONS


class FullVenue(PriceVenue):
    """All its static deposit addresses are held."""

    async def open(self, leg: LegOrder) -> DepositInstruction:
        raise DepositAddressesInUse("no address is free")


@pytest.fixture
def clock() -> FalteringClock:
    return FalteringClock()


@pytest.fixture
def venue_list(
    aa: PriceVenue, bb: PriceVenue, cc: PriceVenue, clock: ManualClock
) -> list[CentralizedVenue]:
    fixed = VenueTraits(fixed=True)
    late = PriceVenue("late", traits=fixed, rates_until=clock.now())
    held = VenueTraits(fixed=True, static_deposits=True)
    return [aa, bb, cc, late, PriceVenue("kept", traits=fixed), FullVenue("full", traits=held)]


@pytest.fixture
def partner_list() -> list[Partner]:
    return [*PARTNERS, ONE_CALL]


@pytest.fixture
def onchain(clock: ManualClock) -> Onchain:
    return Onchain(sightings={"ethereum": nobody_asks(clock)}, bundler=PlainBundler())


def nobody_asks(clock: ManualClock) -> EvmSightings:
    """A chain of which no error here has to know anything but how its hashes are written."""
    place = ChainPlace("ethereum", 1, "http://127.0.0.1:1/", "", 1)
    return EvmSightings(OnchainReader(place, EvmClient(place.rpc), clock))


def test_every_code_has_a_way() -> None:
    assert set(ErrorCode) == set(WAYS)
    assert set(STATUS_OF) == set(ErrorCode)


@pytest.mark.proves("code INTERNAL_SERVER_ERROR")
@pytest.mark.parametrize(
    ("operation", "code"),
    [
        pytest.param(operation, code, id=f"{operation.name}-{code}")
        for operation in OPERATIONS
        for code in (*operation.errors, ErrorCode.METHOD_NOT_ALLOWED)
    ],
)
async def test_error(
    api: httpx2.AsyncClient,
    anyone: httpx2.AsyncClient,
    service: ServiceParts,
    clock: FalteringClock,
    caplog: pytest.LogCaptureFixture,
    operation: Operation,
    code: ErrorCode,
) -> None:
    answer = await WAYS[code](Asking(operation, api, anyone, service, clock))
    body = answer.json()
    assert (answer.status_code, body["code"]) == (STATUS_OF[code], code)
    assert answer.headers["content-type"] == "application/json"
    wanted = {"message", "code", "requestId"} | ({"fields"} if answer.status_code == 422 else set())
    assert body.keys() == wanted
    assert re.fullmatch(r"[A-Z].*\.|Validation Failed", body["message"])
    assert uuid.UUID(body["requestId"]).version == 4
    assert body["requestId"] == answer.headers["x-request-id"]
    assert ("retry-after" in answer.headers) == (answer.status_code == 429)
    assert "detail" not in answer.text
    logged = [body["requestId"] in each.getMessage() for each in caplog.records if each.exc_info]
    assert logged == ([True] if answer.status_code == 500 else []), "whole, and for us alone"
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

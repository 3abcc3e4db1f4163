"""What a key of the vendor dialect is told: the forms of the public service (contract 1.22)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from rows import each_row
from service.price_venue import venues
from service.quote_calls import asked
from service.world import EVM, FIRST, XRP
from swapdesk.clock import ManualClock
from swapdesk.service.access import Partner
from swapdesk.service.venues.adapter import CentralizedVenue
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.encoding.timestamps import parse_rfc3339


@pytest.fixture
def venue_list(clock: ManualClock) -> list[CentralizedVenue]:
    return [*venues(clock)]


@pytest.fixture
def partner_list() -> Sequence[Partner]:
    full, reader = FIRST.keys
    return (replace(FIRST, keys=(replace(full, dialect=Dialect.VENDOR), reader)),)


OURS = {"Authorization": "first-reader:reader-secret"}


async def rows(api: httpx2.AsyncClient, headers: dict[str, str] | None, **more: Any) -> Any:
    answer = (
        await api.get("/quotes", params=asked(types="standard", **more), headers=headers)
    ).raise_for_status()
    return [row for row in answer.json()["quotes"] if "error" not in row]


async def test_a_fixed_rate_ends_in_unix_seconds(
    api: httpx2.AsyncClient, clock: ManualClock
) -> None:
    for more in ({}, {"amountType": "receive"}):
        theirs = await rows(api, None, fixed="true", **more)
        ours = await rows(api, OURS, fixed="true", **more)
        assert theirs
        for told, meant in zip(theirs, ours, strict=True):
            assert told["validUntil"].isdecimal()
            assert int(told["validUntil"]) == int(parse_rfc3339(meant["validUntil"]).timestamp())
            assert told["amountType"] == meant["amountType"] == more.get("amountType", "send")
    (row, *_) = await rows(api, None)
    assert parse_rfc3339(row["validUntil"]) > clock.now()


async def test_the_end_of_a_floating_quote_is_a_wrong_input(
    api: httpx2.AsyncClient, clock: ManualClock
) -> None:
    (row, *_) = await rows(api, None)
    clock.advance(61)
    body = {"quoteId": row["quoteId"], "addressTo": EVM}
    refused = await api.post("/exchanges", json=body)
    told = refused.json()
    assert (refused.status_code, told["code"]) == (422, "VALIDATION_ERROR")
    assert told["fields"] == {
        "quoteId": {
            "message": "Quote has expired, max age is 60 seconds",
            "value": row["quoteId"],
        }
    }
    unknown = await api.post("/exchanges", json={**body, "quoteId": "f" * 24})
    assert unknown.json()["code"] == "INVALID_SWAP"


@each_row("name", ["ripple", "Ripple", "xrp"])
async def test_a_chain_is_called_and_asked_for_by_their_name(
    api: httpx2.AsyncClient, name: str
) -> None:
    (token,) = (await api.get("/tokens", params={"chain": name})).json()["tokens"]
    assert token["id"] == XRP.id
    assert (token["chain"], token["chainData"]["shortName"]) == ("ripple", "ripple")
    (chain,) = (await api.get("/chains", params={"name": name})).json()["chains"]
    assert (chain["shortName"], chain["kind"]) == ("ripple", "xrp")
    ours = await api.get("/tokens", params={"chain": "ripple"}, headers=OURS)
    assert ours.json()["tokens"] == []
    assert (await api.get(f"/tokens/{XRP.id}", headers=OURS)).json()["chain"] == "xrp"


async def test_the_description_has_the_form_of_their_ends(api: httpx2.AsyncClient) -> None:
    for headers, said in ((None, {"type": "string"}), (OURS, None)):
        document = (await api.get("/openapi.json", headers=headers)).json()
        for model in ("Quote", "PrivateSendQuote"):
            ends = document["components"]["schemas"][model]["properties"]["validUntil"]
            assert ends == (said or {"type": "string", "format": "date-time"})

"""Partner markup on quotes (contract 6.13)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from service.price_venue import PriceVenue
from service.quote_calls import asked, quotes, refusal, stored_quote
from service.terms_world import venues
from service.world import BTC, ETH, FIRST
from swapdesk.clock import ManualClock
from swapdesk.service.access import Caller
from swapdesk.service.errors import ServiceError
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.venues.adapter import FLOATING, CentralizedVenue
from swapdesk.wire.encoding.numbers import quantize
from swapdesk.wire.pair_limits import PairLimitsQuery
from swapdesk.wire.quotes import AmountType, Quote, QuoteQuery, RouteType


@pytest.fixture
def some(clock: ManualClock) -> dict[str, PriceVenue]:
    return {venue.code: venue for venue in venues(clock)}


@pytest.fixture
def venue_list(some: dict[str, PriceVenue]) -> list[CentralizedVenue]:
    return [*some.values()]


@pytest.mark.proves("input get_quotes markup")
@pytest.mark.parametrize("markup", ["0.01", "1.5", "4"])
async def test_a_markup_is_in_the_price_of_those_that_take_one(
    api: httpx2.AsyncClient, service: ServiceParts, markup: str
) -> None:
    rows = await quotes(api, asked(types="standard", markup=markup))
    assert [row.swap for row in rows] == ["fa", "fb"]
    for row in rows:
        assert row.markup_supported
        assert row.applied_api_markup == row.api_markup_value == Decimal(markup)
        assert row.markup_type == "percentage"
        stored = await stored_quote(service, row.quote_id)
        assert stored.markup == Decimal(markup)
    kept = Decimal("0.996") * (1 - Decimal(markup) / 100)
    assert rows[0].amount_out == quantize((30_000 * kept - 1) / 3000, 18, up=False)


async def test_no_markup_excludes_nobody(api: httpx2.AsyncClient) -> None:
    rows = await quotes(api, asked(types="standard", markup="0"))
    assert [row.swap for row in rows] == ["pl", "fa", "fb", "ff"]
    assert {row.applied_api_markup for row in rows} == {0}
    plain_rows = await quotes(api, asked(types="standard"))
    assert {row.applied_api_markup for row in plain_rows} == {None}
    assert [row.amount_out for row in rows] == [row.amount_out for row in plain_rows]


async def test_the_second_leg_alone_takes_the_markup(
    api: httpx2.AsyncClient, service: ServiceParts, some: dict[str, PriceVenue]
) -> None:
    rows = await quotes(api, asked(types="private", markup="2"))
    assert len(rows) == 2
    for row in rows:
        assert row.applied_api_markup == 2
        stored = await stored_quote(service, row.quote_id)
        assert set(stored.legs) == {"fa", "fb"}
        assert stored.markup == 2
    assert {terms.markup for terms in some["fa"].terms} == {Decimal(0), Decimal(2)}
    # Asked for the bounds of the pair, which speak of floating routes without a markup.
    assert {*some["pl"].terms, *some["ff"].terms} <= {FLOATING}


@pytest.mark.proves("input get_private_send_quotes markup")
async def test_markup_of_private_sends(api: httpx2.AsyncClient) -> None:
    async def best(**more: str) -> Decimal:
        parameters = {"amount": "0.5", "from": BTC.id, **more}
        answer = await api.get("/quotes/private-send", params=parameters)
        return Decimal(str(answer.json()["quotes"][0]["amountOut"]))

    assert await best(markup="4", inLegIncludedSwaps="fa") < await best(inLegIncludedSwaps="fa")


async def test_types_unset_leave_dex_out_and_named_they_are_refused(
    api: httpx2.AsyncClient,
) -> None:
    assert {row.type for row in await quotes(api, asked(markup="1"))} == {"standard", "private"}
    for types in ("dex", ["standard", "dex"]):
        body = await refusal(api, "/quotes", asked(markup="1", types=types))
        assert (body["status"], body["code"]) == (422, "VALIDATION_ERROR")
        assert body["fields"].keys() == {"markup"}
        assert body["fields"]["markup"]["value"] == "1"
    assert await quotes(api, asked(markup="0", types="dex")) == []


async def test_the_default_of_the_account(service: ServiceParts) -> None:
    """It counts where none is sent, is told, and excludes nobody."""
    partner = replace(FIRST, default_markup=Decimal("0.5"))
    caller = Caller(partner, partner.keys[0])

    async def applied(**more: Any) -> dict[Any, Any]:
        query = QuoteQuery.model_validate(asked(types=["standard"], **more))
        answer = await service.engine.quotes(caller, query)
        return {row.swap: row.applied_api_markup for row in answer.quotes}

    assert await applied() == {"fa": Decimal("0.5"), "fb": Decimal("0.5"), "ff": 0, "pl": 0}
    assert await applied(markup="1") == {"fa": 1, "fb": 1}
    assert await applied(markup="0") == {"fa": 0, "fb": 0, "ff": 0, "pl": 0}


async def test_a_fallback_keeps_the_markup(service: ServiceParts) -> None:
    for route, legs in (("standard", 1), ("private", 2)):
        found = await service.engine.best_legs(
            BTC,
            ETH,
            Decimal("0.5"),
            route,  # type: ignore[arg-type]
            markup=Decimal(3),
        )
        assert found.markup == 3
        assert len(found.legs) == legs
        assert set(found.legs) <= {"fa", "fb"}


async def test_fixed_rates_with_a_markup(api: httpx2.AsyncClient) -> None:
    rows = await quotes(api, asked(types="standard", markup="1", fixed="true"))
    assert [(row.swap, row.fixed, row.applied_api_markup) for row in rows] == [
        ("fa", True, 1),
        ("fb", True, 1),
    ]


@pytest.mark.parametrize("route", ["standard", "private"])
async def test_limits_pay_after_the_default_of_the_account(
    service: ServiceParts, some: dict[str, PriceVenue], route: str
) -> None:
    for venue in some.values():
        venue.markup_supported = True
    partner = replace(FIRST, default_markup=Decimal(4))
    caller = Caller(partner, partner.keys[0])
    pair = PairLimitsQuery(token_id_from=BTC.id, token_id_to=ETH.id)
    found = await service.pair_limits.limits(caller, pair)
    bucket = found.cex if route == "standard" else found.private
    unit = Decimal(1).scaleb(-ETH.decimals)
    for amount, outside in ((bucket.min_out, -unit), (bucket.max_out, unit)):
        rows = await by_received(service, caller, amount, route)
        assert (rows[0].applied_api_markup, rows[0].amount_out) == (Decimal(4), amount)
        with pytest.raises(ServiceError):
            await by_received(service, caller, amount + outside, route)


async def by_received(
    service: ServiceParts, caller: Caller, amount: Decimal, route: str
) -> list[Quote]:
    query = QuoteQuery(
        amount=amount,
        from_=BTC.id,
        to=ETH.id,
        types=[RouteType(route)],
        amount_type=AmountType.RECEIVE,
        fixed=True,
    )
    return (await service.engine.quotes(caller, query)).quotes

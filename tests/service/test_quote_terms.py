"""Fixed rates, amounts received and partner markup of quotes (contract 6.9, 6.10, 6.13)."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from rows import each_row
from service.http_calls import declined
from service.price_venue import PriceVenue, venues
from service.quote_calls import asked, limits, quotes, refusal, stored_quote, with_stored
from service.world import AS_FREE, BTC, ETH, FIRST, UNPRICED, USDC, USDC_SOL
from swapdesk.clock import ManualClock
from swapdesk.service.access import Caller
from swapdesk.service.errors import ServiceError
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.quoting.rows import QUOTE_VALID
from swapdesk.service.venues.adapter import FLOATING, CentralizedVenue, VenueTraits
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.encoding.numbers import plain, quantize
from swapdesk.wire.quotes import (
    AmountType,
    PairLimitsQuery,
    PrivateSendQuoteList,
    Quote,
    QuoteQuery,
)
from swapdesk.wire.tokens import Token


@pytest.fixture
def some(clock: ManualClock) -> dict[str, PriceVenue]:
    return {venue.code: venue for venue in venues(clock)}


@pytest.fixture
def venue_list(some: dict[str, PriceVenue]) -> list[CentralizedVenue]:
    return [*some.values()]


def fixed(amount: str = "0.5", **more: Any) -> dict[str, Any]:
    return asked(amount, fixed="true", **more)


def received(amount: str = "1", **more: Any) -> dict[str, Any]:
    return fixed(amount, amountType="receive", **more)


@pytest.mark.proves("input get_quotes fixed")
async def test_fixed_rows_come_from_those_with_fixed_rates_alone(
    api: httpx2.AsyncClient, clock: ManualClock
) -> None:
    rows = await quotes(api, fixed(types="standard"))
    assert [row.swap for row in rows] == ["fa", "fb", "ff"]
    for row, seconds in zip(rows, (600, 420, 500), strict=True):
        assert row.fixed
        assert row.valid_until == clock.now() + timedelta(seconds=seconds)
        assert row.rate_id.startswith(f"{row.swap}-rate-")
        assert row.requires_refund_address
        assert row.amount_in == Decimal("0.5")
        assert row.amount_in_usd is None


async def test_private_fixed_routes_end_together_with_the_earliest_of_their_rates(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    rows = await quotes(api, fixed(types="private"))
    assert len(rows) == 6
    ends = {"fa": 600, "fb": 420, "ff": 500}
    for row, stored in await with_stored(service, rows):
        assert (stored.fixed, stored.receive) == (True, False)
        first, second = stored.legs
        assert [rate.partition("-")[0] for rate in stored.rates] == [first, second]
        assert row.valid_until == stored.expires == clock.now() + timedelta(seconds=420)
        assert row.fixed
        assert row.requires_refund_address
        assert not any(code in row.rate_id.split("-") for code in ends)


@pytest.mark.proves("input get_private_send_quotes fixed")
async def test_fixed_private_send(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    answer = await api.get(
        "/quotes/private-send", params={"amount": "0.5", "from": BTC.id, "fixed": "true"}
    )
    found = decode(PrivateSendQuoteList, answer.content, side="client")
    assert len(found.quotes) == 6
    assert all(row.fixed for row in found.quotes)
    # A minute, although the rates stand for seven (contract 6.28).
    assert {row.valid_until for row in found.quotes} == {clock.now() + QUOTE_VALID}
    stored = await stored_quote(service, found.quotes[0].quote_id)
    assert stored.expires == clock.now() + QUOTE_VALID
    assert stored.fixed
    assert len(stored.rates) == 2


@pytest.mark.proves("code FIXED_RATE_NOT_ALLOWED")
@each_row("path", ["/quotes", "/quotes/private-send"])
async def test_an_account_without_fixed_rates(api: httpx2.AsyncClient, path: str) -> None:
    parameters = fixed()
    if path.endswith("send"):
        del parameters["to"]
    await declined(api.get(path, params=parameters, headers=AS_FREE), "FIXED_RATE_NOT_ALLOWED")
    parameters["fixed"] = "false"
    assert (await api.get(path, params=parameters, headers=AS_FREE)).status_code == 200


async def test_a_rate_without_an_end_is_none(
    api: httpx2.AsyncClient, some: dict[str, PriceVenue]
) -> None:
    some["fb"].rateless = True
    rows = await quotes(api, fixed(types="standard"))
    assert [(row.swap, row.error) for row in rows] == [
        ("fa", None),
        ("ff", None),
        ("fb", "this route could not be priced"),
    ]


# By the amount received


@pytest.mark.proves("input get_quotes amountType")
@each_row("fixed_", [None, "false"])
async def test_receive_needs_a_fixed_rate(api: httpx2.AsyncClient, fixed_: str | None) -> None:
    parameters = asked("1", amountType="receive")
    if fixed_ is not None:
        parameters["fixed"] = fixed_
    body = await refusal(api, "/quotes", parameters)
    assert body["fields"] == {
        "amountType": {"message": "receive needs fixed=true", "value": "receive"}
    }


@pytest.mark.proves("input get_quotes amountType")
async def test_reverse_standard_rows(api: httpx2.AsyncClient, service: ServiceParts) -> None:
    rows = await quotes(api, received(types="standard"))
    assert [row.swap for row in rows] == ["fa", "fb", "ff"], "the least to send comes first"
    assert rows[0].amount_in == Decimal("0.05031858"), "(3000 + 1) / 0.994 / 60000, raised"
    for row, stored in await with_stored(service, rows):
        assert row.amount_out == row.net_amount_out == 1
        assert row.amount_in_usd == row.amount_in * 60_000
        assert row.amount_out_usd == 3000
        assert (stored.fixed, stored.receive) == (True, True)


async def test_a_reverse_private_route_is_computed_from_its_end(
    api: httpx2.AsyncClient, service: ServiceParts, some: dict[str, PriceVenue]
) -> None:
    rows = await quotes(api, received(types="private"))
    assert len(rows) == 6
    amounts = [row.amount_in for row in rows]
    assert amounts == sorted(amounts)  # type: ignore[type-var]
    for row, stored in await with_stored(service, rows):
        assert row.amount_out == 1
        first, second = (some[code] for code in stored.legs)
        middle = service.catalog.token(stored.middle_token_id)
        terms = second.terms[0]
        assert (terms.fixed, terms.receive) == (True, True)
        out: Any = await second.quote(middle, ETH, Decimal(1), terms)
        assert stored.middle_amount == out.amount_in
        into: Any = await first.quote(BTC, middle, out.amount_in, terms)
        assert stored.amount_in == into.amount_in == row.amount_in


@pytest.mark.parametrize("types", ["standard", "private"])
@pytest.mark.parametrize(
    ("token_in", "token_out"),
    [(BTC, ETH), (ETH, BTC), (USDC, USDC_SOL)],
    ids=lambda each: each.symbol,
)
async def test_what_limits_promise_of_amounts_to_receive_quotes_do(
    api: httpx2.AsyncClient,
    some: dict[str, PriceVenue],
    types: str,
    token_in: Token,
    token_out: Token,
) -> None:
    """They are of fixed terms: what pl pays, and the most that it takes, is no part of them."""
    some["pl"].most = Decimal(390_000)
    found = await limits(api, token_in.id, token_out.id)
    bucket = found.cex if types == "standard" else found.private
    assert 0 < bucket.min_out < bucket.max_out
    pair = {"from_": token_in.id, "to": token_out.id, "types": types}
    unit = Decimal(1).scaleb(-token_out.decimals)
    for venue in some.values():
        venue.fee += Decimal("0.01")
    for amount, outside, code in (
        (bucket.min_out, bucket.min_out - unit, "AMOUNT_TOO_LOW"),
        (bucket.max_out, bucket.max_out + unit, "QUOTE_OVER_LIMIT"),
    ):
        rows = await quotes(api, received(plain(amount), **pair))
        assert (rows[0].error, rows[0].fixed, rows[0].amount_out) == (None, True, amount)
        body = await refusal(api, "/quotes", received(plain(outside), **pair), code)
        assert f" {plain(amount)} " in body["message"], "the very figure of the limits"


async def test_limits_where_nothing_is_quoted_by_the_amount_received(
    api: httpx2.AsyncClient, some: dict[str, PriceVenue]
) -> None:
    """No exchange keeps rates: then they are what both ends pay."""
    for venue in some.values():
        venue.traits = VenueTraits()
    bucket = (await limits(api, BTC.id, ETH.id)).cex
    for amount, out in ((bucket.min, bucket.min_out), (bucket.max, bucket.max_out)):
        assert (await quotes(api, asked(plain(amount), types="standard")))[0].amount_out == out


@pytest.mark.parametrize(
    ("amount", "side", "code"),
    [("0.0001", "smallest", "AMOUNT_TOO_LOW"), ("5000", "largest", "QUOTE_OVER_LIMIT")],
)
async def test_a_refusal_of_an_amount_to_receive_names_one_that_is_taken(
    api: httpx2.AsyncClient, some: dict[str, PriceVenue], amount: str, side: str, code: str
) -> None:
    """The leg that pays takes little and much at fa; the deposit has to fit fb or ff."""
    for each in ("fb", "ff"):
        some[each].least, some[each].most = Decimal(900), Decimal(50_000)
    body = await refusal(api, "/quotes", received(amount, types="private"), code)
    found = re.fullmatch(f"The {side} amount for this swap is ([0-9.]+) ETH.", body["message"])
    assert found, body
    rows = await quotes(api, received(found[1], types="private"))
    assert any(row.error is None for row in rows)
    share = {"smallest": Decimal("0.5"), "largest": Decimal(2)}[side]
    too_far = plain(Decimal(found[1]) * share)  # the figure is near the bound
    await refusal(api, "/quotes", received(too_far, types="private"), code)


async def test_one_row_out_of_bounds_when_receiving(
    api: httpx2.AsyncClient, some: dict[str, PriceVenue]
) -> None:
    some["fb"].least = Decimal(5_000)
    rows = await quotes(api, received(types="standard"))
    assert [row.swap for row in rows] == ["fa", "ff", "fb"]
    assert rows[2].error == ("below minimum: this route pays 1.653000132266666666 ETH or more")
    assert rows[2].amount_in is None
    assert rows[2].amount_out == 1
    exact = await quotes(api, received("1.653000132266666666", types="standard"))
    assert not any(row.error for row in exact)


@pytest.mark.parametrize("types", ["standard", "private"])
async def test_the_dollar_cap_holds_for_what_is_to_be_sent(
    api: httpx2.AsyncClient, some: dict[str, PriceVenue], types: str
) -> None:
    """To send is what is capped, also where it follows from what is received."""
    for venue in some.values():
        venue.most = Decimal(900_000)
    parameters = received("128", from_=USDC.id, types=types)
    for row in await quotes(api, parameters):
        assert row.amount_in <= 400_000
    await refusal(api, "/quotes", received("133", from_=USDC.id, types=types), "QUOTE_OVER_LIMIT")
    for amount in ("131.5", "132", "132.3"):
        answer = await api.get("/quotes", params=received(amount, from_=USDC.id, types=types))
        for row in answer.json().get("quotes", []):
            assert row.get("error") or row["amountIn"] <= 400_000


async def test_decimals_of_the_amount_received(api: httpx2.AsyncClient) -> None:
    body = await refusal(api, "/quotes", received("0.123456789", from_=ETH.id, to=BTC.id))
    assert body["fields"] == {"amount": {"message": "BTC has 8 decimals", "value": "0.123456789"}}
    rows = await quotes(api, received("1.000000000000000001"))
    assert {plain(row.amount_out) for row in rows if row.amount_out is not None} == {
        "1.000000000000000001"
    }


async def test_a_token_without_a_price_has_no_dollars_when_received(
    api: httpx2.AsyncClient,
) -> None:
    rows = await quotes(api, received("0.01", from_=UNPRICED.id, to=BTC.id, types="standard"))
    assert rows
    assert {row.amount_in_usd for row in rows} == {None}


async def test_reverse_private_send(api: httpx2.AsyncClient, service: ServiceParts) -> None:
    rows = await quotes(api, received("0.4", to=BTC.id, types="private"))
    assert rows
    for row, stored in await with_stored(service, rows):
        assert row.amount_in > Decimal("0.4") == row.amount_out
        assert stored.purpose == "private_send"


@pytest.mark.proves("input get_quotes sort", "input get_quotes sortOrder")
@each_row("order", ["asc", "desc"])
@each_row("sort", ["amountOut", "amountOutUsd", "amountIn", "duration"])
async def test_sorting_rows_of_one_amount_received(
    api: httpx2.AsyncClient, some: dict[str, PriceVenue], sort: str, order: str
) -> None:
    some["ff"].failing = True
    rows = await quotes(api, received(types="standard", sort=sort, sortOrder=order))
    codes = [row.swap for row in rows]
    assert rows[-1].error
    assert codes[-1] == "ff"
    wanted = {
        ("amountIn", "desc"): ["fb", "fa"],
        ("duration", "asc"): ["fb", "fa"],
    }
    assert codes[:2] == wanted.get((sort, order), ["fa", "fb"])


# Markup (contract 6.13)


@pytest.mark.proves("input get_quotes markup")
@each_row("markup", ["0.01", "1.5", "4"])
async def test_a_markup_is_in_the_price_of_those_that_take_one(
    api: httpx2.AsyncClient, service: ServiceParts, markup: str
) -> None:
    rows = await quotes(api, asked(types="standard", markup=markup))
    assert [row.swap for row in rows] == ["fa", "fb"]
    for row, stored in await with_stored(service, rows):
        assert row.markup_supported
        assert row.applied_api_markup == row.api_markup_value == Decimal(markup)
        assert row.markup_type == "percentage"
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
    for row, stored in await with_stored(service, rows):
        assert row.applied_api_markup == 2
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
    found = await service.engine.limits(caller, pair)
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

"""DEX rows of quotes: figures, filters, limits, and what they are never asked for."""

from __future__ import annotations

import random
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from service.dex.trading import Floor, Trader, told, trader
from service.http_calls import calling, declined
from service.price_venue import PriceVenue
from service.quote_fields import check_fields
from service.world import AS_FIRST, PARTNERS
from swapdesk.service.app import assemble, build_service
from swapdesk.service.quoting.routes import swap_cap
from swapdesk.wire.encoding.numbers import plain, quantize
from swapdesk.wire.encoding.timestamps import parse_rfc3339
from swapdesk.wire.tokens import Token

pytestmark = pytest.mark.asyncio(loop_scope="package")


def pair(floor: Floor) -> tuple[Token, Token]:
    return floor.token("base", "USDC"), floor.token("base", "WETH")


async def rows(floor: Floor, *tokens: Token, **more: str | list[str]) -> list[dict[str, Any]]:
    """Of these two tokens, else of the usual pair."""
    token_in, token_out = tokens or pair(floor)
    query = {"amount": "100", "from": token_in.id, "to": token_out.id, **more}
    answer = (await floor.api.get("/quotes", params=query)).raise_for_status()
    return told(answer)["quotes"]


async def refused(floor: Floor, field: str, **more: str) -> None:
    usdc, weth = pair(floor)
    query = {"amount": "100", "from": usdc.id, "to": weth.id, "types": "dex", **more}
    await declined(floor.api.get("/quotes", params=query), field=field)


async def test_rows_of_the_venues_of_a_pair(floor: Floor) -> None:
    usdc, _ = pair(floor)
    found = {row["swap"]: row for row in await rows(floor)}
    assert found.keys() == {"ba", "fa", "is"}
    for row in found.values():
        assert row["type"] == "dex"
        assert row["fixed"] is False
        assert row["filtered"] is False
        assert row["requiresApproval"] is True
        assert row["depositAddressSupported"] is False
        assert row["netAmountOut"] == row["amountOut"]
        assert row["amountOutUsd"] > 90
        assert row["feeUsd"] == 0, "gas is no fee of the provider"
        assert "bridgeFeeUsd" not in row, "nothing crosses chains"
        ends = parse_rfc3339(row["validUntil"]) - floor.clock.now()
        assert timedelta(seconds=500) < ends <= timedelta(seconds=600)
    for code in ("ba", "fa"):
        assert 30_000 < found[code]["gas"] < 3_000_000, "in units of gas"
        assert Decimal("0.00001") < found[code]["gasUsd"] < 10
    assert found["is"]["gas"] == 0, "its solver pays for gas"
    large = {row["swap"]: row for row in await rows(floor, amount="50000")}
    assert large["ba"]["amountOut"] > large["fa"]["amountOut"], "thinner pools pay less"
    coin = floor.token("base", "ETH")
    (row,) = await rows(floor, coin, usdc, amount="0.1")
    assert row["requiresApproval"] is False
    assert parse_rfc3339(row["validUntil"]) - floor.clock.now() <= timedelta(seconds=60)


async def test_a_row_has_the_fields_of_the_contract(floor: Floor) -> None:
    check_fields(await rows(floor))
    impact = await rows(floor, amount="900000")
    assert any(row["filtered"] for row in impact)
    check_fields(impact)


async def test_no_rows_where_nothing_is_traded(floor: Floor) -> None:
    usdc, weth = pair(floor)
    eth = floor.token("base", "ETH")
    assert await rows(floor, eth, weth) == [], "wrapping a coin is no swap"
    bitcoin = floor.token("bitcoin", "BTC")
    assert await rows(floor, bitcoin, usdc, types="dex") == []


async def test_markup_and_fixed_rates_leave_dex_out_or_are_refused(floor: Floor) -> None:
    assert await rows(floor, markup="1") == []
    assert await rows(floor, fixed="true") == []
    assert await rows(floor, fixed="true", amountType="receive") == []
    assert len(await rows(floor, markup="0")) == 3
    for more, field in (
        ({"markup": "1"}, "markup"),
        ({"fixed": "true"}, "fixed"),
        ({"fixed": "true", "amountType": "receive"}, "amountType"),
    ):
        await refused(floor, field, **more)


async def test_the_allow_list_counts_and_filters_of_legs_do_not(floor: Floor) -> None:
    (row,) = await rows(floor, swaps="fa")
    assert row["swap"] == "fa"
    assert len(await rows(floor, inLegIncludedSwaps="fa")) == 3
    assert len(await rows(floor, outLegExcludedSwaps=["ba", "is"])) == 3
    await refused(floor, "swaps", swaps="zz")


@pytest.mark.proves("input get_quotes slippage")
async def test_slippage(floor: Floor) -> None:
    """It moves the least that is taken, not the row."""
    least = {}
    for slippage in (None, "0", "2.5"):
        more = {} if slippage is None else {"slippage": slippage}
        (row,) = await rows(floor, swaps="ba", **more)
        assert row["slippageSupported"] is True
        partner = "partner-first"
        stored = await floor.parts.store.quotes.get(partner, row["quoteId"])
        out = int(stored.plan["out"])
        least[slippage] = Decimal(stored.plan["least"]) / out
    assert least["0"] == 1
    assert Decimal("0.994999") < least[None] <= Decimal("0.995")
    assert Decimal("0.974999") < least["2.5"] <= Decimal("0.975")


@pytest.mark.proves("input get_quotes senderAddress", "input get_quotes receiverAddress")
async def test_another_recipient_filters_what_pays_the_sender_alone(floor: Floor) -> None:
    """By ``senderAddress`` and ``receiverAddress`` of the query."""
    one, other = (await trader(floor, 1501)).address, (await trader(floor, 1502)).address
    both = {"senderAddress": one, "receiverAddress": other}
    reasons = {row["swap"]: row.get("filteredReason") for row in await rows(floor, **both)}
    assert reasons == {"ba": None, "fa": None, "is": "different_recipient"}
    for more in (
        {},
        {"senderAddress": one},
        {"senderAddress": one, "receiverAddress": one.lower()},
    ):
        assert not any(row["filtered"] for row in await rows(floor, **more))


async def test_price_impact_is_filtered_and_cannot_be_executed(floor: Floor) -> None:
    found = {row["swap"]: row for row in await rows(floor, amount="900000")}
    row = found["fa"]
    assert row["filteredReason"] == "price_impact"
    someone: Trader = await trader(floor, 1503)
    await someone.create(row["quoteId"], "INVALID_SWAP")
    body = {"quoteId": row["quoteId"], "addressFrom": someone.address}
    await someone.ask("/dex/approve", body, "INVALID_SWAP")


@pytest.mark.parametrize("place", ["below", "over the cap", "over cap and venues"])
async def test_centralized_routes_say_why_they_do_not_take_what_a_chain_takes(
    floor: Floor, place: str
) -> None:
    """Rows with their reason beside those that are priced (contract 6.24)."""
    usdc, coin = floor.token("base", "USDC"), floor.token("base", "ETH")
    cap = swap_cap(usdc)
    amount, why, code = {
        "below": ("1", "below minimum", "AMOUNT_TOO_LOW"),
        "over the cap": (plain(cap + Decimal("0.000001")), "above maximum", "QUOTE_OVER_LIMIT"),
        "over cap and venues": ("460000", "above maximum", "QUOTE_OVER_LIMIT"),
    }[place]
    venues = [PriceVenue(code, most=Decimal(450_000)) for code in ("ca", "cb")]
    parts = assemble(
        floor.clock,
        random.Random(f"beside chains {place}"),
        floor.parts.store,
        floor.parts.catalog.chains,
        floor.parts.catalog.tokens,
        venues,
        PARTNERS,
        [floor.token("bitcoin", "BTC").id],
        onchain=floor.onchain,
    )
    async with calling(build_service(parts), AS_FIRST) as api:
        query = {"amount": amount, "from": usdc.id, "to": coin.id}
        found = told(await api.get("/quotes", params=query))["quotes"]
        alone = await api.get("/quotes", params={**query, "types": ["standard", "private"]})
    assert {row["type"] for row in found if "error" not in row} == {"dex"}
    lost = [row for row in found if "error" in row]
    assert {row.get("swap") for row in lost} == {"ca", "cb", None}
    assert {row["type"] for row in lost} == {"standard", "private"}
    assert all(row["error"].startswith(f"{why}: this route takes ") for row in lost)
    assert not any("quoteId" in row for row in lost)
    check_fields(found)
    if place == "over the cap":
        assert all(f"takes {plain(cap)} USDC or less" in row["error"] for row in lost)
    assert (alone.status_code, alone.json()["code"]) == (422, code)


async def test_providers_are_listed(floor: Floor) -> None:
    answer = await floor.api.get("/swaps", params={"isDex": "true"})
    listed = {row["shortName"]: row for row in answer.json()}
    assert listed.keys() == {"at", "ba", "fa", "is", "me"}
    for name in ("isDex", "slippageSupported", "autoSlippageSupported"):
        assert all(row[name] is True for row in listed.values()), name
    assert not any(row["markupSupported"] for row in listed.values())


# Limits


async def limits(floor: Floor, token_in: str, token_out: str) -> dict[str, Any]:
    query = {"tokenIdFrom": token_in, "tokenIdTo": token_out}
    answer = (await floor.api.get("/minMax", params=query)).raise_for_status()
    return told(answer)


async def usable(floor: Floor, sell: Token, buy: Token, amount: Decimal) -> list[Decimal]:
    """What rows pay that can be used, the most first."""
    someone = await trader(floor, 1901)
    rows = await someone.quotes(sell, buy, plain(amount))
    paid = [row["amountOut"] for row in rows.values() if "error" not in row and not row["filtered"]]
    return sorted((Decimal(one) for one in paid), reverse=True)


@pytest.mark.parametrize(
    ("sell", "buy"), [("USDC", "WETH"), ("ETH", "USDC"), ("WETH", "ETH"), ("ETH", "WETH")]
)
async def test_what_is_promised_is_what_quotes_pay(floor: Floor, sell: str, buy: str) -> None:
    sold, bought = floor.token("base", sell), floor.token("base", buy)
    bucket = (await limits(floor, sold.id, bought.id))["dex"]
    if {sell, buy} == {"ETH", "WETH"}:
        assert bucket is None, "wrapping a coin is no swap"
        return
    assert 0 < bucket["min"] < Decimal("0.01") < 1 < bucket["max"]
    for amount, out in ((bucket["min"], bucket["minOut"]), (bucket["max"], bucket["maxOut"])):
        paid = await usable(floor, sold, bought, Decimal(amount))
        assert paid[0] == Decimal(out)
    beyond = quantize(Decimal(bucket["max"]) * Decimal("1.05"), sold.decimals, up=True)
    assert await usable(floor, sold, bought, beyond) == []


async def test_another_chain_is_reached_over_the_portal_alone(floor: Floor) -> None:
    here, there = floor.token("base", "USDC"), floor.token("ethereum", "USDC")
    found = await limits(floor, here.id, there.id)
    bucket = found["dex"]
    # More than the relayer holds there would be locked here, and paid to nobody.
    for amount, out in ((bucket["min"], bucket["minOut"]), (bucket["max"], bucket["maxOut"])):
        assert await usable(floor, here, there, Decimal(amount)) == [Decimal(out)]
    beyond = quantize(Decimal(bucket["max"]) * Decimal("1.05"), here.decimals, up=True)
    assert await usable(floor, here, there, beyond) == []
    weth = floor.token("ethereum", "WETH")
    assert (await limits(floor, here.id, weth.id))["dex"] is None


async def test_a_symbol_of_exchanges_names_no_token_on_a_chain(floor: Floor) -> None:
    sold, bought = floor.token("base", "USDC"), floor.token("base", "WETH")
    by_id = await limits(floor, sold.id, bought.id)
    assert by_id["dex"] is not None
    assert (await limits(floor, sold.id.upper(), bought.id.upper()))["dex"] == by_id["dex"]
    assert (await limits(floor, sold.cex_token_id, bought.id))["dex"] is None

"""Amounts and tokens of quotes: limits of a pair, bounds and silence of its routes."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from rows import each_row
from service.price_venue import PriceVenue
from service.quote_calls import asked, finish, limits, quotes, refusal, with_stored
from service.world import (
    BTC,
    CHAIN_ONLY,
    DISABLED,
    ETH,
    ETHEREUM,
    ON_DARK,
    SOL,
    TOKENS,
    UNKNOWN_TOKEN,
    UNPRICED,
    USDC,
    USDC_SOL,
    XRP,
    token,
)
from swapdesk.clock import ManualClock
from swapdesk.service.access import Caller
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.quoting.bounds import KEPT_SECONDS, drawn_in
from swapdesk.service.venues.adapter import VenueLimits
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.encoding.numbers import plain, quantize
from swapdesk.wire.quotes import PrivateSendQuoteList, QuoteList, QuoteQuery
from swapdesk.wire.tokens import Token


@pytest.mark.proves("code AMOUNT_TOO_LOW", "code QUOTE_OVER_LIMIT")
@each_row(
    ("token_in", "token_out"),
    [(BTC, ETH), (ETH, BTC), (USDC, USDC_SOL), (XRP, ETH), (USDC, SOL), (UNPRICED, BTC)],
    ids=lambda token: token.symbol,
)
async def test_what_limits_promise_quotes_do(
    api: httpx2.AsyncClient, token_in: Any, token_out: Any
) -> None:
    found = await limits(api, token_in.id, token_out.id)
    assert found.dex is None
    unit = Decimal(1).scaleb(-token_in.decimals)
    for route, bucket in (("standard", found.cex), ("private", found.private)):
        assert 0 < bucket.min < bucket.max
        for amount, out in ((bucket.min, bucket.min_out), (bucket.max, bucket.max_out)):
            rows = await quotes(api, asked(plain(amount), token_in.id, token_out.id, types=route))
            assert rows[0].error is None
            assert rows[0].amount_out == out
        for amount, code in (
            (bucket.min - unit, "AMOUNT_TOO_LOW"),
            (bucket.max + unit, "QUOTE_OVER_LIMIT"),
        ):
            await refusal(
                api, "/quotes", asked(plain(amount), token_in.id, token_out.id, types=route), code
            )


async def test_every_amount_between_the_limits_is_priced(
    api: httpx2.AsyncClient, venue_list: list[PriceVenue]
) -> None:
    """Also where a first leg pays 1 % less a moment later, and still reaches the second one's
    minimum."""
    found = await limits(api, BTC.id, ETH.id)
    for route, bucket in (("standard", found.cex), ("private", found.private)):
        for share in ("0.0001", "0.01", "0.1", "0.5", "0.9", "0.99", "0.9999"):
            amount = bucket.min + (bucket.max - bucket.min) * Decimal(share)
            inside = plain(quantize(amount, BTC.decimals, up=False))
            rows = await quotes(api, asked(inside, types=route))
            assert rows[0].error is None
    for venue in venue_list:
        venue.fee += Decimal("0.01")
    rows = await quotes(api, asked(plain(found.private.min), types="private"))
    assert rows[0].error is None


async def test_limits_without_a_gap(
    api: httpx2.AsyncClient, aa: PriceVenue, bb: PriceVenue, cc: PriceVenue
) -> None:
    """Two venues meet, a third one stands far below them: the largest amounts count."""
    aa.least, aa.most = Decimal(10), Decimal(100)
    bb.least, bb.most = Decimal(1_000), Decimal(5_000)
    cc.least, cc.most = Decimal(4_000), Decimal(9_000)
    found = await limits(api, USDC.id, ETH.id)
    assert (found.cex.min, found.cex.max) == (1_000, 9_000)
    body = await refusal(
        api, "/quotes", asked("999.999999", USDC.id, ETH.id, types="standard"), "AMOUNT_TOO_LOW"
    )
    assert "1000 USDC" in body["message"]


async def test_limits_of_the_venues_that_answer(api: httpx2.AsyncClient, bb: PriceVenue) -> None:
    """bb takes the smallest amounts, until it is out of order."""
    for bb.failing, least in ((False, 10), (True, 20)):
        found = await limits(api, USDC.id, ETH.id)
        assert (found.cex.min, found.cex.max) == (least, 400_000)


async def test_private_limits_of_the_venues_that_answer(
    api: httpx2.AsyncClient, aa: PriceVenue, bb: PriceVenue, cc: PriceVenue
) -> None:
    """cc takes the largest amounts on either leg, until it is out of order."""
    aa.most, bb.most = Decimal(5_000), Decimal(50_000)
    wide = await limits(api, USDC.id, ETH.id)
    assert wide.private.max == 50_000
    cc.failing = True
    found = await limits(api, USDC.id, SOL.id)
    assert found.private.max == 5_000
    rows = await quotes(api, asked("5000", USDC.id, SOL.id, types="private"))
    assert rows[0].error is None


async def test_limits_bound_the_amount_alone(
    api: httpx2.AsyncClient, aa: PriceVenue, bb: PriceVenue, cc: PriceVenue
) -> None:
    """Routes that lose too much to be used are priced, and say so themselves."""
    before = await limits(api, USDC.id, ETH.id)
    for venue in (aa, bb, cc):
        venue.fee = Decimal("0.4")
    found = await limits(api, USDC.id, ETH.id)
    assert (found.cex.min, found.cex.max) == (before.cex.min, before.cex.max)
    assert found.cex.max_out == Decimal("79.999666666666666666")
    rows = await quotes(api, asked(plain(found.cex.max), USDC.id, ETH.id, types="standard"))
    assert rows[0].filtered


async def test_two_callers_share_one_search(
    service: ServiceParts, clock: ManualClock, aa: PriceVenue
) -> None:
    bounds = service.engine.private_bounds
    alone = await bounds.find(BTC, ETH)
    asked_alone = aa.asked
    assert await bounds.find(BTC, ETH) == alone
    assert aa.asked == asked_alone, "kept"
    clock.advance(KEPT_SECONDS)
    both = await asyncio.gather(bounds.find(BTC, ETH), bounds.find(BTC, ETH))
    assert both == [alone, alone]
    assert aa.asked == 2 * asked_alone
    given_up = asyncio.create_task(bounds.find(ETH, BTC))
    await asyncio.sleep(0)
    given_up.cancel()
    for _ in range(200):
        await asyncio.sleep(0)
    assert bounds.last(ETH, BTC) is not None, "a search goes on when its caller gives up"


async def test_the_cap_bounds_the_limits_of_a_dearer_token(
    api: httpx2.AsyncClient, cc: PriceVenue
) -> None:
    cc.most = Decimal(900_000)
    found = await limits(api, BTC.id, ETH.id)
    assert found.cex.max == Decimal("6.66666666")
    assert (await quotes(api, asked("6.66666666", types="standard")))[0].error is None
    await refusal(api, "/quotes", asked("6.66666667", types="standard"), "QUOTE_OVER_LIMIT")


@pytest.mark.proves("input get_pair_limits tokenIdFrom", "input get_pair_limits tokenIdTo")
async def test_sides_by_cex_id(api: httpx2.AsyncClient) -> None:
    assert await limits(api, "BTC", "eth") == await limits(api, BTC.id, ETH.id.upper())
    await refusal(api, "/minMax", {"tokenIdFrom": "BTC", "tokenIdTo": "NOPE"}, "TOKEN_NOT_FOUND")


@each_row("to", [BTC.id, BTC.id.upper(), "BTC", "btc"])
async def test_limits_of_one_token_with_itself(api: httpx2.AsyncClient, to: str) -> None:
    await refusal(api, "/minMax", {"tokenIdFrom": BTC.id, "tokenIdTo": to}, field="tokenIdTo")


def test_an_end_that_is_not_priced_moves_inward() -> None:
    def bounds(*pairs: tuple[int, int]) -> list[VenueLimits]:
        return [VenueLimits(Decimal(least), Decimal(most)) for least, most in pairs]

    three = bounds((10, 900), (30, 800), (50, 900))
    (whole,) = bounds((10, 900))
    assert drawn_in(three, whole, least=True, most=True) == three
    assert drawn_in(three, whole, least=False, most=True) == bounds((30, 900), (30, 800), (50, 900))
    assert drawn_in(three, whole, least=True, most=False) == bounds((30, 800))
    alone = bounds((10, 900))
    assert drawn_in(alone, whole, least=False, most=True) == bounds((20, 900))
    assert drawn_in(bounds((10, 15)), *bounds((10, 15)), least=False, most=True) == []


# Limits of tokens that come in whole units only (contract 6.3)


DEAR = token(40, "BAR", "Bar", ETHEREUM, 0, "100", address="0x" + "cd" * 20)
COARSE = token(41, "TON", "Ton", ETHEREUM, 0, "25", address="0x" + "ce" * 20)


@pytest.fixture
def token_list() -> list[Token]:
    return [*TOKENS, DEAR, COARSE]


async def test_the_least_is_about_what_buys_one_unit(api: httpx2.AsyncClient) -> None:
    """The cheapest venue buys one unit for 101.41 USD, which is no doubling of any minimum."""
    found = (await limits(api, BTC.id, DEAR.id)).cex
    assert found.min_out == 1
    assert Decimal("101.40") < found.min * 60_000 < Decimal("107")
    rows = await quotes(api, asked(plain(found.min), BTC.id, DEAR.id, types="standard"))
    assert rows[0].amount_out == 1


async def test_the_least_of_a_private_route_is_the_first_unit_inside(
    api: httpx2.AsyncClient, aa: PriceVenue, bb: PriceVenue, cc: PriceVenue
) -> None:
    """Two units buy 48.8 USD of the intermediary, three 73.7; the second leg takes 61.2."""
    aa.least, bb.least, cc.least = Decimal(10), Decimal(60), Decimal(60)
    bb.trades = cc.trades = frozenset({"XRP", "SOL", "ETH"})
    found = (await limits(api, COARSE.id, ETH.id)).private
    assert found.min == 3
    rows = await quotes(api, asked("3", COARSE.id, ETH.id, types="private"))
    assert (rows[0].error, rows[0].amount_out) == (None, found.min_out)
    await refusal(api, "/quotes", asked("2", COARSE.id, ETH.id, types="private"), "AMOUNT_TOO_LOW")


async def test_what_buys_one_unit_is_no_private_route_below_the_least(
    api: httpx2.AsyncClient,
) -> None:
    """Both legs take far less than what one unit costs, so their bounds say nothing of it."""
    found = (await limits(api, BTC.id, DEAR.id)).private
    assert found.min_out == 1
    unit = Decimal(1).scaleb(-BTC.decimals)
    rows = await quotes(api, asked(plain(found.min), BTC.id, DEAR.id, types="private"))
    assert (rows[0].error, rows[0].amount_out) == (None, 1)
    less = asked(plain(found.min - unit), BTC.id, DEAR.id, types="private")
    await refusal(api, "/quotes", less, "AMOUNT_TOO_LOW")


# Routes without a price: bounds, silence, failures


async def test_below_one_minimum_only_that_row_has_an_error(api: httpx2.AsyncClient) -> None:
    """bb takes 10 USD of BTC or more, the others 20."""
    rows = await quotes(api, asked("0.0003", types="standard"))
    assert [(row.swap, row.error) for row in rows] == [
        ("bb", None),
        ("aa", "below minimum: this route takes 0.00033334 BTC or more"),
        ("cc", "below minimum: this route takes 0.00033334 BTC or more"),
    ]
    for row in rows[1:]:
        assert row.quote_id is None
        assert row.amount_out is None
        assert row.net_amount_out is None
        assert row.min == Decimal("0.00033334")


async def test_above_one_maximum_only_that_row_has_an_error(api: httpx2.AsyncClient) -> None:
    rows = await quotes(api, asked("6", types="standard"))
    assert [(row.swap, row.error) for row in rows] == [
        ("cc", None),
        ("aa", "above maximum: this route takes 5 BTC or less"),
        ("bb", "above maximum: this route takes 5 BTC or less"),
    ]


async def test_too_low_names_the_smallest_of_the_asked_routes(api: httpx2.AsyncClient) -> None:
    everything = await refusal(api, "/quotes", asked("0.0001"), "AMOUNT_TOO_LOW")
    question = asked("0.0001", types="private")
    private = await refusal(api, "/quotes", question, "AMOUNT_TOO_LOW")
    assert "0.00016667 BTC" in everything["message"]
    bounds = await limits(api, BTC.id, ETH.id)
    assert f"{plain(bounds.private.min.normalize())} BTC" in private["message"]


@pytest.mark.proves("code QUOTE_OVER_LIMIT")
async def test_both_sides_of_the_dollar_cap(api: httpx2.AsyncClient, cc: PriceVenue) -> None:
    """cc itself would take 500,000 USD."""
    assert cc.most == 500_000
    assert any(row.error is None for row in await quotes(api, asked("400000", USDC.id, ETH.id)))
    body = await refusal(
        api, "/quotes", asked("400000.000001", USDC.id, ETH.id), "QUOTE_OVER_LIMIT"
    )
    assert "400000 USDC" in body["message"]
    body = await refusal(
        api,
        "/quotes/private-send",
        {"amount": "400000.000001", "from": USDC.id},
        "QUOTE_OVER_LIMIT",
    )


@each_row(
    "filters",
    [{}, {"inLegExcludedSwaps": "cc"}, {"outLegExcludedSwaps": "cc"}],
    ids=lambda filters: next(iter(filters), "none"),
)
@each_row("amount", ["0.001", "350000", "450000"])
async def test_a_refused_private_amount_is_told_one_that_is_taken(
    api: httpx2.AsyncClient, cc: PriceVenue, filters: dict[str, str], amount: str
) -> None:
    """Below every minimum, above every maximum, and above the cap of 400,000 USD too."""
    cc.most = Decimal(300_000)
    question = asked(amount, USDC.id, ETH.id, types="private", **filters)
    code = "AMOUNT_TOO_LOW" if amount == "0.001" else "QUOTE_OVER_LIMIT"
    found = await refusal(api, "/quotes", question, code)
    figure = found["message"].removesuffix(" USDC.").rpartition(" ")[2]
    rows = await quotes(api, {**question, "amount": figure})
    assert rows[0].error is None
    if not filters:
        private = (await limits(api, USDC.id, ETH.id)).private
        assert Decimal(figure) == (private.min if amount == "0.001" else private.max)


async def test_the_dollar_cap_needs_a_price(api: httpx2.AsyncClient) -> None:
    rows = await quotes(api, asked("450000", UNPRICED.id, ETH.id, types="standard"))
    assert [row.swap for row in rows if row.error is None] == ["cc"]


async def test_silence_everywhere_ends_after_two_seconds(
    service: ServiceParts, first: Caller, clock: ManualClock, venue_list: list[PriceVenue]
) -> None:
    for venue in venue_list:
        venue.silent = True
    query = QuoteQuery.model_validate(asked())
    begin = clock.monotonic()
    answer: QuoteList = await finish(clock, service.engine.quotes(first, query))
    assert clock.monotonic() - begin < 2.3
    assert {row.error for row in answer.quotes} == {"no answer within 2 s"}
    assert [row.type for row in answer.quotes].count("private") == 1
    assert all(row.quote_id is None for row in answer.quotes)


async def test_a_silent_venue_holds_no_private_route_of_others_up(
    service: ServiceParts, clock: ManualClock, cc: PriceVenue
) -> None:
    cc.silent = True
    begin = clock.monotonic()
    best = await finish(clock, service.engine.best_legs(BTC, ETH, Decimal("0.5"), "private"))
    assert clock.monotonic() - begin <= 2.0
    assert best.legs == ("aa", "bb")


async def test_a_disabled_venue_is_not_asked(api: httpx2.AsyncClient, aa: PriceVenue) -> None:
    aa.enabled = False
    rows = await quotes(api, asked())
    assert {row.swap for row in rows} == {"bb", "cc", None}
    assert aa.asked == 0


async def test_pairs_nobody_trades(api: httpx2.AsyncClient, venue_list: list[PriceVenue]) -> None:
    for venue in venue_list:
        venue.trades = frozenset({"BTC", "XRP"})
    assert await quotes(api, asked()) == []
    answer = await api.get("/minMax", params={"tokenIdFrom": BTC.id, "tokenIdTo": ETH.id})
    assert answer.json() == {"cex": None, "dex": None, "private": None}


# Amounts and tokens of quotes and private sends


# Amounts


@each_row("amount", ["0", "0.0"])
async def test_nothing_sent_privately_is_too_low(api: httpx2.AsyncClient, amount: str) -> None:
    parameters = {"amount": amount, "from": BTC.id}
    body = await refusal(api, "/quotes/private-send", parameters, "AMOUNT_TOO_LOW")
    assert body["fields"]["amount"]["value"] == amount


@each_row("path", ["/quotes", "/quotes/private-send"])
async def test_decimals_of_the_token(api: httpx2.AsyncClient, path: str) -> None:
    parameters = asked("0.12345678")
    if path.endswith("send"):
        del parameters["to"]
    assert (await api.get(path, params=parameters)).status_code == 200
    answer = await api.get(path, params={**parameters, "amount": "0.1234567800"})
    assert answer.status_code == 200, "trailing zeros change no amount"
    assert '"amountIn":0.12345678,' in answer.text
    body = await refusal(api, path, {**parameters, "amount": "0.123456789"})
    assert body["fields"] == {"amount": {"message": "BTC has 8 decimals", "value": "0.123456789"}}


@pytest.mark.proves("input get_quotes amount")
async def test_amounts_are_answered_exactly(api: httpx2.AsyncClient) -> None:
    amount = "1.000000000000000001"
    answer = await api.get("/quotes", params=asked(amount, ETH.id, BTC.id))
    assert f'"amountIn":{amount},' in answer.text
    for row in decode(QuoteList, answer.content, side="client").quotes:
        assert -int(row.amount_out.as_tuple().exponent) <= BTC.decimals


# Tokens


@pytest.mark.proves("code TOKEN_NOT_FOUND", "code TOKEN_DISABLED")
@each_row(
    ("token_id", "code"),
    [
        (UNKNOWN_TOKEN, "TOKEN_NOT_FOUND"),
        (DISABLED.id, "TOKEN_DISABLED"),
        (ON_DARK.id, "TOKEN_DISABLED"),
    ],
)
async def test_tokens_that_cannot_be_swapped(
    api: httpx2.AsyncClient, token_id: str, code: str
) -> None:
    for parameters, path, side in (
        (asked(from_=token_id), "/quotes", "from"),
        (asked(to=token_id), "/quotes", "to"),
        ({"amount": "1", "from": token_id}, "/quotes/private-send", "from"),
        ({"tokenIdFrom": token_id, "tokenIdTo": BTC.id}, "/minMax", "tokenIdFrom"),
        ({"tokenIdFrom": BTC.id, "tokenIdTo": token_id}, "/minMax", "tokenIdTo"),
    ):
        body = await refusal(api, path, parameters, code)
        assert f"'{side}'" in body["message"]
        assert "fields" not in body


@each_row("types", [None, "standard", ["private", "standard"], ["private", "dex"]])
async def test_one_token_on_both_sides(api: httpx2.AsyncClient, types: Any) -> None:
    parameters = asked(to=BTC.id.upper())
    if types is not None:
        parameters["types"] = types
    await refusal(api, "/quotes", parameters, field="to")


async def test_one_token_on_both_sides_privately(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    rows = await quotes(api, asked(to=BTC.id, types="private"))
    assert len(rows) == 6
    for _, stored in await with_stored(service, rows):
        assert stored.purpose == "private_send"


async def test_private_send_needs_the_token_to_support_it(api: httpx2.AsyncClient) -> None:
    for path, parameters in (
        ("/quotes/private-send", {"amount": "100", "from": USDC_SOL.id}),
        ("/quotes", asked("100", USDC_SOL.id, USDC_SOL.id, types="private")),
    ):
        await refusal(api, path, parameters, field="from")


@pytest.mark.proves("input get_quotes from", "input get_quotes to")
async def test_a_quote_is_for_the_tokens_that_were_named(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    for from_, to in ((BTC, ETH), (BTC, SOL), (SOL, BTC)):
        parameters = {"amount": "5", "from": from_.id, "to": to.id}
        for row, stored in await with_stored(service, await quotes(api, parameters)):
            if row.quote_id is None:
                continue
            assert (stored.token_in_id, stored.token_out_id) == (from_.id, to.id)


async def test_tokens_without_centralized_routes(api: httpx2.AsyncClient) -> None:
    assert await quotes(api, asked("100", ETH.id, CHAIN_ONLY.id)) == []
    answer = await api.get("/minMax", params={"tokenIdFrom": ETH.id, "tokenIdTo": CHAIN_ONLY.id})
    assert answer.json() == {"cex": None, "dex": None, "private": None}


async def test_the_intermediary_is_never_an_end(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    rows = await quotes(api, asked("1000", XRP.id, ETH.id, types="private"))
    for _, stored in await with_stored(service, rows):
        assert stored.middle_token_id == SOL.id


# Private send


@pytest.mark.proves("input get_private_send_quotes amount", "input get_private_send_quotes from")
async def test_private_send(api: httpx2.AsyncClient, service: ServiceParts) -> None:
    answer = await api.get(
        "/quotes/private-send",
        params={"amount": "0.5", "from": BTC.id, "refundAddress": "bc1qrefund"},
    )
    found = decode(PrivateSendQuoteList, answer.content, side="client")
    assert found.total == len(found.quotes) == 6
    outs = [row.amount_out for row in found.quotes]
    assert outs == sorted(outs, reverse=True)
    for row, stored in await with_stored(service, found.quotes):
        assert row.type == "private"
        assert row.amount_in == Decimal("0.5")
        assert row.amount_out < row.amount_in
        assert row.min <= row.amount_in <= row.max
        assert (stored.purpose, stored.route) == ("private_send", "private")
        assert stored.token_in_id == stored.token_out_id == BTC.id

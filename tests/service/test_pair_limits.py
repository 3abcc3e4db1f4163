"""Limits of a pair, and that quotes keep them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import httpx
import pytest

from service.price_venue import PriceVenue
from service.quote_calls import asked, limits, quotes, refusal
from service.world import (
    BTC,
    ETH,
    SOL,
    UNPRICED,
    USDC,
    USDC_SOL,
    XRP,
)
from swapdesk.wire.encoding.numbers import plain, quantize


@pytest.mark.parametrize(
    ("token_in", "token_out"),
    [(BTC, ETH), (ETH, BTC), (USDC, USDC_SOL), (XRP, ETH), (USDC, SOL), (UNPRICED, BTC)],
    ids=lambda token: token.symbol,
)
async def test_what_limits_promise_quotes_do(
    api: httpx.AsyncClient, token_in: Any, token_out: Any
) -> None:
    found = await limits(api, token_in.id, token_out.id)
    assert found.dex is None
    unit = Decimal(1).scaleb(-token_in.decimals)
    for route, bucket in (("standard", found.cex), ("private", found.private)):
        assert bucket is not None
        assert 0 < bucket.min < bucket.max
        for amount, out in ((bucket.min, bucket.min_out), (bucket.max, bucket.max_out)):
            rows = await quotes(api, asked(plain(amount), token_in.id, token_out.id, types=route))
            assert rows[0].error is None
            assert rows[0].amount_out == out
        # A private route keeps 2 % of margin inside what it takes.
        least, most = bucket.min - unit, bucket.max + unit
        if route == "private":
            least, most = quantize(least / 2, token_in.decimals, up=False), most * 2
        for amount, code in ((least, "AMOUNT_TOO_LOW"), (most, "QUOTE_OVER_LIMIT")):
            body = await refusal(
                api,
                "/quotes",
                asked(plain(amount), token_in.id, token_out.id, types=route),
            )
            assert (body["status"], body["code"]) == (422, code)


async def test_limits_are_the_widest_over_all_venues(api: httpx.AsyncClient) -> None:
    found = await limits(api, USDC.id, ETH.id)
    assert found.cex is not None
    assert (found.cex.min, found.cex.max) == (10, 400_000)
    assert found.private is not None
    assert found.private.min > 10


async def test_sides_by_cex_id(api: httpx.AsyncClient) -> None:
    assert await limits(api, "BTC", "eth") == await limits(api, BTC.id, ETH.id.upper())
    body = await refusal(api, "/minMax", {"tokenIdFrom": "BTC", "tokenIdTo": "NOPE"})
    assert (body["status"], body["code"]) == (404, "TOKEN_NOT_FOUND")


@pytest.mark.parametrize("to", [BTC.id, BTC.id.upper(), "BTC", "btc"])
async def test_limits_of_one_token_with_itself(api: httpx.AsyncClient, to: str) -> None:
    body = await refusal(api, "/minMax", {"tokenIdFrom": BTC.id, "tokenIdTo": to})
    assert (body["status"], body["code"]) == (422, "VALIDATION_ERROR")
    assert body["fields"].keys() == {"tokenIdTo"}


async def test_limits_hold_while_prices_move(
    api: httpx.AsyncClient, aa: PriceVenue, bb: PriceVenue, cc: PriceVenue
) -> None:
    """A first leg that pays 1 % less a moment later still reaches the second one's minimum."""
    found = await limits(api, BTC.id, ETH.id)
    assert found.private is not None
    for venue in (aa, bb, cc):
        venue.fee += Decimal("0.01")
    rows = await quotes(api, asked(plain(found.private.min), types="private"))
    assert rows[0].error is None

"""Limits of a pair, and that quotes keep them."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import httpx2
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
from swapdesk.clock import ManualClock
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.quoting.bounds import KEPT_SECONDS, drawn_in
from swapdesk.service.venues.adapter import VenueLimits
from swapdesk.wire.encoding.numbers import plain, quantize


@pytest.mark.parametrize(
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


async def test_every_amount_between_the_limits_is_priced(api: httpx2.AsyncClient) -> None:
    found = await limits(api, BTC.id, ETH.id)
    for route, bucket in (("standard", found.cex), ("private", found.private)):
        for share in ("0.0001", "0.01", "0.1", "0.5", "0.9", "0.99", "0.9999"):
            amount = bucket.min + (bucket.max - bucket.min) * Decimal(share)
            inside = plain(quantize(amount, BTC.decimals, up=False))
            rows = await quotes(api, asked(inside, types=route))
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
    """bb takes the smallest amounts, but is out of order."""
    bb.failing = True
    found = await limits(api, USDC.id, ETH.id)
    assert (found.cex.min, found.cex.max) == (20, 400_000)


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


async def test_limits_are_the_widest_over_all_venues(api: httpx2.AsyncClient) -> None:
    found = await limits(api, USDC.id, ETH.id)
    assert (found.cex.min, found.cex.max) == (10, 400_000)
    assert found.private.min > 10


@pytest.mark.proves("input get_pair_limits tokenIdFrom", "input get_pair_limits tokenIdTo")
async def test_sides_by_cex_id(api: httpx2.AsyncClient) -> None:
    assert await limits(api, "BTC", "eth") == await limits(api, BTC.id, ETH.id.upper())
    await refusal(api, "/minMax", {"tokenIdFrom": "BTC", "tokenIdTo": "NOPE"}, "TOKEN_NOT_FOUND")


@pytest.mark.parametrize("to", [BTC.id, BTC.id.upper(), "BTC", "btc"])
async def test_limits_of_one_token_with_itself(api: httpx2.AsyncClient, to: str) -> None:
    body = await refusal(api, "/minMax", {"tokenIdFrom": BTC.id, "tokenIdTo": to})
    assert body["fields"].keys() == {"tokenIdTo"}


async def test_limits_hold_while_prices_move(
    api: httpx2.AsyncClient, aa: PriceVenue, bb: PriceVenue, cc: PriceVenue
) -> None:
    """A first leg that pays 1 % less a moment later still reaches the second one's minimum."""
    found = await limits(api, BTC.id, ETH.id)
    for venue in (aa, bb, cc):
        venue.fee += Decimal("0.01")
    rows = await quotes(api, asked(plain(found.private.min), types="private"))
    assert rows[0].error is None


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

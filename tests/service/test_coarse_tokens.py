"""Limits of tokens that come in whole units only (contract 6.3)."""

from __future__ import annotations

from decimal import Decimal

import httpx2
import pytest

from service.price_venue import PriceVenue
from service.quote_calls import asked, limits, quotes, refusal
from service.world import BTC, ETH, ETHEREUM, TOKENS, token
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.tokens import Token

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

"""``GET /minMax`` of on-chain routes, and that quotes keep what it says."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from service.dex.trading import Floor, told, trader
from swapdesk.wire.encoding.numbers import plain, quantize
from swapdesk.wire.tokens import Token

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def limits(floor: Floor, token_in: str, token_out: str) -> dict[str, Any]:
    query = {"tokenIdFrom": token_in, "tokenIdTo": token_out}
    answer = await floor.api.get("/minMax", params=query)
    assert answer.status_code == 200, answer.text
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
    assert (await limits(floor, sold.cex_token_id, bought.id))["dex"] is None


async def test_an_id_is_one_in_either_case(floor: Floor) -> None:
    sold, bought = floor.token("base", "USDC"), floor.token("base", "WETH")
    assert sold.id != sold.id.upper()
    told_of = await limits(floor, sold.id.upper(), bought.id.upper())
    assert told_of["dex"] == (await limits(floor, sold.id, bought.id))["dex"] is not None

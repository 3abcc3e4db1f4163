"""A cross-chain portal: locked on one chain, paid out on the other."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest
from eth_account import Account

from patience import PATIENCE
from sandbox.evm.evm_world import KEY
from service.dex.trading import Floor, Trader, trader
from swapdesk.sandbox.evm_world.genesis import RELAYER
from swapdesk.sandbox.node.evm.genesis import sandbox_key

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_a_transfer_to_another_chain(floor: Floor) -> None:
    someone = await trader(floor, 1601, coins="1", USDC="300")
    here, there = floor.token("base", "USDC"), floor.token("ethereum", "USDC")
    row = (await someone.quotes(here, there, "300"))["me"]
    assert row["bridgeFeeUsd"] > 0
    assert row["feeUsd"] > 0
    assert row["netAmountOut"] < row["amountOut"]
    assert row["amountOut"] == Decimal("299.88")
    assert await someone.approve_all(row["quoteId"]) == 1
    order = await someone.create(row["quoteId"])
    assert int(order["metadata"]["value"]) > 0
    sent = await someone.execute(order["metadata"])
    assert await someone.mined(sent)
    assert await someone.confirm(order["serviceId"], sent) is True
    ended = await floor.ended(order["serviceId"])
    assert ended["inTransactionOutHash"] != sent
    assert await someone.holds("USDC") == 0
    await floor.work()
    assert await someone.holds("USDC", "ethereum") == 299_880_000, "paid once"
    stored = await floor.parts.store.get_order("partner-first", order["serviceId"])
    assert stored.fee_usd == row["feeUsd"]
    assert stored.commission == row["feeUsd"] / 5, "20 percent of the venue's fee"


async def test_other_assets_are_not_carried(floor: Floor) -> None:
    someone = await trader(floor, 1602)
    usdc, usdt = floor.token("base", "USDC"), floor.token("ethereum", "USDT")
    assert "me" not in await someone.quotes(usdc, usdt, "300")


async def test_what_the_relayer_forgot_is_paid_once(floor: Floor) -> None:
    """Two payouts of one transfer go out before anybody wrote one down."""
    someone = await trader(floor, 1603, coins="1", USDC="200")
    here, there = floor.token("base", "USDC"), floor.token("ethereum", "USDC")
    row = (await someone.quotes(here, there, "200"))["me"]
    assert await someone.approve_all(row["quoteId"]) == 1
    order = await someone.create(row["quoteId"])
    sent = await someone.execute(order["metadata"])
    assert await someone.mined(sent)
    assert await someone.confirm(order["serviceId"], sent) is True
    stored = await floor.parts.store.get_order("partner-first", order["serviceId"])
    async with asyncio.timeout(PATIENCE):
        while True:
            twins = await asyncio.gather(*(floor.parts.dex.progress(stored) for _ in range(2)))
            if any("payout" in each.notes for each in twins):
                break
    await floor.ended(order["serviceId"])
    assert await someone.holds("USDC", "ethereum") == 199_920_000


async def test_nothing_is_locked_that_the_relayer_cannot_pay_out_any_more(floor: Floor) -> None:
    """It could when the quote was given, and somebody else was paid since."""
    someone = await trader(floor, 1604)
    here, there = floor.token("base", "DAI"), floor.token("ethereum", "DAI")
    row = (await someone.quotes(here, there, "100"))["me"]
    key = Account.from_key(sandbox_key(KEY, RELAYER).secret)
    relayer, other = Trader(floor, key, "ethereum"), await trader(floor, 1605, "ethereum")
    await other.fund("1")
    held = await relayer.holds("DAI")
    await relayer.give("DAI", held, other.address)
    try:
        refused = await someone.create(row["quoteId"], status=422)
        assert (refused["code"], "relayer" in refused["message"]) == ("INVALID_SWAP", True)
        assert "relayer" in (await someone.quotes(here, there, "100"))["me"]["error"]
    finally:
        await other.give("DAI", held, relayer.address)
    assert "error" not in (await someone.quotes(here, there, "100"))["me"]

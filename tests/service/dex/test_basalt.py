"""An AMM with approvals, from the quote to the end of the order."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from sandbox.evm.evm_world import stranger
from service.dex.trading import Floor, trader

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_a_swap_with_an_approval(floor: Floor) -> None:
    someone = await trader(floor, 1001, USDC="1000")
    row = await someone.row("ba", "USDC", "WETH", "250")
    assert row["type"] == "dex"
    assert row["requiresApproval"] is True
    assert row["supportsSignatures"] is False
    assert row["netAmountOut"] == row["amountOut"]
    assert row["gasUsd"] > 0
    assert not await someone.allowed(row["quoteId"])
    missing = await someone.missing(row["quoteId"])
    assert missing["signatures"] == []
    (approval,) = missing["approvals"]
    assert approval["fromChain"]["shortName"] == "base"
    assert await someone.mined(await someone.send(approval["to"], approval["data"]))
    assert (await someone.missing(row["quoteId"]))["approvals"] == []
    assert await someone.allowed(row["quoteId"])

    order = await someone.create(row["quoteId"])
    assert order["isDex"] is True
    assert "depositAddress" not in order
    assert order["displayStatus"] == "WAITING_FOR_DEPOSIT"
    sent = await someone.execute(order["metadata"])
    assert await someone.mined(sent)
    assert await someone.confirm(order["serviceId"], sent) is True
    assert await someone.confirm(order["serviceId"], sent) is True
    ended = await floor.ended(order["serviceId"])
    assert ended["orderFinishedReceived"]
    assert ended["inTransactionOutHash"] == sent
    assert json.loads(ended["metadata"]) == order["metadata"]
    assert ended["outAmount"] == Decimal(await someone.holds("WETH")).scaleb(-18)
    assert await someone.holds("USDC") == 750 * 10**6


async def test_the_native_coin_needs_no_approval(floor: Floor) -> None:
    someone = await trader(floor, 1002, coins="5")
    row = await someone.row("ba", "ETH", "USDC", "0.5")
    assert row["requiresApproval"] is False
    assert await someone.missing(row["quoteId"]) == {"approvals": [], "signatures": []}
    assert await someone.allowed(row["quoteId"])
    order = await someone.create(row["quoteId"])
    assert order["metadata"]["value"] == str(5 * 10**17)
    ended = await someone.swapped(order)
    assert ended["outAmount"] == Decimal(await someone.holds("USDC")).scaleb(-6)


async def test_the_native_coin_is_paid_out_to_another_address(floor: Floor) -> None:
    someone, other = await trader(floor, 1003), await trader(floor, 1004)
    await someone.fund("1", USDC="500")
    row = await someone.row("ba", "USDC", "ETH", "500")
    assert await someone.approve_all(row["quoteId"]) == 1
    order = await someone.create(row["quoteId"], addressTo=other.address)
    assert order["receiverAddress"] == other.address
    ended = await someone.swapped(order)
    assert ended["outAmount"] == Decimal(await other.holds("ETH")).scaleb(-18)


async def test_a_token_that_wants_its_allowance_reset(floor: Floor) -> None:
    someone = await trader(floor, 1005, "ethereum", USDT="900")
    first = await someone.row("ba", "USDT", "USDC", "100")
    assert await someone.approve_all(first["quoteId"]) == 1
    second = await someone.row("ba", "USDT", "USDC", "900")
    assert not await someone.allowed(second["quoteId"])
    assert await someone.approve_all(second["quoteId"]) == 2
    assert await someone.allowed(second["quoteId"])
    assert await someone.approve_all(second["quoteId"]) == 0


@pytest.mark.proves("input create_exchange addressFrom")
async def test_a_create_needs_its_sender(floor: Floor) -> None:
    someone = await trader(floor, 1006, coins="5")
    row = await someone.row("ba", "ETH", "USDC", "0.5")
    body = {"quoteId": row["quoteId"], "addressTo": someone.address}
    refused = await someone.ask("/exchanges", body, 422)
    assert refused["fields"].keys() == {"addressFrom"}
    wrong = await someone.create(row["quoteId"], 422, addressFrom="nobody")
    assert wrong["fields"].keys() == {"addressFrom"}
    surplus = [{"signature": "0x" + "11" * 65, "key": "permit"}]
    wrong = await someone.create(row["quoteId"], 422, signatures=surplus)
    assert wrong["fields"].keys() == {"signatures"}


async def test_what_would_fail_is_refused_and_the_quote_stays(floor: Floor) -> None:
    someone = await trader(floor, 1007, coins="1", USDC="100")
    row = await someone.row("ba", "USDC", "WETH", "100")
    refused = await someone.create(row["quoteId"], 422)
    assert refused["code"] == "INVALID_SWAP"
    assert "insufficient allowance" in refused["message"]
    assert await someone.approve_all(row["quoteId"]) == 1
    order = await someone.create(row["quoteId"])
    assert await someone.create(row["quoteId"]) == order


async def test_markup_and_filters_of_a_create_are_those_of_its_quote(floor: Floor) -> None:
    someone = await trader(floor, 1008, coins="5")
    row = await someone.row("ba", "ETH", "USDC", "0.5")
    for more in ({"markup": 1}, {"inLegIncludedSwaps": ["ba"]}):
        refused = await someone.create(row["quoteId"], 422, **more)
        assert refused["code"] == "INVALID_SWAP"
    assert (await someone.create(row["quoteId"], markup=0))["isDex"] is True


async def test_a_transaction_that_fails_ends_its_order(floor: Floor) -> None:
    someone = await trader(floor, 1009, coins="5", USDC="100")
    row = await someone.row("ba", "USDC", "WETH", "100")
    assert await someone.approve_all(row["quoteId"]) == 1
    order = await someone.create(row["quoteId"])
    # The tokens go elsewhere first.
    await someone.give("USDC", 100 * 10**6, stranger(1999).address)
    sent = await someone.execute(order["metadata"])
    assert not await someone.mined(sent)
    assert await someone.confirm(order["serviceId"], sent) is True
    ended = await floor.ended(order["serviceId"], "FAILED")
    assert ended["actionRequired"] is False
    assert "orderFinishedReceived" not in ended

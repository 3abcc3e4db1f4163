"""An AMM with approvals, from the quote to the end of the order."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from sandbox.evm.evm_world import stranger
from service.dex.trading import Floor, trader
from swapdesk.chain.calldata import erc20

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_a_swap_with_an_approval(floor: Floor) -> None:
    someone = await trader(floor, 1001)
    await someone.fund(USDC="1000")
    usdc, weth = floor.token("base", "USDC"), floor.token("base", "WETH")
    row = (await someone.quotes(usdc, weth, "250"))["ba"]
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
    ended = await floor.until(order["serviceId"], lambda told: told["status"] >= 4)
    assert ended["displayStatus"] == "SWAP_COMPLETED"
    assert ended["orderFinishedReceived"]
    assert ended["inTransactionOutHash"] == sent
    assert json.loads(ended["metadata"]) == order["metadata"]
    paid = await someone.holds(weth)
    assert ended["outAmount"] == Decimal(paid).scaleb(-18)
    assert await someone.holds(usdc) == 750 * 10**6


async def test_the_native_coin_needs_no_approval(floor: Floor) -> None:
    someone = await trader(floor, 1002)
    await someone.fund("5")
    eth, usdc = floor.token("base", "ETH"), floor.token("base", "USDC")
    row = (await someone.quotes(eth, usdc, "0.5"))["ba"]
    assert row["requiresApproval"] is False
    assert await someone.missing(row["quoteId"]) == {"approvals": [], "signatures": []}
    assert await someone.allowed(row["quoteId"])
    order = await someone.create(row["quoteId"])
    assert order["metadata"]["value"] == str(5 * 10**17)
    sent = await someone.execute(order["metadata"])
    assert await someone.mined(sent)
    assert await someone.confirm(order["serviceId"], sent) is True
    ended = await floor.until(order["serviceId"], lambda told: told["status"] >= 4)
    assert ended["displayStatus"] == "SWAP_COMPLETED"
    assert ended["outAmount"] == Decimal(await someone.holds(usdc)).scaleb(-6)


async def test_the_native_coin_is_paid_out_to_another_address(floor: Floor) -> None:
    someone, other = await trader(floor, 1003), await trader(floor, 1004)
    await someone.fund("1", USDC="500")
    eth, usdc = floor.token("base", "ETH"), floor.token("base", "USDC")
    row = (await someone.quotes(usdc, eth, "500"))["ba"]
    assert await someone.approve_all(row["quoteId"]) == 1
    order = await someone.create(row["quoteId"], addressTo=other.address)
    assert order["receiverAddress"] == other.address
    sent = await someone.execute(order["metadata"])
    assert await someone.mined(sent)
    assert await someone.confirm(order["serviceId"], sent) is True
    ended = await floor.until(order["serviceId"], lambda told: told["status"] >= 4)
    assert ended["outAmount"] == Decimal(await other.holds(eth)).scaleb(-18)


async def test_a_token_that_wants_its_allowance_reset(floor: Floor) -> None:
    someone = await trader(floor, 1005, "ethereum")
    await someone.fund(USDT="900")
    usdt, usdc = floor.token("ethereum", "USDT"), floor.token("ethereum", "USDC")
    first = (await someone.quotes(usdt, usdc, "100"))["ba"]
    assert await someone.approve_all(first["quoteId"]) == 1
    second = (await someone.quotes(usdt, usdc, "900"))["ba"]
    assert not await someone.allowed(second["quoteId"])
    assert await someone.approve_all(second["quoteId"]) == 2
    assert await someone.allowed(second["quoteId"])
    assert await someone.approve_all(second["quoteId"]) == 0


@pytest.mark.proves("input create_exchange addressFrom")
async def test_a_create_needs_its_sender(floor: Floor) -> None:
    someone = await trader(floor, 1006)
    await someone.fund("5")
    eth, usdc = floor.token("base", "ETH"), floor.token("base", "USDC")
    row = (await someone.quotes(eth, usdc, "0.5"))["ba"]
    body = {"quoteId": row["quoteId"], "addressTo": someone.address}
    refused = await someone.ask("/exchanges", body, 422)
    assert refused["fields"].keys() == {"addressFrom"}
    wrong = await someone.create(row["quoteId"], 422, addressFrom="nobody")
    assert wrong["fields"].keys() == {"addressFrom"}
    surplus = [{"signature": "0x" + "11" * 65, "key": "permit"}]
    wrong = await someone.create(row["quoteId"], 422, signatures=surplus)
    assert wrong["fields"].keys() == {"signatures"}


async def test_what_would_fail_is_refused_and_the_quote_stays(floor: Floor) -> None:
    someone = await trader(floor, 1007)
    await someone.fund("1", USDC="100")
    usdc, weth = floor.token("base", "USDC"), floor.token("base", "WETH")
    row = (await someone.quotes(usdc, weth, "100"))["ba"]
    refused = await someone.create(row["quoteId"], 422)
    assert refused["code"] == "INVALID_SWAP"
    assert "insufficient allowance" in refused["message"]
    assert await someone.approve_all(row["quoteId"]) == 1
    order = await someone.create(row["quoteId"])
    again = await someone.create(row["quoteId"])
    assert again == order


async def test_markup_and_filters_of_a_create_are_those_of_its_quote(floor: Floor) -> None:
    someone = await trader(floor, 1008)
    await someone.fund("5")
    eth, usdc = floor.token("base", "ETH"), floor.token("base", "USDC")
    row = (await someone.quotes(eth, usdc, "0.5"))["ba"]
    for more in ({"markup": 1}, {"inLegIncludedSwaps": ["ba"]}):
        refused = await someone.create(row["quoteId"], 422, **more)
        assert refused["code"] == "INVALID_SWAP"
    assert (await someone.create(row["quoteId"], markup=0))["isDex"] is True


async def test_a_transaction_that_fails_ends_its_order(floor: Floor) -> None:
    someone = await trader(floor, 1009)
    await someone.fund("5", USDC="100")
    usdc, weth = floor.token("base", "USDC"), floor.token("base", "WETH")
    row = (await someone.quotes(usdc, weth, "100"))["ba"]
    assert await someone.approve_all(row["quoteId"]) == 1
    order = await someone.create(row["quoteId"])
    metadata = order["metadata"]
    # The tokens go elsewhere first.
    assert usdc.address is not None
    gone = "0x" + erc20.TRANSFER.call(stranger(1999).address, 100 * 10**6).hex()
    assert await someone.mined(await someone.send(usdc.address, gone))
    sent = await someone.execute(metadata)
    assert not await someone.mined(sent)
    assert await someone.confirm(order["serviceId"], sent) is True
    ended = await floor.until(order["serviceId"], lambda told: told["status"] >= 4)
    assert ended["displayStatus"] == "FAILED"
    assert ended["actionRequired"] is False
    assert "orderFinishedReceived" not in ended

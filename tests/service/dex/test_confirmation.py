"""``/dex/confirmTx``: which transaction counts for which order; and whose a permission is."""

from __future__ import annotations

from typing import Any

import pytest

from service.dex.trading import Floor, Trader, trader
from service.world import AS_SECOND
from swapdesk.chain.calldata import erc20
from swapdesk.chain.deployments import SANDBOX_VENUES

pytestmark = pytest.mark.asyncio(loop_scope="package")
UNKNOWN = "0x" + "ab" * 32


async def ordered(floor: Floor, number: int, amount: str = "0.01") -> tuple[Trader, dict[str, Any]]:
    """A trader with coins, and an order that sells some of them."""
    someone = await trader(floor, number, coins="1")
    return someone, await someone.ordered("ba", "ETH", "USDC", amount)


@pytest.mark.proves("code ALREADY_SUBMITTED", "input dex_confirm_transaction txHash")
async def test_one_transaction_counts(floor: Floor) -> None:
    someone, order = await ordered(floor, 1401)
    sent = await someone.sent(order)
    assert await someone.confirm(order["serviceId"], sent.upper().replace("X", "x")) is True
    again = await someone.execute(order["metadata"])
    assert await someone.mined(again)
    for tx_hash in (again, UNKNOWN):
        await someone.confirm(order["serviceId"], tx_hash, "ALREADY_SUBMITTED")


async def test_one_that_waits_counts_and_is_seen(floor: Floor) -> None:
    someone, order = await ordered(floor, 1402)
    assert await someone.confirm(order["serviceId"], UNKNOWN) is False
    sent = await someone.execute(order["metadata"])
    assert await someone.confirm(order["serviceId"], sent) is True
    seen = await floor.until(order["serviceId"], lambda told: told["status"] >= 1)
    assert seen["displayStatus"] in ("DEPOSIT_DETECTED", "SWAP_COMPLETED")
    assert sent in seen["hashUrl"]


@pytest.mark.proves("input dex_confirm_transaction txHash")
async def test_another_transaction_is_none_of_this_order(floor: Floor) -> None:
    someone, order = await ordered(floor, 1403)
    metadata = order["metadata"]
    other, theirs = await ordered(floor, 1404)
    foreign = await other.execute(theirs["metadata"])
    plain = await someone.send(other.address, "0x", 1)
    pricier = await someone.send(metadata["to"], metadata["data"], int(metadata["value"]) + 1)
    copied = await other.execute(metadata)
    for sent in (foreign, plain, pricier, copied):
        await someone.confirm(order["serviceId"], sent, "txHash")
    for malformed in ("1" * 64, "0x" + "ab" * 31, "5" * 88):
        await someone.confirm(order["serviceId"], malformed, "txHash")
    await someone.confirm(order["serviceId"], None, "BAD_REQUEST")
    assert await other.confirm(theirs["serviceId"], foreign) is True


async def test_a_transaction_is_confirmed_for_one_order(floor: Floor) -> None:
    """Two creates in one second may have the very same calldata."""
    someone, first = await ordered(floor, 1405)
    while True:
        _, second = await ordered(floor, 1405)
        if second["metadata"] == {**first["metadata"], "gasLimit": second["metadata"]["gasLimit"]}:
            break
        first = second
    sent = await someone.execute(first["metadata"])
    assert await someone.confirm(first["serviceId"], sent) is True
    await someone.confirm(second["serviceId"], sent, "txHash")


@pytest.mark.proves("input dex_confirm_transaction id")
async def test_only_orders_of_this_partner_and_kind(floor: Floor) -> None:
    someone, order = await ordered(floor, 1406)
    await someone.confirm("nothing", UNKNOWN, "NOT_FOUND")
    body = {"id": order["serviceId"], "txHash": UNKNOWN}
    foreign = await floor.api.post("/dex/confirmTx", json=body, headers=AS_SECOND)
    assert foreign.json()["code"] == "NOT_FOUND"


# Permissions


CONTRACTS = {venue.provider: venue.address for venue in SANDBOX_VENUES}


async def quoted(floor: Floor, number: int, amount: str = "100") -> tuple[Trader, dict[str, Any]]:
    someone = await trader(floor, number)
    usdc, weth = floor.token("base", "USDC"), floor.token("base", "WETH")
    return someone, await someone.quotes(usdc, weth, amount)


@pytest.mark.proves("input dex_approve quoteId", "input dex_allowance quoteId")
async def test_a_permission_is_that_of_its_quote(floor: Floor) -> None:
    someone, rows = await quoted(floor, 1201)
    quote_id = rows["ba"]["quoteId"]
    (approval,) = (await someone.missing(quote_id))["approvals"]
    call = erc20.APPROVE.read(bytes.fromhex(approval["data"][2:]))
    assert (call["spender"], call["amount"]) == (CONTRACTS["ba"], 100 * 10**6)
    for path in ("/dex/approve", "/dex/allowance"):
        for unusable in ("0" * 24, "nothing"):
            body = {"quoteId": unusable, "addressFrom": someone.address}
            await someone.ask(path, body, "INVALID_SWAP")
        body = {"quoteId": quote_id, "addressFrom": someone.address}
        foreign = await floor.api.post(path, json=body, headers=AS_SECOND)
        assert foreign.json()["code"] == "INVALID_SWAP"


@pytest.mark.proves("input dex_approve addressFrom", "input dex_allowance addressFrom")
async def test_a_permission_is_that_of_its_owner(floor: Floor) -> None:
    someone, rows = await quoted(floor, 1202)
    quote_id = rows["ba"]["quoteId"]
    (approval,) = (await someone.missing(quote_id))["approvals"]
    assert approval["from"] == someone.address
    await someone.fund("1")
    assert await someone.approve_all(quote_id) == 1
    other = await trader(floor, 1203)
    assert await someone.allowed(quote_id)
    assert not await other.allowed(quote_id)
    for path in ("/dex/approve", "/dex/allowance"):
        for address_from in ("T" + "a" * 33, someone.address[:-1] + "0"):
            body = {"quoteId": quote_id, "addressFrom": address_from}
            await someone.ask(path, body, "addressFrom")


@pytest.mark.proves("input dex_approve usePermit", "input dex_allowance usePermit")
async def test_a_permit_or_an_approval(floor: Floor) -> None:
    someone, rows = await quoted(floor, 1204)
    for code in ("fa", "is"):
        quote_id = rows[code]["quoteId"]
        usual = await someone.missing(quote_id)
        assert usual["approvals"] == []
        assert usual["signatures"][0]["data"]["primaryType"] == "Permit"
        assert await someone.missing(quote_id, usePermit=True) == usual
        without = await someone.missing(quote_id, usePermit=False)
        (approval,) = without["approvals"]
        call = erc20.APPROVE.read(bytes.fromhex(approval["data"][2:]))
        assert call["spender"] == CONTRACTS[code]
        body = {"quoteId": quote_id, "addressFrom": someone.address, "usePermit": False}
        assert await someone.ask("/dex/allowance", body) is False

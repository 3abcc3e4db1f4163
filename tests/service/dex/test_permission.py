"""``/dex/approve`` and ``/dex/allowance``."""

from __future__ import annotations

from typing import Any

import pytest

from service.dex.trading import Floor, Trader, trader
from service.world import AS_SECOND
from swapdesk.chain.calldata import erc20
from swapdesk.chain.deployments import SANDBOX_VENUES

pytestmark = pytest.mark.asyncio(loop_scope="package")

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
            assert (await someone.ask(path, body, 422))["code"] == "INVALID_SWAP"
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
            refused = await someone.ask(path, body, 422)
            assert refused["fields"].keys() == {"addressFrom"}


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

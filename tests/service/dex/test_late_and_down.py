"""Orders past their time, and chains that do not answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

import databases
from sandbox.evm.evm_world import KEY, stranger
from service.dex.trading import Floor, told, trader, trading
from service.http_calls import calling, declined, small_service
from service.new_store import open_new
from service.world import AS_FIRST
from swapdesk.clock import SystemClock
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.onchain import build_onchain
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import build_service

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def floor(
    engine: databases.Name, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Floor]:
    """A world of its own: here venues and chains are down, and orders stay open."""
    async with trading(tmp_path_factory.mktemp("dex")) as made:
        yield made


@pytest.mark.parametrize(("sell", "buy"), [("ETH", "USDC"), ("USDC", "WETH")])
async def test_what_was_executed_and_told_nobody_ends_as_the_chain_says(
    floor: Floor, sell: str, buy: str
) -> None:
    someone = await trader(floor, 1801 if sell == "ETH" else 1804)
    await someone.fund("1", USDC="100")
    order = await someone.ordered("ba", sell, buy, "0.1" if sell == "ETH" else "50")
    sent = await someone.execute(order["metadata"])
    assert await someone.mined(sent)
    floor.clock.advance_to(floor.clock.offset + 1_900)
    ended = await floor.ended(order["serviceId"])
    assert ended["inTransactionOutHash"] == sent
    # Who tells of it later is told that it is known; another hash is not.
    assert await someone.confirm(order["serviceId"], sent) is True
    await someone.confirm(order["serviceId"], "0x" + "ab" * 32, "ALREADY_SUBMITTED")


async def test_what_was_never_executed_expires(floor: Floor) -> None:
    """Other transactions of the owner, with the same token, are not the order's."""
    someone = await trader(floor, 1805, coins="1", USDC="100")
    order = await someone.ordered("ba", "USDC", "WETH", "50")
    await someone.give("USDC", 50 * 10**6, stranger(1).address)
    floor.clock.advance_to(floor.clock.offset + 1_900)
    ended = await floor.ended(order["serviceId"], "EXPIRED")
    assert "inTransactionOutHash" not in ended
    assert ended["actionRequired"] is False


async def test_a_quote_that_ended_is_nothing_to_sign_for(floor: Floor) -> None:
    someone = await trader(floor, 1802)
    row = await someone.row("ba", "ETH", "USDC", "0.1")
    floor.clock.advance_to(floor.clock.offset + 61)
    body = {"quoteId": row["quoteId"], "addressFrom": someone.address}
    await someone.ask("/dex/approve", body, "INVALID_SWAP")
    await someone.create(row["quoteId"], "INVALID_SWAP")


async def test_a_chain_that_does_not_answer(floor: Floor, tmp_path: Path) -> None:
    """Rows say so, nothing is created, and quotes of the living chain still stand."""
    clock = SystemClock()
    chains = build_chains()
    tokens = build_tokens(chains, clock.now())
    onchain = build_onchain("http://127.0.0.1:9/", KEY, chains, tokens, clock, Market(7))
    # The same orders and quotes, seen by a service whose chains are gone.
    store = open_new(tmp_path / "service.db")
    parts = small_service(
        clock, store, chains=chains, tokens=tokens, intermediaries=[], onchain=onchain
    )
    usdc, weth = floor.token("base", "USDC"), floor.token("base", "WETH")
    someone = await trader(floor, 1803)
    living = (await someone.quotes(usdc, weth, "100"))["ba"]
    kept = await floor.parts.store.quotes.get("partner-first", living["quoteId"])
    await store.quotes.save([kept])
    async with calling(build_service(parts), AS_FIRST) as api:
        query = {"amount": "100", "from": usdc.id, "to": weth.id, "types": "dex"}
        rows = told(await api.get("/quotes", params=query))["quotes"]
        assert {row["swap"] for row in rows} == {"ba", "fa", "is"}
        for row in rows:
            assert row["error"] == "the chain does not answer at present"
            assert "quoteId" not in row
        body = {"quoteId": kept.quote_id, "addressFrom": stranger(1803).address}
        for path in ("/dex/approve", "/dex/allowance"):
            await declined(api.post(path, json=body), "SERVICE_UNAVAILABLE")
        create = {**body, "addressTo": body["addressFrom"]}
        await declined(api.post("/exchanges", json=create), "SERVICE_UNAVAILABLE")
        assert await store.orders.of_quote("partner-first", kept.quote_id) is None
    await onchain.close()
    await store.close()

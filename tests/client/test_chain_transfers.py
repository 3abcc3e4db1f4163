"""Blocks, receipts and balances of an EVM chain, as its node tells them or does not."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from http_clients import node_transport
from swapdesk.client.chain_transfers import ChainUnreadable, EvmBlocks, Mined

HASH, TOKEN, OWNER = "0x" + "8f" * 32, "0x" + "5c" * 20, "0x" + "AB" * 20


def blocks(result: Any, asked: list[Any] | None = None) -> EvmBlocks:
    """A node that answers every question with this."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        calls = json.loads(request.content)
        if asked is not None:
            asked.extend(calls)
        return httpx2.Response(200, json=[{"id": each["id"], "result": result} for each in calls])

    return EvmBlocks("base", "http://127.0.0.1:9", transport=node_transport(answer))


async def test_receipt_tells_block_success_and_cost() -> None:
    told = {
        "blockNumber": "0x10",
        "status": "0x1",
        "gasUsed": "0x5208",
        "effectiveGasPrice": "0xa",
    }
    assert await blocks(told).mined(HASH) == Mined(16, succeeded=True, fee=210_000)
    assert await blocks({**told, "status": "0x0"}).mined(HASH) == Mined(
        16, succeeded=False, fee=210_000
    )
    assert await blocks(None).mined(HASH) is None


async def test_balance_is_asked_of_the_contract() -> None:
    asked: list[Any] = []
    assert await blocks("0x" + "0" * 62 + "2a", asked).balance(TOKEN, OWNER) == 42
    (call, at) = asked[0]["params"]
    assert (call["to"], at) == (TOKEN, "latest")
    assert call["data"] == "0x70a08231" + "0" * 24 + "ab" * 20


@pytest.mark.parametrize("told", ["0x", "", "42", "0x" + "1" * 65, 42, None, {}, "0xzz"])
async def test_what_is_no_number_is_no_answer(told: Any) -> None:
    with pytest.raises(ChainUnreadable):
        await blocks(told).balance(TOKEN, OWNER)
    with pytest.raises(ChainUnreadable):
        await blocks({"blockNumber": told}).mined(HASH)

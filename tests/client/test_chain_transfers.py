"""Blocks and receipts of an EVM chain, as its node tells them or does not."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from http_clients import node_transport
from swapdesk.client.chain_lookup import LookupFailed
from swapdesk.client.chain_transfers import EvmBlocks

HASH = "0x" + "8f" * 32


def blocks(result: Any) -> EvmBlocks:
    """A node that answers every question with this."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        calls = json.loads(request.content)
        return httpx2.Response(200, json=[{"id": each["id"], "result": result} for each in calls])

    return EvmBlocks("base", "http://127.0.0.1:9", transport=node_transport(answer))


async def test_receipt_tells_what_a_transaction_cost() -> None:
    told = {"gasUsed": "0x5208", "effectiveGasPrice": "0xa"}
    assert await blocks(told).fee(HASH) == 210_000
    assert await blocks(None).fee(HASH) is None


@pytest.mark.parametrize("told", ["0x", "", "42", "0x" + "1" * 65, 42, None, {}, "0xzz"])
async def test_what_is_no_number_is_no_answer(told: Any) -> None:
    with pytest.raises(LookupFailed):
        await blocks({"gasUsed": told, "effectiveGasPrice": "0xa"}).fee(HASH)

"""A wallet that two processes send from, over one database."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx2
import pytest
from eth_account import Account
from eth_account.typed_transactions import TypedTransaction
from hexbytes import HexBytes

from databases import Cluster
from swapdesk.chain.addresses.evm import keccak
from swapdesk.clock import SystemClock
from swapdesk.service.store.database import StoreUnavailable
from swapdesk.service.venues.onchain.assembly import open_readers
from swapdesk.service.venues.onchain.hot_wallet import HotWallet
from swapdesk.service.venues.onchain.reader import ChainPlace, OnchainReader

KEY = b"k" * 32
HEAD = {"number": "0x1", "timestamp": "0x1", "baseFeePerGas": "0x1", "hash": "0x" + "11" * 32}


class StrictNode:
    """Numbers from 0, each once and in turn; all others are refused, as a node without a pool
    does."""

    def __init__(self) -> None:
        self.taken: list[int] = []

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(request.content)
        several = asked if isinstance(asked, list) else [asked]
        told = [{"jsonrpc": "2.0", "id": each["id"], **self._one(each)} for each in several]
        # Others get their turn between any two questions.
        await asyncio.sleep(0.001)
        content = json.dumps(told if isinstance(asked, list) else told[0]).encode()
        return httpx2.Response(200, stream=httpx2.ByteStream(content))

    def _one(self, asked: dict[str, Any]) -> dict[str, Any]:
        match asked["method"]:
            case "eth_getBlockByNumber":
                return {"result": HEAD}
            case "eth_getTransactionCount":
                return {"result": hex(len(self.taken))}
            case "eth_sendRawTransaction":
                raw = HexBytes(asked["params"][0])
                number = TypedTransaction.from_bytes(raw).as_dict()["nonce"]
                if number != len(self.taken):
                    return {"error": {"code": -32000, "message": "nonce too low"}}
                self.taken.append(number)
                return {"result": "0x" + keccak(raw).hex()}
        return {"result": "0x5208"}


@pytest.fixture
def node() -> StrictNode:
    return StrictNode()


@pytest.fixture
def reader(node: StrictNode) -> OnchainReader:
    place = ChainPlace("base", 8453, "http://node", "0x" + "44" * 20, 2)
    return open_readers([place], SystemClock(), httpx2.MockTransport(node.answer))["base"]


async def test_two_processes_number_their_transactions_in_turn(
    node: StrictNode, reader: OnchainReader
) -> None:
    """Also where one of them is killed in its turn; one whose turn has ended sends nothing."""
    database = Cluster.of_run().empty_database(0)
    stores = [Cluster.of_run().store(database) for _ in range(2)]
    address = Account.from_key(KEY).address
    one, other = (HotWallet(KEY, address, store) for store in stores)
    await asyncio.gather(
        *(wallet.send(reader, address, b"") for wallet in (one, other) for _ in range(6))
    )
    assert node.taken == list(range(12))

    async def interrupted(_: str) -> None:
        await asyncio.to_thread(
            Cluster.of_run().run,
            Cluster.of_run().execute(
                database,
                # Of this database: beside it other tests hold locks of theirs.
                "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON database = oid"
                " WHERE locktype = 'advisory' AND datname = current_database()",
            ),
        )
        await other.send(reader, address, b"")

    with pytest.raises(StoreUnavailable):
        await one.send(reader, address, b"", interrupted)
    assert node.taken == list(range(13))
    for store in stores:
        await store.close()

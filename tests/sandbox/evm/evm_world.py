"""A node with the embedded chains on a loopback port, and clients for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from eth_account import Account
from eth_account.signers.local import LocalAccount
from web3 import AsyncHTTPProvider, AsyncWeb3

from swapdesk.clock import SystemClock
from swapdesk.sandbox.http_server import build_server, serve_until, started
from swapdesk.sandbox.listening import listen
from swapdesk.sandbox.node.evm.embedding import Embedding
from swapdesk.sandbox.node.evm.faults import HeldFaults
from swapdesk.sandbox.node.evm.live_chain import LiveChain
from swapdesk.sandbox.node.evm.node import EvmNode
from swapdesk.sandbox.node.evm.sandbox_keys import FAUCET, sandbox_key
from swapdesk.sandbox.node.evm.terms import ChainIds
from swapdesk.sandbox.node.world_clock import WorldClock

KEY = b"a key of a sandbox that is tried"
FAST = Decimal(10_000)
"""A block of the slowest chain every millisecond."""


@dataclass
class World:
    node: EvmNode
    embedding: Embedding
    faults: HeldFaults
    port: int

    def url(self, chain: str) -> str:
        return f"http://127.0.0.1:{self.port}/evm/{chain}"

    def web3(self, chain: str) -> AsyncWeb3[Any]:
        """An unmodified client."""
        return AsyncWeb3(AsyncHTTPProvider(self.url(chain)))

    def chain(self, name: str) -> LiveChain:
        return self.node.chains[name]


def faucet() -> LocalAccount:
    account: LocalAccount = Account.from_key(sandbox_key(KEY, FAUCET).secret)
    return account


def stranger(number: int) -> LocalAccount:
    """An account that holds nothing at first."""
    account: LocalAccount = Account.from_key(number.to_bytes(32, "big"))
    return account


@asynccontextmanager
async def running(
    directory: Path, *, speed: Decimal = FAST, ids: ChainIds = "sandbox"
) -> AsyncIterator[World]:
    """The chains of a directory, served."""
    clock = SystemClock()
    faults = HeldFaults()
    embedding = Embedding(
        directory,
        KEY,
        ids=ids,
        world=WorldClock(clock, None, speed),
        clock=clock,
        faults=faults,
    )
    stop = asyncio.Event()
    listener = listen("127.0.0.1", 0)
    server = build_server(embedding.door)
    serving = asyncio.create_task(serve_until(stop, (server, listener)))
    try:
        assert await started(server, stop)
        node = await embedding.node()
        yield World(node, embedding, faults, listener.getsockname()[1])
    finally:
        stop.set()
        await serving
        await embedding.close()
        listener.close()

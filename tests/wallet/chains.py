"""The embedded chains with everything that stands on them, served to a wallet agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

from msgspec import Struct
from starlette.types import ASGIApp

from swapdesk.clock import SystemClock
from swapdesk.sandbox.chain_rows import ChainIds
from swapdesk.sandbox.http_server import build_server, serve_until, started
from swapdesk.sandbox.node.evm.embedding import Embedding
from swapdesk.sandbox.node.evm.faults import ChainFaults
from swapdesk.sandbox.node.evm.http_endpoint import Door
from swapdesk.sandbox.node.evm.live_chain import LiveChain
from swapdesk.sandbox.node.evm.node import EvmNode
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.sandbox.processes import listen

KEY = b"the key of a sandbox of a wallet"
FAST = Decimal(10_000)
"""A block of the slowest chain every millisecond."""


class Chains(Struct):
    node: EvmNode
    faults: ChainFaults
    port: int
    included: list[str]
    """Operations of which the bundlers told that they came into a block."""

    def url(self, chain: str) -> str:
        return f"http://127.0.0.1:{self.port}/evm/{chain}"

    def chain(self, name: str) -> LiveChain:
        return self.node.chains[name]


@asynccontextmanager
async def served(
    directory: Path,
    ids: ChainIds = "sandbox",
    before: Callable[[ASGIApp], ASGIApp] = lambda door: door,
) -> AsyncIterator[Chains]:
    """``before``: what stands between the wire and the nodes."""
    clock, faults = SystemClock(), ChainFaults()
    world = WorldClock(clock, None, FAST)
    embedding = Embedding(directory, KEY, ids=ids, world=world, clock=clock, faults=faults)
    included: list[str] = []
    embedding.on_inclusion = included.append
    stop = asyncio.Event()
    listener = listen("127.0.0.1", 0)
    server = build_server(before(Door(faults, embedding.call, embedding.call)), clock)
    serving = asyncio.create_task(serve_until(stop, (server, listener)))
    try:
        assert await started(server, stop)
        yield Chains(embedding.open(), faults, listener.getsockname()[1], included)
    finally:
        stop.set()
        await serving
        await embedding.close()
        listener.close()

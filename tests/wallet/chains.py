"""The embedded chains with everything that stands on them, served to a wallet agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

from msgspec import Struct
from starlette.types import ASGIApp

from service.loopback import on_port
from swapdesk.clock import SystemClock
from swapdesk.sandbox.faults import ChainFaults
from swapdesk.sandbox.http_server import build_server
from swapdesk.sandbox.node.evm.embedding import Embedding
from swapdesk.sandbox.node.evm.http_endpoint import Door
from swapdesk.sandbox.node.evm.node import EvmNode, LiveChain
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.sandbox.tables import ChainIds

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
    server = build_server(before(Door(faults, embedding.call, embedding.call)), clock)
    try:
        async with on_port(server) as port:
            yield Chains(embedding.open(), faults, port, included)
    finally:
        await embedding.close()

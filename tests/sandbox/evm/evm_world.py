"""A node with the embedded chains on a loopback port, and clients for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from eth_account import Account
from eth_account.signers.local import LocalAccount
from msgspec import Struct
from starlette.types import ASGIApp
from web3 import AsyncHTTPProvider, AsyncWeb3

from service.loopback import on_port
from swapdesk.clock import SystemClock
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.http_server import build_server
from swapdesk.sandbox.node.evm import embedding
from swapdesk.sandbox.node.evm.embedding import FAUCET_WEI, OPERATOR_WEI, Embedding
from swapdesk.sandbox.node.evm.genesis import (
    FAUCET,
    OPERATOR,
    Allocation,
    Genesis,
    genesis_mark,
    sandbox_key,
)
from swapdesk.sandbox.node.evm.http_endpoint import Door
from swapdesk.sandbox.node.evm.methods import Methods
from swapdesk.sandbox.node.evm.node import EvmNode, LiveChain
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.sandbox.tables import ChainIds, chain_terms

KEY = b"a key of a sandbox that is tried"
# The same for every world of this key: what stands in block 0 is worked out once.
embedding.first_state = cache(embedding.first_state)
FAST = Decimal(10_000)
"""A block of the slowest chain every millisecond."""


class World(Struct):
    node: EvmNode
    faults: ActiveFaults
    port: int
    included: list[str] = []
    """Operations of which the bundlers told that they came into a block."""

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


def bare_genesis() -> Genesis:
    """Money alone: what contracts the world begins with costs these tests time only."""
    accounts = {
        sandbox_key(KEY, FAUCET).address: Allocation(balance=FAUCET_WEI),
        sandbox_key(KEY, OPERATOR).address: Allocation(balance=OPERATOR_WEI),
    }
    return Genesis(accounts, genesis_mark(KEY))


@asynccontextmanager
async def running(
    directory: Path,
    *,
    speed: Decimal = FAST,
    ids: ChainIds = "sandbox",
    genesis: Mapping[str, Genesis] | None = None,
) -> AsyncIterator[World]:
    """The chains of a directory, served; those of ``genesis`` alone, if it is given."""
    clock = SystemClock()
    faults = ActiveFaults()
    terms = chain_terms(ids)
    if genesis is not None:
        terms = {name: terms[name] for name in genesis}
    node = EvmNode(
        directory,
        KEY,
        terms=terms,
        genesis=genesis or dict.fromkeys(terms, bare_genesis()),
        world=WorldClock(clock, None, speed),
        clock=clock,
        faults=faults,
    )
    methods = {name: Methods(chain) for name, chain in node.chains.items()}

    async def call(chain: str, method: str, params: Any) -> Any:
        return await methods[chain].call(method, params)

    try:
        async with on_port(build_server(Door(faults, call, call), clock)) as port:
            yield World(node, faults, port)
    finally:
        await node.close()


@asynccontextmanager
async def embedded(
    directory: Path,
    ids: ChainIds = "sandbox",
    before: Callable[[ASGIApp], ASGIApp] = lambda door: door,
) -> AsyncIterator[World]:
    """The chains with all that stands on them, and bundlers. ``before`` stands between the wire and
    the nodes."""
    clock, faults = SystemClock(), ActiveFaults()
    world = WorldClock(clock, None, FAST)
    chains = Embedding(directory, KEY, ids=ids, world=world, clock=clock, faults=faults)
    included: list[str] = []
    chains.on_inclusion = included.append
    server = build_server(before(Door(faults, chains.call, chains.call)), clock)
    try:
        async with on_port(server) as port:
            yield World(chains.open(), faults, port, included)
    finally:
        await chains.close()

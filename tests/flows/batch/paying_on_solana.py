"""Groups that are paid on Solana: the same desk over the one chain there is."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

import httpx2

from flows.batch.paying import PayingPlace, worked_on
from flows.dex.solana_swapping import SolanaPlace
from sandbox.solana.solana_world import KEY, StandingTime, running
from service.dex.solana_floor import SolanaFloor
from service.dex.trading import BASE
from service.new_store import open_new
from service.venue import PlainVenue
from service.world import PARTNERS
from swapdesk.clock import SystemClock
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.onchain import build_onchain
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.service.app import assemble
from swapdesk.wallet.accounts import Kind, WalletPlace
from swapdesk.wire.tokens import Token

CHAIN = "solana"


class QuickTime(StandingTime):
    """Goes on by two blocks whenever somebody looks."""

    def __call__(self) -> int:
        self.pass_blocks(2)
        return self.now


class SolanaPayingPlace(PayingPlace):
    CHAIN: ClassVar[str] = CHAIN
    COIN: ClassVar[str] = "SOL"
    KIND: ClassVar[Kind] = Kind.SOLANA

    floor: SolanaFloor

    def wallet(self, keys: Path) -> WalletPlace:
        return SolanaPlace.wallet(self, keys)  # type: ignore[arg-type]

    async def held(self, address: str, token: Token) -> int:
        return await self.floor.holds(token, address)

    async def fill(self, address: str, coins: str, usdc: str) -> None:
        await self.floor.fund(address, coins, USDC=usdc)


@asynccontextmanager
async def paying_on_solana(directory: Path) -> AsyncIterator[SolanaPayingPlace]:
    """Blocks come whenever somebody looks."""
    clock = SystemClock()
    async with running(directory / "chain", time=QuickTime()) as world:
        chains = build_chains()
        tokens = build_tokens(chains, clock.now())
        node_url = f"http://127.0.0.1:{world.port}/"
        onchain = build_onchain(node_url, KEY, chains, tokens, clock, Market(7))
        store = open_new(directory / "service.db")
        parts = assemble(
            clock,
            random.Random(7),
            store,
            chains,
            tokens,
            [PlainVenue("aa", "Alpha")],
            PARTNERS,
            [],
            onchain=onchain,
        )
        try:
            async with (
                worked_on(parts, clock) as (network, api),
                httpx2.AsyncClient(transport=network, base_url=BASE) as http,
            ):
                floor = SolanaFloor(world, parts, {}, http, clock)  # type: ignore[arg-type]
                yield SolanaPayingPlace(floor, directory, api, network)
        finally:
            await onchain.close()
            await store.close()

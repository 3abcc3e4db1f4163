"""A desk, its wallet agent, and a service over the embedded Solana chain."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from flows.dex.swapping import Place, Swapper, frozen, journal_in
from flows.faulty_network import FaultyNetwork
from service.dex.solana_floor import SolanaFloor, trading_on_solana
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.flows.intent import Intent
from swapdesk.service.app import build_service
from swapdesk.wallet.accounts import Kind
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.place import ChainLink, WalletPlace
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token
from wallet.agents import CHEAP, PASSPHRASE


@dataclass
class SolanaSwapper(Swapper):
    """Funded and looked at over the one chain there is."""

    place: SolanaPlace

    async def fund(self, coins: str = "1", chain: str = "solana", **tokens: str) -> None:
        await self.place.floor.fund(self.address, coins, **tokens)

    async def intent(self, venue: str, sell: Token, buy: Token, amount: str) -> Intent:
        clock = self.place.floor.clock
        return await frozen(self.place.api, clock, venue, sell, buy, amount, self.address, 139)

    async def holds(self, token: Token) -> int:
        return await self.place.floor.holds(token, self.address)


@dataclass
class SolanaPlace(Place):
    floor: SolanaFloor

    def wallet(self, keys: Path) -> WalletPlace:
        link = ChainLink("solana", Kind.SOLANA, None, self.floor.world.url, 1)
        makers = (("at", str(self.floor.maker.pubkey())),)
        return WalletPlace(str(keys), "sandbox", (link,), makers=makers)

    @asynccontextmanager
    async def someone(
        self, directory: Path, beside: Swapper | None = None
    ) -> AsyncIterator[SolanaSwapper]:
        """A new key in an agent of its own, or in that of somebody else; unlocked."""
        keys = beside.keys if beside else directory / "keys"
        agent = (
            beside.agent if beside else await WalletClient.start(self.wallet(keys), program=CHEAP)
        )
        journal = journal_in(directory, self.floor.clock)
        try:
            made = await agent.create(Kind.SOLANA, "", PASSPHRASE)
            yield SolanaSwapper(self, agent, made.address, journal, keys)
        finally:
            journal.close()
            if beside is None:
                await agent.close()

    async def completed(self, order: Order) -> Order:
        await self.floor.final(order.service_id)
        return await self.api.get_order(order.service_id)


@asynccontextmanager
async def swapping_on_solana(directory: Path) -> AsyncIterator[SolanaPlace]:
    async with trading_on_solana(directory) as floor:
        network = FaultyNetwork(httpx.ASGITransport(app=build_service(floor.parts)))
        async with PartnerApi(
            "http://localhost/v2",
            Credentials.of_key("first-key", "first-secret"),
            clock=floor.clock,
            transport=network,
        ) as api:
            yield SolanaPlace(floor, directory, api, network)

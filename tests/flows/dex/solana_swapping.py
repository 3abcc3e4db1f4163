"""A desk, its wallet agent, and a service over the embedded Solana chain."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from flows.dex.swapping import Place, Swapper, frozen
from service.dex.solana_floor import SolanaFloor, trading_on_solana
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.wallet.accounts import ChainLink, Kind, WalletPlace
from swapdesk.wallet.client import WalletClient
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token


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


class SolanaPlace(Place):
    KIND = Kind.SOLANA
    floor: SolanaFloor

    def wallet(self, keys: Path) -> WalletPlace:
        link = ChainLink("solana", Kind.SOLANA, None, self.floor.world.url, 1)
        makers = (("at", str(self.floor.maker.pubkey())),)
        return WalletPlace(str(keys), "sandbox", (link,), makers=makers)

    def swapper(
        self, agent: WalletClient, address: str, journal: Journal, keys: Path
    ) -> SolanaSwapper:
        return SolanaSwapper(self, agent, address, journal, keys)

    async def completed(self, order: Order) -> Order:
        await self.floor.final(order.service_id)
        return await self.api.get_order(order.service_id)


@asynccontextmanager
async def swapping_on_solana(directory: Path) -> AsyncIterator[SolanaPlace]:
    async with trading_on_solana(directory) as floor:
        yield SolanaPlace(floor, directory)

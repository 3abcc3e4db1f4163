"""A desk, its wallet agent, and a service over the embedded Solana chain."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from flows.dex.swapping import Place
from service.dex.solana_floor import SolanaFloor, trading_on_solana
from swapdesk.wallet.accounts import ChainLink, Kind, WalletPlace
from swapdesk.wire.orders import Order


class SolanaPlace(Place):
    KIND = Kind.SOLANA
    COIN_PRICE = 139
    floor: SolanaFloor

    def wallet(self, keys: Path) -> WalletPlace:
        link = ChainLink("solana", Kind.SOLANA, None, self.floor.world.url, 1)
        makers = (("at", str(self.floor.maker.pubkey())),)
        return WalletPlace(str(keys), "sandbox", (link,), makers=makers)

    async def completed(self, order: Order) -> Order:
        await self.floor.ended(order.service_id)
        return await self.api.get_order(order.service_id)


@asynccontextmanager
async def swapping_on_solana(directory: Path) -> AsyncIterator[SolanaPlace]:
    async with trading_on_solana(directory) as floor:
        yield SolanaPlace(floor, directory)

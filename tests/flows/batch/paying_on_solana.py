"""Groups that are paid on Solana: the same desk over the one chain there is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

from flows.batch.paying import PayingPlace
from flows.dex.swapping import SolanaPlace
from sandbox.solana.solana_world import StandingTime, running
from service.dex.solana_floor import SolanaFloor, over_solana
from service.venue import PlainVenue
from swapdesk.clock import SystemClock
from swapdesk.wallet.accounts import Kind, WalletPlace

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


@asynccontextmanager
async def paying_on_solana(directory: Path) -> AsyncIterator[SolanaPayingPlace]:
    """Blocks come whenever somebody looks."""
    async with (
        running(directory / "chain", time=QuickTime()) as chain,
        over_solana(directory, chain, SystemClock(), [PlainVenue("aa", "Alpha")]) as made,
        made[0].working(),
        made[0].http() as http,
    ):
        service, onchain = made
        floor = SolanaFloor(chain, service, http, onchain)
        yield SolanaPayingPlace(floor, directory)

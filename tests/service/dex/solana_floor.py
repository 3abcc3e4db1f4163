"""A service over the embedded Solana chain in this process, and a trader with a key of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import field
from solders.keypair import Keypair
from solders.message import to_bytes_versioned
from solders.transaction import VersionedTransaction

from sandbox.solana.solana_world import KEY, StandingTime, running
from sandbox.solana.solana_world import World as Chain
from service.dex.trading import AgeingClock, Caller, Floor
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.clock import Clock
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.solana.genesis import MAKER
from swapdesk.sandbox.node.solana.terms import FINALIZED_AFTER
from swapdesk.sandbox.onchain import build_onchain
from swapdesk.service.app import Onchain
from swapdesk.service.venues.adapter import CentralizedVenue
from swapdesk.wire.tokens import Token
from world import World, open_world, sandbox_goods

SOL = 10**9


class LookedTime(StandingTime):
    """Goes on by half a block whenever somebody looks, so that who polls sees blocks
    come and nobody has to wait for them."""

    def __call__(self) -> int:
        self.now += 200
        return self.now


class SolanaFloor(Floor):
    """``world`` is the one chain there is."""

    world: Chain  # type: ignore[assignment]

    @property
    def maker(self) -> Keypair:
        return self.world.node.keypair(MAKER)

    def coins(self) -> tuple[Token, Token]:
        """USDC and SOL."""
        return self.token("solana", "USDC"), self.token("solana", "SOL")

    async def fund(self, address: str, coins: str, chain: str = "solana", **tokens: str) -> None:
        """Coins and tokens by symbol, from the sandbox."""
        if Decimal(coins):
            await self.world.node.fund(address, int(Decimal(coins) * SOL))
        for symbol, amount in tokens.items():
            token = self.token(chain, symbol)
            units = int(Decimal(amount) * 10**token.decimals)
            await self.world.node.fund(address, units, str(token.address))

    async def ended(self, service_id: str, shown: str = "SWAP_COMPLETED") -> dict[str, Any]:
        """After as many blocks as make everything final."""
        self.world.time.pass_blocks(FINALIZED_AFTER)
        return await Floor.ended(self, service_id, shown)

    async def holds(self, token: Token, owner: str) -> int:
        """Units, asked of the node over JSON-RPC."""
        async with SolanaClient(self.world.url) as client:
            if token.address is None:
                return await client.balance(owner)
            return sum(each.units for each in await client.holdings(owner, token.address))


class SolanaTrader(Caller):
    floor: SolanaFloor
    key: Keypair = field(default_factory=Keypair)
    chain: str = "solana"

    @property
    def address(self) -> str:
        return str(self.key.pubkey())

    async def ordered(self, sell: str, buy: str, amount: str) -> dict[str, Any]:
        """An order of what the maker pays."""
        return await self.create((await self.row("at", sell, buy, amount))["quoteId"])

    def signed(self, metadata: dict[str, Any]) -> VersionedTransaction:
        """The order's transaction with our signature in the first place."""
        half = VersionedTransaction.from_bytes(bytes.fromhex(metadata["data"]))
        signatures = list(half.signatures)
        signatures[0] = self.key.sign_message(to_bytes_versioned(half.message))
        return VersionedTransaction.populate(half.message, signatures)

    async def execute(self, metadata: dict[str, Any]) -> str:
        """Sign and send; the signature."""
        return await self.floor.world.client.send(bytes(self.signed(metadata)))


@asynccontextmanager
async def trading_on_solana(
    directory: Path, time: Callable[[], int] | None = None
) -> AsyncIterator[SolanaFloor]:
    """The service over the chain. The worker moves when it is told to."""
    clock = AgeingClock()
    async with (
        running(directory / "chain", time=time or LookedTime()) as chain,  # type: ignore[arg-type]
        over_solana(directory, chain, clock) as made,
        made[0].http() as api,
    ):
        service, onchain = made
        yield SolanaFloor(chain, service, api, onchain)


@asynccontextmanager
async def over_solana(
    directory: Path, chain: Chain, clock: Clock, venues: Sequence[CentralizedVenue] = ()
) -> AsyncIterator[tuple[World, Onchain]]:
    """A service whose one chain is this one."""
    goods = sandbox_goods(clock.now())
    url = f"http://127.0.0.1:{chain.port}/"
    onchain = build_onchain(url, KEY, goods["chains"], goods["tokens"], clock, Market(7))
    async with open_world(directory, clock, venues, onchain=onchain, **goods) as service:
        service.opened.push_async_callback(onchain.close)
        yield service, onchain

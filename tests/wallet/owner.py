"""Whoever owns payments that wait: a trader, and the wallet of the desk on the same keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from swapdesk.clock import SystemClock
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.replacement import Replacement, bumping, cancelling
from swapdesk.paths import Home
from swapdesk.settings import Settings, load_settings
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from wallet.agents import CHEAP, PASSPHRASE
from wallet.chains import Chains, served
from wallet.signing import CHAIN, Trader, trader

PAID = 10**15
"""Wei of each payment."""


class QuickClock(SystemClock):
    """A desk that looks at its chains as often as their blocks come here."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / 50)


class Desk(Struct):
    """Starts the wallet of a desk on the keys of a trader, with one agent after the other."""

    settings: Settings
    trader: Trader

    async def wallet(self, program: Sequence[str] = CHEAP) -> LocalWallet:
        chains = self.trader.place.chains
        wallet = LocalWallet(self.settings, QuickClock(), chains, program=program)
        await wallet.unlock(PASSPHRASE)
        return wallet

    async def account(self, wallet: LocalWallet) -> Account:
        return next(
            one for one in (await wallet.accounts()).accounts if one.address == self.trader.address
        )


async def desk_on(world: Chains, home: Path) -> Desk:
    """A new key with money, and the desk it belongs to."""
    settings = load_settings({}, Home.at(home))
    return Desk(settings, await trader(world, settings.places.keys))


class Owner(Struct):
    trader: Trader
    account: Account
    wallet: LocalWallet
    bumping: Replacement
    cancelling: Replacement

    async def signed(self, intent: str) -> tuple[WalletClient, SignedTransaction]:
        """A payment that no node has seen."""
        client = await self.wallet.client()
        review = await client.review(self.trader.payment(PAID), self.trader.deposit(intent, PAID))
        signed = await client.sign(review)
        return client, signed

    async def waiting(self, intent: str) -> tuple[WalletClient, SignedTransaction]:
        """A payment that was sent and that no block has."""
        client, first = await self.signed(intent)
        self.trader.world.faults.add(CHAIN, "drop_transaction", 1)
        sent = await client.broadcast(first.hash)
        assert sent.state is TransactionState.SENT
        return client, sent

    async def outbid(
        self, intent: str
    ) -> tuple[WalletClient, SignedTransaction, SignedTransaction]:
        """A payment that waits, and the same for a higher fee; both sent, neither in a block."""
        client, first = await self.waiting(intent)
        dear = await client.sign((await client.bump(first.hash, 10**16))[1])
        self.trader.world.faults.add(CHAIN, "drop_transaction", 1)
        return client, first, await client.broadcast(dear.hash)

    async def contested(self, review: Review) -> tuple[SignedTransaction, SignedTransaction]:
        """A transaction and its cancellation, both sent, neither in a block."""
        return await contested(self.wallet, self.cancelling, self.trader, review)

    async def states(self, intent: str) -> dict[str, TransactionState]:
        client = await self.wallet.client()
        return {one.hash: one.state for one in await client.transactions(intent)}

    async def mined(self, hash_: str) -> None:
        await self.trader.world.node.confirmed(CHAIN, bytes.fromhex(hash_[2:]))

    async def executed(self, hash_: str) -> None:
        """Wait until it counts."""
        client = await self.wallet.client()
        while (  # noqa: ASYNC110 - it happens on a chain
            await client.resolve(hash_)
        ).state is not TransactionState.SUCCEEDED:
            await asyncio.sleep(0.02)  # between two looks


async def contested(
    wallet: LocalWallet, cancelling: Replacement, trader: Trader, review: Review
) -> tuple[SignedTransaction, SignedTransaction]:
    """Sign what was reviewed and then its cancellation; the chain forgets both."""
    client = await wallet.client()
    trader.world.faults.add(CHAIN, "drop_transaction", 2)
    first = await client.sign(review)
    first = await client.broadcast(first.hash)
    proposed = await cancelling.propose(first.hash)
    second = await client.sign(proposed.review)
    second = await client.broadcast(second.hash)
    assert (first.state, second.state) == (TransactionState.SENT, TransactionState.SENT)
    return first, second


@asynccontextmanager
async def owning(directory: Path) -> AsyncIterator[Owner]:
    async with served(directory / "chains") as world:
        desk, clock = await desk_on(world, directory / "home"), QuickClock()
        wallet = await desk.wallet()
        try:
            yield Owner(
                desk.trader,
                await desk.account(wallet),
                wallet,
                bumping(wallet, clock),
                cancelling(wallet, clock),
            )
        finally:
            await wallet.close()

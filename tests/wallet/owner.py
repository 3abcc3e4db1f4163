"""Whoever owns payments that wait, and a smart account in which a bundle left money: a trader, and
the wallet of the desk on the same keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from sandbox.evm.bundling import Bundling, over
from sandbox.evm.evm_world import World
from swapdesk.chain.calldata.erc20 import BALANCE_OF
from swapdesk.chain.rpc.evm import Call
from swapdesk.chain.smart_account import account_address
from swapdesk.clock import SystemClock
from swapdesk.flows.batch.bundles import (
    Bundle,
    BundleDeposit,
    BundleItem,
    add_bundle,
    move_bundle,
    sign_bundle,
)
from swapdesk.flows.batch.withdrawing import Withdrawal, propose_withdrawal
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.payments import Sum
from swapdesk.flows.transactions import Outcome
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.replacement import CANCELLATION, HIGHER_FEE, Replacement
from swapdesk.paths import Home
from swapdesk.settings import Settings, load_settings
from swapdesk.wallet.accounts import Account, ChainLink
from swapdesk.wallet.answers import Review, SignedTransaction, TransactionWord
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Purpose
from wallet.agents import CHEAP, PASSPHRASE
from wallet.signing import CHAIN, DEPOSIT, ETH, USDC, Trader, trader

PAID = 10**15
"""Wei of each payment."""
COINS, DOLLARS = 3 * 10**15, 25_000_000
"""What a bundle left."""


class QuickClock(SystemClock):
    """A desk that looks at its chains as often as their blocks come here."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / 50)


class Owner(Struct):
    """A new key with money, and the desk that it belongs to."""

    settings: Settings
    trader: Trader
    here: Bundling
    journal: Journal

    @property
    def link(self) -> ChainLink:
        (link,) = self.trader.place.chains
        return link

    @property
    def mine(self) -> str:
        """The smart account, which does not stand yet."""
        return account_address(self.trader.address)

    async def wallet(self, program: Sequence[str] = CHEAP) -> LocalWallet:
        """The wallet of the desk, with one agent after the other."""
        chains = self.trader.place.chains
        wallet = LocalWallet(self.settings, QuickClock(), chains, program=program)
        await wallet.unlock(PASSPHRASE)
        return wallet

    async def account(self, wallet: LocalWallet) -> Account:
        accounts = (await wallet.accounts()).accounts
        return next(one for one in accounts if one.address == self.trader.address)

    async def propose(
        self, wallet: LocalWallet, *more: Any, account: Account | None = None, **how: Any
    ) -> Any:
        """The next transaction that takes something out of the smart account."""
        account = account or await self.account(wallet)
        clock = QuickClock()
        return await propose_withdrawal(
            wallet, self.journal, clock, account.address, self.link, *more, **how
        )

    async def dollars(self, address: str) -> int:
        asked = Call(USDC.contract, BALANCE_OF.call(address))
        return int.from_bytes(await self.here.client.call(asked), "big")

    async def left_by_bundle(
        self, wei: int = COINS, dollars: int = DOLLARS, *, failed: bool = True
    ) -> None:
        """A bundle of the smart account failed, or is signed only, and left this."""
        await self.here.fund(self.mine, wei=wei, dollars=dollars)
        expires = datetime.now(UTC) + timedelta(minutes=20)
        items = tuple(
            BundleItem(
                f"{one.symbol}.{CHAIN}",
                one.symbol,
                one.decimals,
                one.contract,
                0,
                (BundleDeposit(1, f"order-{one.symbol}", DEPOSIT, 1_000, expires),),
                1_000,
                {},
            )
            for one in (ETH, USDC)
        )
        built = Bundle("evm", CHAIN, self.trader.address, self.mine, items)
        ledger = self.journal.ledger
        group = ledger.begin("create_group", {"number": 1}, parent="batch")
        bundle = add_bundle(ledger, group.id, built)
        sign_bundle(ledger, bundle, ("0x01", "0x02"))
        if failed:
            move_bundle(ledger, bundle, State.REFUSED, code="FAILED")


async def taken_out(
    owner: Owner, wallet: LocalWallet, token: str | None = None
) -> tuple[Outcome, tuple[Sum, ...]]:
    """The command: what made the account is gone on from. How it ended, and what it took out."""
    while True:
        step = await owner.propose(wallet, token)
        assert isinstance(step, Withdrawal), step
        if step.review is not None:
            assert not step.review.refused, step.review.findings
        ended = await step.send()
        if not ended.done or step.purpose is Purpose.WITHDRAW:
            return ended, step.taken


class Opened(Struct):
    """The wallet of an owner, with its agent and open keys."""

    owner: Owner
    wallet: LocalWallet
    account: Account
    bumping: Replacement
    cancelling: Replacement

    @property
    def trader(self) -> Trader:
        return self.owner.trader

    async def signed(self, intent: str) -> tuple[WalletClient, SignedTransaction]:
        """A payment that no node has seen."""
        client = await self.wallet.client()
        promise = self.trader.deposit(intent, PAID)
        return client, await self.trader.signed(client, self.trader.payment(PAID), promise)

    async def waiting(self, intent: str) -> tuple[WalletClient, SignedTransaction]:
        """A payment that was sent and that no block has."""
        client, first = await self.signed(intent)
        self.trader.world.faults.set("drop_transaction", "chain", CHAIN, times=1)
        sent = await client.broadcast(first.hash)
        assert sent.word == "sent"
        return client, sent

    async def outbid(
        self, intent: str
    ) -> tuple[WalletClient, SignedTransaction, SignedTransaction]:
        """A payment that waits, and the same for a higher fee; both sent, neither in a block."""
        client, first = await self.waiting(intent)
        dear = await client.sign((await client.bump(first.hash, 10**16))[1])
        self.trader.world.faults.set("drop_transaction", "chain", CHAIN, times=1)
        return client, first, await client.broadcast(dear.hash)

    async def contested(self, review: Review) -> tuple[SignedTransaction, SignedTransaction]:
        """What was reviewed and its cancellation, both sent; the chain forgets both."""
        client = await self.wallet.client()
        self.trader.world.faults.set("drop_transaction", "chain", CHAIN, times=2)
        first = await client.broadcast((await client.sign(review)).hash)
        proposed = await self.cancelling.propose(first.hash)
        second = await client.broadcast((await client.sign(proposed.review)).hash)
        assert (first.word, second.word) == ("sent", "sent")
        return first, second

    async def states(self, intent: str) -> dict[str, TransactionWord]:
        client = await self.wallet.client()
        return {one.hash: one.word for one in await client.transactions(intent)}

    async def mined(self, hash_: str) -> None:
        await self.trader.world.node.confirmed(CHAIN, bytes.fromhex(hash_[2:]))

    async def executed(self, hash_: str) -> None:
        """Wait until it counts."""
        client = await self.wallet.client()
        while (  # noqa: ASYNC110 - it happens on a chain
            await client.resolve(hash_)
        ).word != "succeeded":
            await asyncio.sleep(0.02)  # between two looks

    async def propose(self, *more: Any, **how: Any) -> Any:
        return await self.owner.propose(self.wallet, *more, account=self.account, **how)

    async def taken_out(self) -> tuple[Outcome, tuple[Sum, ...]]:
        return await taken_out(self.owner, self.wallet)

    async def stands(self) -> None:
        """The first thing that is sent makes the smart account."""
        step = await self.propose()
        assert step.purpose is Purpose.DEPLOY
        assert (await step.send()).done

    async def held(self) -> tuple[int, int]:
        """Wei and units of the dollar in the smart account."""
        mine = self.owner.mine
        return await self.owner.here.coins(mine), await self.owner.dollars(mine)


@asynccontextmanager
async def opened(owner: Owner) -> AsyncIterator[Opened]:
    wallet, clock = await owner.wallet(), QuickClock()
    try:
        yield Opened(
            owner,
            wallet,
            await owner.account(wallet),
            Replacement(wallet, clock, HIGHER_FEE),
            Replacement(wallet, clock, CANCELLATION),
        )
    finally:
        await wallet.close()


@asynccontextmanager
async def owning(world: World, directory: Path) -> AsyncIterator[Owner]:
    settings, here = load_settings({}, Home.at(directory)), over(world)
    with closing(Journal.open(directory / "journal.db", SystemClock())) as journal:
        yield Owner(settings, await trader(world, settings.places.keys), here, journal)
    await here.client.close()

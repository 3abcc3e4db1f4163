"""An owner whose smart account holds money that a bundle left behind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from sandbox.evm.bundling import Bundling, over
from swapdesk.chain.calldata.erc20 import BALANCE_OF
from swapdesk.chain.rpc.evm import Call
from swapdesk.chain.smart_account import account_address
from swapdesk.clock import SystemClock
from swapdesk.flows.batch.withdrawing import Withdrawal, Withdrawing
from swapdesk.flows.journal.batch_records import Built, BundleDeposit, BundleItem, BundleState
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.wallet_payment_log import Taken
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.wallet.accounts import Account, ChainLink
from swapdesk.wallet.promise import Purpose
from wallet.agents import CHEAP
from wallet.chains import Chains
from wallet.owner import Desk, QuickClock, desk_on
from wallet.signing import CHAIN, DEPOSIT, ETH, USDC

COINS, DOLLARS = 3 * 10**15, 25_000_000


class Owner(Desk):
    here: Bundling
    journal: Journal

    @property
    def link(self) -> ChainLink:
        (link,) = self.trader.place.chains
        return link

    def flow(self, wallet: LocalWallet) -> Withdrawing:
        return Withdrawing(wallet, self.journal, QuickClock())

    async def fill(self, address: str, wei: int = COINS, dollars: int = DOLLARS) -> None:
        await self.here.fund(address, wei=wei, dollars=dollars)

    async def dollars(self, address: str) -> int:
        asked = Call(USDC.contract, BALANCE_OF.call(address))
        return int.from_bytes(await self.here.client.call(asked), "big")

    def left_by_bundle(self, sender: str, state: BundleState = BundleState.FAILED) -> str:
        """A bundle of this account that ended in ``state``; the id of its batch."""
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
        batch = f"batch{state}"
        built = Built("evm", CHAIN, self.trader.address, sender, items)
        bundle = self.journal.bundles.add(batch, 1, built)
        if state in (BundleState.SIGNED, BundleState.FAILED):
            self.journal.bundles.signed(bundle, ("0x01", "0x02"))
        if state is BundleState.FAILED:
            self.journal.bundles.ended(bundle, state)
        return batch


async def taken_out(
    flow: Withdrawing, account: Account, link: ChainLink, token: str | None = None
) -> tuple[Outcome, tuple[Taken, ...]]:
    """The command: what made the account is gone on from. How it ended, and what it took out."""
    while True:
        step = await flow.propose(account, link, token)
        assert not isinstance(step, Outcome), step
        if isinstance(step, Withdrawal):
            assert not step.proposal.review.refused, step.proposal.review.findings
        ended, taken = await flow.send(step), flow.taken(step)
        if not ended.done or taken is not None:
            return ended, taken or ()


class Opened(Struct):
    """The wallet of an owner and its smart account, ``mine``, in which a bundle left something."""

    owner: Owner
    mine: str
    wallet: LocalWallet
    account: Account
    flow: Withdrawing

    async def propose(self, *more: Any, **how: Any) -> Any:
        return await self.flow.propose(self.account, self.owner.link, *more, **how)

    async def taken_out(self, token: str | None = None) -> tuple[Outcome, tuple[Taken, ...]]:
        return await taken_out(self.flow, self.account, self.owner.link, token)

    async def stands(self) -> None:
        """The first thing that is sent makes the smart account."""
        step = await self.propose()
        assert step.proposal.action.purpose is Purpose.DEPLOY
        assert (await self.flow.send(step)).done

    async def held(self) -> tuple[int, int]:
        """Wei and units of the dollar in the smart account."""
        return await self.owner.here.coins(self.mine), await self.owner.dollars(self.mine)


@asynccontextmanager
async def opened(owner: Owner, program: Sequence[str] = CHEAP) -> AsyncIterator[Opened]:
    mine, wallet = account_address(owner.trader.address), await owner.wallet(program)
    try:
        yield Opened(owner, mine, wallet, await owner.account(wallet), owner.flow(wallet))
    finally:
        await wallet.close()


@asynccontextmanager
async def owning_nothing(world: Chains, directory: Path) -> AsyncIterator[Owner]:
    """A new key, whose account does not stand yet."""
    desk, here = await desk_on(world, directory), over(world)
    with closing(Journal.open(directory / "journal.db", SystemClock())) as journal:
        yield Owner(desk.settings, desk.trader, here, journal)
    await here.client.close()

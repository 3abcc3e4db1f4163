"""A desk of its own process that swaps, or creates and pays a group, and kills itself at a
boundary, and the next desk on its keys and its journal: for the tests of kill -9."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from flows.batch.paying import QUICK, Payer, PayingPlace, write_batch
from flows.dex.boundaries import striking
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.client.api import PartnerApi
from swapdesk.clock import SystemClock
from swapdesk.flows.batch.bundles import Bundle
from swapdesk.flows.batch.creation import BatchCreation
from swapdesk.flows.batch.group_payment import GroupPayment
from swapdesk.flows.batch.progress import Until
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.dex.dex_swap import DexSwapFlow
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.transactions import Agreed
from swapdesk.wallet.accounts import WalletPlace
from swapdesk.wallet.answers import Review
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.protocol import from_json, to_json
from swapdesk.wire.tokens import Token
from wallet.agents import CHEAP, PASSPHRASE
from world import FIRST_KEY, World, sandbox_goods

TESTS = Path(__file__).parents[1]

BATCH = "b0000"
ROWS = {
    "base": (("USDC", "25"), ("USDC", "35")),
    "solana": tuple(("USDC", str(20 + number)) for number in range(12)),
}


async def agree(review: Review) -> Agreed | None:
    return Agreed(review.phrase)


async def swap(api: PartnerApi, log: Journal, agent: WalletClient, intent: Intent) -> None:
    clock = SystemClock()
    exchange = ExchangeFlow(api, log, clock, looks=(0.0, 0.0, 0.0))
    await DexSwapFlow(api, exchange, log, clock, agent, agree, pace=QUICK).swap(intent)


async def pay(api: PartnerApi, log: Journal, agent: WalletClient, chain: str, by: str) -> None:
    clock = SystemClock()
    account = next(one for one in agent.accounts.accounts if one.address == by)
    tokens = {one.id: one for one in sandbox_goods(clock.now())["tokens"]}

    def find(chain: str, symbol: str) -> Token:
        return next(
            one
            for one in tokens.values()
            if (one.chain_data.short_name, one.symbol) == (chain, symbol)
            and one.enabled
            and not one.unverified
        )

    # Two groups that are alike, and left without an answer, could be either.
    recipient = derive_address("evm", sha256(by.encode()).digest())
    write_batch(log, find, BATCH, ROWS[chain], chain, recipient)
    ((made, error),) = [
        each async for each in BatchCreation(api, log, clock, looks=(0.0,)).run(BATCH)
    ]
    assert error is None, error
    coin = find(chain, "SOL" if chain == "solana" else "ETH")
    settling = GroupPayment(
        api, log, clock, agent, tokens.get, coin, made, account, agree, pace=QUICK
    )
    ending = await settling.advance(Until.SETTLED)
    assert ending.failure is None, ending.failure


async def carry_out(url: str, keys: str, journal: str, what: str, boundary: str) -> None:
    log = Journal.open(Path(journal), SystemClock())
    place = from_json(WalletPlace, json.loads(keys))
    agent = await WalletClient.start(place, program=CHEAP)
    await agent.unlock(PASSPHRASE)
    told = json.loads(what)
    async with PartnerApi(url, FIRST_KEY, clock=SystemClock()) as api:
        with striking(boundary, lambda: os.kill(os.getpid(), signal.SIGKILL)):
            if isinstance(told, list):
                await pay(api, log, agent, *told)
            else:
                await swap(api, log, agent, Intent.from_json(told))


# What it leaves behind


def sampled(boundaries: Sequence[Any], sample: Collection[Any]) -> list[Any]:
    """Parameters: those of the sample are killed always, the others with ``--full``."""
    rows = [(one, one if isinstance(one, tuple) else (one,)) for one in boundaries]
    long = pytest.mark.long
    return [pytest.param(*row, marks=() if one in sample else long) for one, row in rows]


async def reopened(place: WalletPlace) -> WalletClient:
    """The keys, once the agent of the killed desk has let go of them."""
    while True:
        agent = await WalletClient.start(place, program=CHEAP)
        if not agent.accounts.read_only:
            await agent.unlock(PASSPHRASE)
            return agent
        await agent.close()
        await asyncio.sleep(0.05)  # between two looks


@asynccontextmanager
async def killed_at(
    world: World, keys: WalletPlace, what: object, boundary: str, *, works: bool = False
) -> AsyncIterator[WalletClient]:
    """The wallet, opened again, of a desk that died at a boundary of a swap (its intent) or of a
    group (its chain and who pays it); its journal lies beside its keys."""
    journal = Path(keys.directory).parent / "journal.db"
    async with world.served(works=works) as url:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            __file__,
            *(url, json.dumps(to_json(keys)), str(journal), json.dumps(what), boundary),
            env={**os.environ, "PYTHONPATH": str(TESTS)},
        )
        assert await child.wait() == -signal.SIGKILL
        agent = await reopened(keys)
        try:
            yield agent
        finally:
            await agent.close()


@asynccontextmanager
async def gone_on_with(place: PayingPlace, directory: Path, boundary: str) -> AsyncIterator[Payer]:
    """Whoever starts the desk again on the journal and the keys of the killed one."""
    async with place.payer(directory) as someone:
        await someone.agent.close()
        keys, what = place.wallet(directory / "keys"), [place.CHAIN, someone.account.address]
        async with killed_at(place.service, keys, what, boundary) as someone.agent:
            assert someone.journal.ledger.take_over(BATCH)
            async for _ in someone.creation().run(BATCH):
                pass
            yield someone


async def paid_once(someone: Payer, purpose: Purpose, arrives: timedelta | None = None) -> Bundle:
    """What was paid by one bundle, by as many transactions of a purpose as were needed."""
    ending = await someone.settling(BATCH, arrives=arrives).advance(Until.SETTLED)
    if ending.code == "NOT_SUBMITTED":
        # It is known not to have arrived, and the same signatures leave again.
        ending = await someone.settling(BATCH, arrives=arrives).advance(Until.SETTLED)
    assert ending.failure is None, ending.failure
    bundle = someone.bundle(BATCH)
    assert bundle.number == 1
    assert await someone.paid_exactly(BATCH)
    left = await someone.held(someone.account.address, "USDC")
    assert left == 1000 * 10**6 - sum(one.units for one in bundle.deposits)
    assert len(bundle.deposits) == len(ROWS[someone.place.CHAIN])
    signed = await someone.agent.transactions()
    states = [one.word for one in signed if one.purpose is purpose]
    assert states.count("succeeded") == 2
    return bundle


if __name__ == "__main__":
    asyncio.run(carry_out(*sys.argv[1:]))

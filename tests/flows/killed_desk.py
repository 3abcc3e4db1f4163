"""A desk of its own process that swaps, or creates and pays a group, and kills itself at a
boundary: for the tests of kill -9."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from hashlib import sha256
from pathlib import Path

from flows.batch.paying import QUICK, write_batch
from flows.dex.boundaries import striking
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.client.api import PartnerApi
from swapdesk.clock import SystemClock
from swapdesk.flows.batch.creation import BatchCreation
from swapdesk.flows.batch.group_payment import GroupChain, GroupSettling
from swapdesk.flows.batch.group_status import Until
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.dex.dex_swap import DexSwapFlow
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.transactions.transactor import Agreed
from swapdesk.wallet.accounts import WalletPlace
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.encoding import from_json
from swapdesk.wallet.review import Review
from swapdesk.wire.tokens import Token
from wallet.agents import CHEAP, PASSPHRASE
from world import FIRST_KEY, sandbox_goods

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
    (made,) = await BatchCreation(api, log, clock, looks=(0.0,)).run(BATCH)
    assert made.error is None, made.error
    coin = find(chain, "SOL" if chain == "solana" else "ETH")
    terms = GroupChain(coin, coin.price)
    settling = GroupSettling(
        api, log, clock, agent, tokens.get, terms, BATCH, made.group, account, agree, pace=QUICK
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


if __name__ == "__main__":
    asyncio.run(carry_out(*sys.argv[1:]))

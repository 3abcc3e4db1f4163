"""A desk of its own process that creates and pays a group and kills itself at a boundary."""

from __future__ import annotations

import asyncio
import json
import sys
from hashlib import sha256
from pathlib import Path

from flows.batch.paying import QUICK, write_batch
from flows.dex.boundaries import striking
from flows.dex.killed_desk import die
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.clock import SystemClock
from swapdesk.flows.batch.creation import BatchCreation
from swapdesk.flows.batch.group_payment import GroupChain, GroupSettling
from swapdesk.flows.batch.group_status import Until
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.transactions.transactor import Agreed
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.wallet.accounts import WalletPlace
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.encoding import from_json
from swapdesk.wallet.review import Review
from swapdesk.wire.tokens import Token
from wallet.agents import CHEAP, PASSPHRASE

BATCH = "b0000"
ROWS = {
    "base": (("USDC", "25"), ("USDC", "35")),
    "solana": tuple(("USDC", str(20 + number)) for number in range(12)),
}


async def pay(url: str, place: str, journal: str, chain: str, address: str, boundary: str) -> None:
    clock = SystemClock()
    log = Journal.open(Path(journal), clock)
    agent = await WalletClient.start(from_json(WalletPlace, json.loads(place)), program=CHEAP)
    await agent.unlock(PASSPHRASE)
    account = next(one for one in agent.accounts.accounts if one.address == address)
    tokens = {one.id: one for one in build_tokens(build_chains(), clock.now())}

    def find(chain: str, symbol: str) -> Token:
        return next(
            one
            for one in tokens.values()
            if (one.chain_data.short_name, one.symbol) == (chain, symbol)
            and one.enabled
            and not one.unverified
        )

    async def look(review: Review) -> Agreed | None:
        return Agreed(review.phrase)

    key = Credentials.of_key("first-key", "first-secret")
    async with PartnerApi(url, key, clock=clock) as api:
        with striking(boundary, die):
            # Two groups that are alike, and left without an answer, could be either.
            recipient = derive_address("evm", sha256(address.encode()).digest())
            write_batch(log, find, BATCH, ROWS[chain], chain, recipient)
            (made,) = await BatchCreation(api, log, clock, looks=(0.0,)).run(BATCH)
            assert made.error is None, made.error
            batch = log.batches.get(BATCH)
            assert batch is not None
            (group,) = batch.groups
            coin = find(chain, "SOL" if chain == "solana" else "ETH")
            settling = GroupSettling(
                api,
                log,
                clock,
                agent,
                tokens.get,
                GroupChain(coin, coin.price),
                BATCH,
                group,
                account,
                look,
                pace=QUICK,
            )
            ending = await settling.advance(Until.SETTLED)
            assert ending.failure is None, ending.failure


if __name__ == "__main__":
    asyncio.run(pay(*sys.argv[1:]))

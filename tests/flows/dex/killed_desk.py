"""A desk of its own process that swaps and kills itself at a boundary, for the tests of kill -9."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from flows.dex.boundaries import striking
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.clock import SystemClock
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.dex.dex_swap import DexSwapFlow
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.flows.transactions.transactor import Agreed
from swapdesk.wallet.accounts import WalletPlace
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.encoding import from_json
from swapdesk.wallet.review import Review
from wallet.agents import CHEAP, PASSPHRASE


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def swap(url: str, place: str, journal: str, intent: str, boundary: str) -> None:
    clock = SystemClock()
    log = Journal.open(Path(journal), clock)
    agent = await WalletClient.start(from_json(WalletPlace, json.loads(place)), program=CHEAP)
    await agent.unlock(PASSPHRASE)

    async def look(review: Review) -> Agreed | None:
        return Agreed(review.phrase)

    key = Credentials.of_key("first-key", "first-secret")
    async with PartnerApi(url, key, clock=clock) as api:
        exchange = ExchangeFlow(api, log, clock, looks=(0.0, 0.0, 0.0))
        pace = Pace(look=0.05, patience=20.0)
        flow = DexSwapFlow(api, exchange, log, clock, agent, look, pace=pace)
        with striking(boundary, die):
            await flow.swap(Intent.from_json(json.loads(intent)))


if __name__ == "__main__":
    asyncio.run(swap(*sys.argv[1:]))

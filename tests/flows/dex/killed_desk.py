"""A desk of its own process that swaps and kills itself at a boundary, for the tests of kill -9."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.clock import SystemClock
from swapdesk.flows.dex_log import DexLog
from swapdesk.flows.dex_payment import Agreed, Pace
from swapdesk.flows.dex_swap import DexSwapFlow
from swapdesk.flows.exchange import ExchangeFlow
from swapdesk.flows.intent import Intent
from swapdesk.flows.intent_log import IntentLog
from swapdesk.flows.journal import Journal
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.encoding import from_json
from swapdesk.wallet.place import WalletPlace
from swapdesk.wallet.review import Review
from wallet.agents import CHEAP, PASSPHRASE

ROOMS = {
    "api": PartnerApi,
    "steps": DexLog,
    "intents": IntentLog,
    "wallet": WalletClient,
}


def die_at(boundary: str) -> None:
    """``room.method.before|after.n``: at the n-th call of a method."""
    room, method, when, count = boundary.split(".")
    kind, left = ROOMS[room], int(count)
    plain: Callable[..., Any] = getattr(kind, method)

    def reached(moment: str) -> None:
        nonlocal left
        if moment == when:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    if asyncio.iscoroutinefunction(plain):

        async def awaited(*arguments: Any, **named: Any) -> Any:
            reached("before")
            found = await plain(*arguments, **named)
            reached("after")
            return found

        setattr(kind, method, awaited)
        return

    def called(*arguments: Any, **named: Any) -> Any:
        reached("before")
        found = plain(*arguments, **named)
        reached("after")
        return found

    setattr(kind, method, called)


async def swap(url: str, place: str, journal: str, intent: str, boundary: str) -> None:
    clock = SystemClock()
    log = Journal.open(Path(journal), clock)
    agent = await WalletClient.start(from_json(WalletPlace, json.loads(place)), program=CHEAP)
    await agent.unlock(PASSPHRASE)
    die_at(boundary)

    async def look(review: Review) -> Agreed | None:
        return Agreed(review.phrase)

    async with PartnerApi(url, Credentials.of_key("first-key", "first-secret"), clock=clock) as api:
        exchange = ExchangeFlow(api, log, clock, looks=(0.0, 0.0, 0.0))
        pace = Pace(look=0.01, patience=20.0)
        flow = DexSwapFlow(api, exchange, log, clock, agent, look, pace=pace)
        await flow.swap(Intent.from_json(json.loads(intent)))


if __name__ == "__main__":
    asyncio.run(swap(*sys.argv[1:]))

"""``python tracking_desk.py JOURNAL API STREAM ORDER FIRST LAST``: a desk that follows an order,
asks for it once its journal has the first output, and kills itself once it shows the last."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from decimal import Decimal
from pathlib import Path

from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.client.live import OrderStream
from swapdesk.clock import SystemClock
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.tracking.tracking import Tracker


async def follow(
    path: str, api_url: str, stream_url: str, name: str, first: Decimal, last: Decimal
) -> None:
    clock, credentials = SystemClock(), Credentials.of_key("first-key", "first-secret")
    journal = Journal.open(Path(path), clock)
    api = PartnerApi(api_url, credentials, clock=clock, rng=random.Random(1))
    stream = OrderStream(stream_url, credentials, clock, api, random.Random(2))
    tracker = Tracker(journal, api, clock, stream)
    await tracker.load_past()
    following = asyncio.create_task(tracker.run())
    async for _ in tracker.changes():
        one, kept = tracker.get(name), journal.orders.get(name)
        # What is shown may wait for its commit still, when another change is told.
        if kept is not None and kept.order.out_amount == first:
            await api.get_order(name)
        if one is not None and one.order.out_amount == last:
            os.kill(os.getpid(), signal.SIGKILL)
    await following


if __name__ == "__main__":
    journal_path, api, stream, order, asked, awaited = sys.argv[1:]
    asyncio.run(follow(journal_path, api, stream, order, Decimal(asked), Decimal(awaited)))

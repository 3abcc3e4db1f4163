"""Events of the node: delivered over the wire, bounded, and never in the way of its work."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter
from contextlib import closing, suppress
from datetime import UTC, datetime

import httpx2
from standardwebhooks import Webhook

import manual_time
from sandbox.running import Running, until
from sandbox.traffic import Traffic, bundle
from swapdesk.clock import ManualClock
from swapdesk.sandbox.node.event_sender import MOST_WAITING, WAITS, EventSender
from swapdesk.sandbox.partner_keys import webhook_secret
from swapdesk.sandbox.tables import VENUE_ROWS

KEY = bytes(32)


def test_exchanges_and_bundler_tell_the_service_of_what_they_carry_out(running: Running) -> None:
    """Of each operation of a bundle that pays for orders, and of these orders; each is signed by
    its source, and was known to nobody before."""
    venues = {row.code for row in VENUE_ROWS}

    def taken() -> Counter[str]:
        with closing(sqlite3.connect(running.data / "service.db")) as db:
            return Counter(row[0] for row in db.execute("SELECT source FROM webhooks"))

    before = taken()
    bundle(Traffic(running, random.Random(2)), 70_000)
    until(lambda: (taken() - before)["bundler"] >= 2, "the events of the bundler")
    until(lambda: venues & (taken() - before).keys(), "an event of an exchange")


class Service(httpx2.AsyncBaseTransport):
    """Takes events, or is not there."""

    def __init__(self) -> None:
        self.down = False
        self.tries: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.tries.append(request)
        if self.down:
            raise httpx2.ConnectError("nobody is there", request=request)
        return httpx2.Response(200, json={"received": True})


async def test_events_are_tried_a_few_times_and_wait_in_a_bounded_queue() -> None:
    service, clock = Service(), ManualClock()
    url = "http://127.0.0.1:9/v2"
    sender = EventSender(url, KEY, clock, random.Random(1), service)
    service.down = True
    running = asyncio.create_task(sender.run())
    try:
        sender.tell("aa", "orderId", "first:in")
        await manual_time.rest()
        for number in range(2 * MOST_WAITING):
            sender.tell("aa", "orderId", f"{number}:in")
            sender.tell("aa", "orderId", f"{number}:in")
        assert sender.waiting == MOST_WAITING
        for _ in WAITS:
            clock.advance_to_next()
            await manual_time.rest()
        ids = [each.headers["webhook-id"] for each in service.tries]
        assert ids[: len(WAITS) + 1] == ids[:1] * (len(WAITS) + 1)
        assert ids[len(WAITS) + 1] != ids[0], "and then it is the next one's turn"
        stamps = [each.headers["webhook-timestamp"] for each in service.tries]
        assert stamps[0] != stamps[len(WAITS)], "each try is signed anew"
        service.down = False
        clock.advance_to_next()
        await manual_time.rest()
        assert sender.waiting == 0
        last = service.tries[-1]
        assert last.url == f"{url}/webhooks/aa"
        at = datetime.fromtimestamp(int(last.headers["webhook-timestamp"]), UTC)
        mine = Webhook(webhook_secret(KEY, "aa"))
        signed = mine.sign(last.headers["webhook-id"], at, last.content.decode())
        assert last.headers["webhook-signature"] == signed
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running

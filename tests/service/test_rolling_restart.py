"""Processes of a service are replaced one after the other, and no caller notices."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from msgspec import Struct, field

from databases import Cluster
from patience import PATIENCE, eventually
from plain_http import PLAIN
from service.balancer import Balancer
from service.orders_fixtures import ALICE, BITCOIN, BTC, ETH, credentials
from service.rolling import processes
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.client.live import OrderSeen, OrderStream
from swapdesk.client.stream_socket import StreamTimes
from swapdesk.clock import SystemClock
from swapdesk.secret import Secret

HEADERS = {"Authorization": credentials(ALICE)}
NO_POLLS = StreamTimes(poll_down=1e6, poll_live=1e6)
"""What a frame, or the reading after a new connection, does not tell, nobody tells."""


class Calls(Struct):
    url: str
    created: dict[str, str] = field(default_factory=dict)
    """Orders with their quotes."""
    failed: list[str] = field(default_factory=list)
    stop: bool = False

    async def run(self) -> None:
        """Quote, create and read, on connections that are kept."""
        async with httpx2.AsyncClient(
            base_url=self.url, headers=HEADERS, timeout=PATIENCE, trust_env=False, verify=PLAIN
        ) as client:
            query = {"amount": "0.5", "from": ETH.id, "to": BITCOIN.id, "types": "standard"}
            while not self.stop:
                try:
                    await self._once(client, query)
                except (httpx2.TransportError, ValueError, KeyError) as error:
                    self.failed.append(repr(error))

    async def _once(self, client: httpx2.AsyncClient, query: dict[str, str]) -> None:
        quoted = self._good(await client.get("/quotes", params=query))
        for quote in quoted.json()["quotes"][:2]:
            body = {"quoteId": quote["quoteId"], "addressTo": BTC}
            order = self._good(await client.post("/exchanges", json=body)).json()
            self.created[order["serviceId"]] = quote["quoteId"]
            self._good(await client.get(f"/orders/{order['serviceId']}"))

    def _good(self, answer: httpx2.Response) -> httpx2.Response:
        if answer.status_code != 200:
            self.failed.append(f"{answer.request.method} {answer.status_code} {answer.text}")
        return answer

    async def some_more(self) -> None:
        wanted = len(self.created) + 20
        await eventually(lambda: len(self.created) >= wanted or self.failed)


@asynccontextmanager
async def watching(url: str, number: int) -> AsyncIterator[set[str]]:
    """The orders that a desk sees at the end of their set-up."""
    seen: set[str] = set()
    key, _, secret = credentials(ALICE).partition(":")
    own, clock = Credentials(key, Secret(secret)), SystemClock()
    async with PartnerApi(url, own, clock=clock, rng=random.Random(number)) as api:
        stream = OrderStream(None, own, clock, api, random.Random(number), times=NO_POLLS)

        async def watch() -> None:
            async for event in stream:
                if isinstance(event, OrderSeen) and event.order.status == 0:
                    seen.add(event.order.service_id)

        async with stream:
            watcher = asyncio.create_task(watch())
            yield seen
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)


async def test_a_rolling_restart_loses_no_request_and_no_frame(tmp_path: Path) -> None:
    cluster = Cluster.of_run()
    database = cluster.url(cluster.empty_database(0))
    async with processes(database, tmp_path / "v.db", 2) as both:
        balancer = Balancer([each.port for each in both])
        async with (
            balancer.listening() as url,
            watching(url, 1) as one,
            watching(url, 2) as other,
        ):
            calls = Calls(url)
            callers = [asyncio.create_task(calls.run()) for _ in range(6)]
            await calls.some_more()
            await eventually(lambda: one and other)
            for each in both:
                assert await each.end() == 0
                await calls.some_more()
                await each.start()
                await calls.some_more()
            calls.stop = True
            await asyncio.gather(*callers)
            assert calls.failed == []
            assert len(set(calls.created.values())) == len(calls.created)
            assert balancer.handed_on > 0
            for seen in (one, other):
                await eventually(lambda seen=seen: seen >= calls.created.keys())
            # Each watched elsewhere once its process ended.
            assert sum(balancer.streams.values()) >= 4

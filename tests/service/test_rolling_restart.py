"""Processes of a service are replaced one after the other, and no caller notices."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec import Struct, field

from databases import Cluster
from patience import eventually
from service.balancer import Balancer
from service.rolling import Trader, calling, processes, service_file
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.client.live import OrderSeen, OrderStream
from swapdesk.client.stream_socket import StreamTimes
from swapdesk.clock import SystemClock
from swapdesk.secret import Secret
from swapdesk.wire.orders import OrderStatusCode

NO_POLLS = StreamTimes(poll_down=1e6, poll_live=1e6)
"""What a frame, or the reading after a new connection, does not tell, nobody tells."""
TRADERS, TELLERS = 3, 2
MORE = 3
"""Orders between two steps of the restart."""


class Calls(Struct):
    url: str
    trader: Trader
    paid: dict[str, str] = field(default_factory=dict)
    """Orders with their quotes."""
    sent: dict[str, str] = field(default_factory=dict)
    """An order that was paid, and its transaction, as it is told."""
    failed: list[str] = field(default_factory=list)
    stop: bool = False

    async def run(self, once: Callable[[httpx2.AsyncClient], Awaitable[None]]) -> None:
        """Over and over, on connections that are kept."""
        async with calling(self.url, self.trader) as api:
            while not self.stop:
                try:
                    await once(api)
                except (httpx2.TransportError, ValueError, LookupError) as error:
                    self.failed.append(repr(error))

    async def trade(self, api: httpx2.AsyncClient) -> None:
        """Quote, create, pay and read."""
        quotes = self._good(await api.get("/quotes", params=self.trader.query))["quotes"]
        # A venue that did not answer in time is asked again: the machine's speed decides nothing.
        for quote in (each for each in quotes if "quoteId" in each):
            order = self._good(await api.post("/exchanges", json=self.trader.body(quote)))
            sent = {"id": order["serviceId"], "txHash": await self.trader.pay(api, order)}
            while not self._good(await api.post("/dex/confirmTx", json=sent)):  # noqa: ASYNC110 - the chain tells nobody
                await asyncio.sleep(0.01)
            self._good(await api.get(f"/orders/{order['serviceId']}"))
            self.paid[order["serviceId"]], self.sent = quote["quoteId"], sent

    async def tell_again(self, api: httpx2.AsyncClient) -> None:
        """Quick calls that a proxy must not repeat: one of them meets whatever a process that ends
        leaves open."""
        self._good(await api.post("/dex/confirmTx", json=self.sent))

    def _good(self, answer: httpx2.Response) -> Any:
        if answer.status_code != 200:
            self.failed.append(f"{answer.request.method} {answer.status_code} {answer.text}")
        return answer.json()

    async def some_more(self) -> None:
        wanted = len(self.paid) + MORE
        await eventually(lambda: len(self.paid) >= wanted or self.failed)


@asynccontextmanager
async def watching(url: str, trader: Trader, number: int) -> AsyncIterator[set[str]]:
    """The orders that a desk sees finished."""
    seen: set[str] = set()
    key, _, secret = trader.headers["Authorization"].partition(":")
    own, clock = Credentials(key, Secret(secret)), SystemClock()
    async with PartnerApi(url, own, clock=clock, rng=random.Random(number)) as api:
        stream = OrderStream(None, own, clock, api, random.Random(number), times=NO_POLLS)

        async def watch() -> None:
            async for event in stream:
                if isinstance(event, OrderSeen) and event.order.status == OrderStatusCode.FINISHED:
                    seen.add(event.order.service_id)

        async with stream:
            watcher = asyncio.create_task(watch())
            yield seen
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[Path, Trader]]:
    cluster = Cluster.of_run()
    with service_file(tmp_path, cluster.url(cluster.empty_database(0))) as made:
        yield made


async def test_a_rolling_restart_loses_no_request_and_no_frame(
    service: tuple[Path, Trader],
) -> None:
    """As the operator's guide has it: each is ended, started again and waited for in its turn."""
    file, trader = service
    async with processes(file) as every:
        balancer = Balancer([each.port for each in every[:2]])
        async with (
            balancer.listening() as url,
            watching(url, trader, 1) as one,
            watching(url, trader, 2) as other,
        ):
            calls = Calls(url, trader)
            callers = [asyncio.create_task(calls.run(calls.trade)) for _ in range(TRADERS)]
            await calls.some_more()
            callers += [asyncio.create_task(calls.run(calls.tell_again)) for _ in range(TELLERS)]
            await eventually(lambda: one and other)
            for each in every:
                assert await each.end() == 0
                await calls.some_more()
                await each.start()
                await calls.some_more()
            calls.stop = True
            await asyncio.gather(*callers)
            assert calls.failed == []
            assert len(set(calls.paid.values())) == len(calls.paid)
            assert balancer.handed_on > 0
            for seen in (one, other):
                await eventually(lambda seen=seen: seen >= calls.paid.keys())
            # Each watched elsewhere once its process ended.
            assert sum(balancer.streams.values()) >= 4

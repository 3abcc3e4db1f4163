"""Processes of a service are replaced one after the other, and no caller notices; then peers open
more streams than they may, and the others do not notice either."""

from __future__ import annotations

import asyncio
import random
import resource
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec import Struct, field

from databases import Cluster
from patience import PATIENCE, eventually
from service.balancer import Balancer
from service.rolling import Process, Trader, calling, processes, service_file
from service.test_stream import stream
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.client.live import OrderSeen, OrderStream
from swapdesk.client.stream_socket import StreamTimes
from swapdesk.clock import SystemClock
from swapdesk.sandbox.http_server import MOST_CONNECTIONS, MOST_STREAMS_OF_A_PEER
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


STREAMS, HANDSHAKES = 1_000, 100
"""Over both processes, and half handshakes at each."""
HALF = (
    "GET /v2/ws HTTP/1.1\r\nHost: localhost\r\nAuthorization: {Authorization}\r\n"
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
)
REST = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
SUBSCRIBE = b'{"type":"subscribe"}'
# A mask of zeros leaves the text as it is.
FRAME = bytes((0x81, 0x80 | len(SUBSCRIBE), 0, 0, 0, 0)) + SUBSCRIBE
SYSTEM_TELLS = Path("/proc/self/fd").exists()
"""What a process has: memory and descriptors."""
MOST_BYTES = 128 * 1024 * 1024
"""Of memory more than before; the program alone has about as much."""


def _memory(process: Process) -> int:
    pages = Path(f"/proc/{process.running.pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def _descriptors(process: Process) -> int:
    return len(list(Path(f"/proc/{process.running.pid}/fd").iterdir()))


def _aborted(writer: asyncio.StreamWriter) -> None:
    """A writer that nobody holds closes its connection."""
    writer.transport.abort()


async def _taken(port: int, peer: str, half: bytes, held: AsyncExitStack) -> bytes:
    """The status of a handshake. A stream that is opened asks for all orders, and that is all that
    is ever heard of it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(peer, 0))
    writer.write(half + REST)
    async with asyncio.timeout(PATIENCE):
        status = (await reader.readline())[9:12]
    if status == b"101":
        writer.write(FRAME)
        writer.transport.pause_reading()
        held.callback(_aborted, writer)
    else:
        writer.transport.abort()
    return status


async def _traded(port: int, trader: Trader) -> None:
    url = f"http://127.0.0.1:{port}/v2"
    async with calling(url, trader) as client, stream(url, trader.headers) as told:
        await told.send(SUBSCRIBE.decode())
        for quote in (await client.get("/quotes", params=trader.query)).json()["quotes"]:
            answer = await client.post("/exchanges", json=trader.body(quote))
            assert answer.status_code == 200, answer.text
            async with asyncio.timeout(PATIENCE):
                while answer.json()["serviceId"] not in await told.recv():
                    continue


async def _closing(process: Process) -> None:
    """Until it takes no connections, and so has begun to end."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", process.port)
            except ConnectionRefusedError:
                return
            writer.transport.abort()


async def hold_half_open(both: list[Process], trader: Trader) -> None:
    """Peers that open a thousand streams, or half of one, and are gone: they take what they may
    take, and others are served."""
    half = HALF.format(**trader.headers).encode()
    async with AsyncExitStack() as held:
        for each in both:
            await _traded(each.port, trader)
        before = [_memory(each) for each in both]
        turn = asyncio.Semaphore(32)

        async def taken(number: int) -> tuple[int, bytes]:
            port = both[number % 2].port
            async with turn:
                return port, await _taken(port, "127.0.0.2", half, held)

        statuses = Counter(await asyncio.gather(*map(taken, range(STREAMS))))
        assert {status for _, status in statuses} == {b"101", b"503"}
        for each in both:
            assert statuses[each.port, b"101"] == MOST_STREAMS_OF_A_PEER
            for _ in range(HANDSHAKES):
                _, writer = await asyncio.open_connection(
                    "127.0.0.1", each.port, local_addr=("127.0.0.3", 0)
                )
                held.callback(_aborted, writer)
                writer.write(half)
        # Another caller reads, trades and is told of it at each of them.
        for each in both:
            await _traded(each.port, trader)
        for each, had in zip(both, before, strict=True):
            assert _memory(each) - had < MOST_BYTES
            assert _descriptors(each) < MOST_CONNECTIONS
            # Half a handshake would be waited for; a second signal does not.
            each.running.terminate()
            await _closing(each)
            assert await each.end() == 0


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[Path, Trader]]:
    cluster = Cluster.of_run()
    with service_file(tmp_path, cluster.url(cluster.empty_database(0))) as made:
        yield made


async def test_a_rolling_restart_and_half_open_streams_cost_no_caller_anything(
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
        if SYSTEM_TELLS:
            await hold_half_open(every[:2], trader)

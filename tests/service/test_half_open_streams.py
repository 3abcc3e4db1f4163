"""Peers that open streams and are gone: they take what they may take, and others are served."""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from databases import Cluster
from patience import PATIENCE
from service.rolling import Process, Trader, calling, processes, service_file
from service.test_stream import stream
from swapdesk.sandbox.http_server import MOST_CONNECTIONS, MOST_STREAMS_OF_A_PEER

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


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[Path, Trader]]:
    cluster = Cluster.of_run()
    with service_file(tmp_path, cluster.url(cluster.empty_database(1))) as made:
        yield made


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not tell")
async def test_a_thousand_half_open_streams_over_two_processes(
    service: tuple[Path, Trader],
) -> None:
    file, trader = service
    half = HALF.format(**trader.headers).encode()
    async with processes(file) as (*both, _), AsyncExitStack() as held:
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


async def _closing(process: Process) -> None:
    """Until it takes no connections, and so has begun to end."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", process.port)
            except ConnectionRefusedError:
                return
            writer.transport.abort()

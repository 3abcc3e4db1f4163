"""A closed loop of requests over a few kept connections: answers a second, and their times.

Plain protocol code, so that one core of client is enough for a fast server; the same code
asks every server that is compared.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence

import uvloop
from msgspec import Struct

_END = b"\r\n\r\n"


class Load(Struct, frozen=True):
    """What a run of ``seconds`` saw. ``latencies`` are seconds, sorted."""

    answers: int
    seconds: float
    latencies: tuple[float, ...]
    bytes: int
    refused: int

    @property
    def per_second(self) -> float:
        return self.answers / self.seconds

    def quantile(self, share: float) -> float:
        return self.latencies[min(len(self.latencies) - 1, int(share * len(self.latencies)))]


class _Connection(asyncio.Protocol):
    """Sends the next request as soon as the last was answered."""

    def __init__(self, requests: Iterator[bytes], until: float) -> None:
        self._requests = requests
        self._until = until
        self._received = bytearray()
        self._sent = 0.0
        self.latencies: list[float] = []
        self.bytes = 0
        self.refused = 0
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        self._sent = time.perf_counter()
        request = next(self._requests, None) if self._sent < self._until else None
        if request is None:
            self._transport.close()
            return
        self._transport.write(request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self._received += data
        size = _whole(self._received)
        if size is None:
            return
        self.latencies.append(time.perf_counter() - self._sent)
        self.bytes += size
        self.refused += not self._received.startswith(b"HTTP/1.1 200")
        self._received.clear()
        self._ask()

    def connection_lost(self, problem: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(problem)


def _whole(received: bytearray) -> int | None:
    """Size of an answer once all of it has come."""
    head = received.find(_END)
    if head < 0:
        return None
    fields = bytes(received[:head]).lower()
    place = fields.find(b"content-length:")
    if place < 0:
        return len(received) if received.endswith(b"0\r\n\r\n") else None
    length = int(fields[place + 15 :].split(b"\r\n", 1)[0])
    size = head + len(_END) + length
    return size if len(received) >= size else None


def request(port: int, target: str, headers: Mapping[str, str], body: bytes | None = None) -> bytes:
    """One GET as it goes over the wire, or a POST where it has a body of JSON."""
    lines = [f"{'GET' if body is None else 'POST'} {target} HTTP/1.1", f"host: 127.0.0.1:{port}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b"")


def run(
    ports: Sequence[int],
    requests: Sequence[bytes],
    *,
    connections: int,
    seconds: float,
    once: bool = False,
) -> Load:
    """Ask ``requests`` in turn, over and over unless ``once``, for ``seconds`` at most; every port
    has an equal share of the connections."""

    async def drive() -> Load:
        def turns(offset: int) -> Iterator[bytes]:
            number = offset
            while not once or number < len(requests):
                yield requests[number % len(requests)]
                number += connections

        loop = asyncio.get_running_loop()
        begin = time.perf_counter()
        made = [
            (
                await loop.create_connection(
                    lambda offset=offset: _Connection(turns(offset), begin + seconds),  # type: ignore[misc]
                    "127.0.0.1",
                    ports[offset % len(ports)],
                )
            )[1]
            for offset in range(connections)
        ]
        for problem in await asyncio.gather(*(connection.done for connection in made)):
            if problem is not None:
                raise problem
        took = time.perf_counter() - begin
        times = sorted(sample for connection in made for sample in connection.latencies)
        return Load(
            len(times),
            took,
            tuple(times),
            sum(connection.bytes for connection in made),
            sum(connection.refused for connection in made),
        )

    return uvloop.run(drive())

"""A proxy before several services, with the rules of nginx.

It keeps connections to them. A request that was not sent is handed to the next one; one that was
sent is sent again only where that is harmless (GET), and ends with 502 elsewhere. A stream is
passed on as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count

from msgspec import Struct, field

Pipe = tuple[asyncio.StreamReader, asyncio.StreamWriter]
NO_ANSWER = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"


class Lost(Exception):
    """The connection ended before an answer began."""


class Balancer(Struct):
    """``ports`` are those of the services; ``handed_on`` counts requests that the first one asked
    could not be sent."""

    ports: list[int]
    kept: dict[int, list[Pipe]] = field(default_factory=dict)
    turns: count[int] = field(default_factory=count)
    handed_on: int = 0
    streams: dict[int, int] = field(default_factory=dict)
    """How many were opened at each port."""

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v2"
        finally:
            server.close()
            for _, writer in [pipe for kept in self.kept.values() for pipe in kept]:
                writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if _field(head, b"upgrade"):
                    await self._stream(head, reader, writer)
                    return
                body = await reader.readexactly(int(_field(head, b"content-length") or 0))
                writer.write(await self._answer(head, body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.transport.abort()

    async def _answer(self, head: bytes, body: bytes) -> bytes:
        while True:
            port, pipe = await self._opened()
            if pipe is None:
                return NO_ANSWER
            try:
                return await self._asked(port, pipe, head + body)
            except (Lost, ConnectionError):
                pipe[1].transport.abort()
                if not head.startswith(b"GET "):
                    return NO_ANSWER

    async def _opened(self, *, kept: bool = True) -> tuple[int, Pipe | None]:
        """A connection to a service, in turn; none where all refuse."""
        turn = next(self.turns)
        for number in range(len(self.ports)):
            port = self.ports[(turn + number) % len(self.ports)]
            pool = self.kept.setdefault(port, [])
            while kept and pool:
                pipe = pool.pop()
                if not pipe[0].at_eof():
                    return port, pipe
                pipe[1].transport.abort()
            try:
                return port, await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                self.handed_on += 1
        return 0, None

    async def _asked(self, port: int, pipe: Pipe, request: bytes) -> bytes:
        reader, writer = pipe
        writer.write(request)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            raise Lost from None
        body = await reader.readexactly(int(_field(head, b"content-length") or 0))
        if _field(head, b"connection") == b"close":
            writer.transport.abort()
        else:
            self.kept[port].append(pipe)
        # What is said of that connection is not said of the caller's.
        return head.replace(b"connection: close\r\n", b"") + body

    async def _stream(
        self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        port, pipe = await self._opened(kept=False)
        if pipe is None:
            writer.write(NO_ANSWER)
            return
        self.streams[port] = self.streams.get(port, 0) + 1
        pipe[1].write(head)
        await asyncio.gather(_copied(reader, pipe[1]), _copied(pipe[0], writer))


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


def _field(head: bytes, name: bytes) -> bytes:
    for line in head.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.lower() == name:
            return value.strip()
    return b""

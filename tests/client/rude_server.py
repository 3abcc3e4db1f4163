"""A real server on this machine that answers however a test wants, and clocks for its tests."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any, Self

from msgspec import Struct

from swapdesk.clock import ManualClock


class Request(Struct, frozen=True):
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Behaviour = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


def answer(
    status: int = 200, body: bytes | Any = b"{}", headers: dict[str, str] | None = None
) -> Behaviour:
    """A whole, well-formed answer."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = {"content-type": "application/json", "content-length": str(len(content))}
    lines.update(headers or {})
    head = f"HTTP/1.1 {status} Said\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())

    async def behave(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head.encode() + b"\r\n" + content)
        await writer.drain()

    return behave


def raw(data: bytes, *, then_close: bool = True) -> Behaviour:
    """Exactly these bytes, then the end of the connection."""

    async def behave(_: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()
        if then_close:
            writer.close()

    return behave


async def reset(_: Request, writer: asyncio.StreamWriter) -> None:
    """The request was read, then the connection is torn down."""
    writer.transport.abort()


async def silence(_: Request, __: asyncio.StreamWriter) -> None:
    """The request was read and nothing follows."""
    await asyncio.Event().wait()


async def drip(_: Request, writer: asyncio.StreamWriter) -> None:
    """One byte again and again: each read is quick and the whole never ends."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.02)


class RudeServer:
    """Answers request after request by ``behaviours``; the last one repeats."""

    def __init__(self, *behaviours: Behaviour) -> None:
        self.behaviours = list(behaviours)
        self.requests: list[Request] = []
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def port(self) -> int:
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v2"

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            while not writer.is_closing():
                request = await _read(reader)
                if request is None:
                    break
                self.requests.append(request)
                behave = self.behaviours[min(len(self.requests), len(self.behaviours)) - 1]
                await behave(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    line = await reader.readline()
    if not line:
        return None
    method, target, _ = line.decode("ascii").split(" ")
    headers: dict[str, str] = {}
    while (field := (await reader.readline()).decode("latin-1").rstrip("\r\n")) != "":
        name, _, value = field.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body)


class EagerClock(ManualClock):
    """Time that moves on by itself when somebody sleeps, and remembers for how long."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)

"""What a server of the sandbox takes and how long it waits, by the clock that it is given; that it
ends quietly, and a defect keeps its stack."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import select
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from msgspec import Struct

import manual_time
from patience import PATIENCE, eventually
from plain_http import PLAIN
from service.loopback import on_port
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.keepalive import SERVER_SECONDS
from swapdesk.sandbox import http_server
from swapdesk.sandbox.http_server import (
    DRAIN_SECONDS,
    IDLE_SHARE,
    REQUEST_SECONDS,
    STUCK_SECONDS,
    _Server,
    _turn_away,
    build_server,
    serve_until,
    started,
)
from swapdesk.sandbox.processes import listen
from swapdesk.service.front import Front, customer_of, network_of

WHOLE = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
STREAM = (
    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
LARGE = 64 * 1024 * 1024
"""More than two ends of a connection of this machine keep."""


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Answers a request once it is whole, and takes every stream."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await receive()
        return
    while (await receive()).get("more_body"):
        continue
    body = b"a" * LARGE if scope["path"] == "/large" else b"done"
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


class Served(Struct):
    server: _Server
    clock: ManualClock
    port: int

    @asynccontextmanager
    async def connection(
        self, sent: bytes = b"", peer: str = "127.0.0.1"
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(peer, 0))
        try:
            writer.write(sent)
            yield reader, writer
        finally:
            writer.transport.abort()

    async def until(self, connections: int) -> None:
        await eventually(lambda: len(self.server.server_state.connections) == connections)

    async def pass_on(self, seconds: float) -> None:
        """The server looks every second."""
        await manual_time.pass_seconds(self.clock, seconds)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    clock = ManualClock()
    server = build_server(echo, clock)
    async with on_port(server) as port:
        yield Served(server, clock, port)  # type: ignore[arg-type]


async def rest(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(PATIENCE):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


def refused(answer: bytes) -> tuple[int, str]:
    """Status and code of an answer of the server itself."""
    head, _, body = answer.partition(b"\r\n\r\n")
    told = json.loads(body)
    assert f"x-request-id: {told['requestId']}" in head.decode()
    return int(head.split()[1]), told["code"]


@pytest.mark.parametrize(
    ("sent", "drip", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\nx", b"y", 408),
        (b"\r\n", b"\r\n", 408),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf", b"h", 408),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na",
            b"\r\n",
            408,
        ),
        (b"", b"", None),
    ],
)
async def test_a_request_that_does_not_come_to_its_end_is_not_waited_for(
    served: Served, sent: bytes, drip: bytes, status: int | None
) -> None:
    async with served.connection(sent) as (reader, writer):
        await served.until(1)
        (connection,) = served.server.server_state.connections
        await eventually(lambda: connection._fed or not sent)  # type: ignore[union-attr]
        await served.pass_on(REQUEST_SECONDS - 2)
        assert len(served.server.server_state.connections) == 1
        # What drips on does not begin the time anew.
        writer.write(drip)
        await served.pass_on(3)
        answer = await rest(reader)
        assert (refused(answer) if answer else None) == (status and (status, "BAD_REQUEST"))
    await served.until(0)


async def test_a_kept_connection_may_be_silent_between_requests(served: Served) -> None:
    async with served.connection(WHOLE) as (reader, writer):
        assert (await reader.readuntil(b"done")).startswith(b"HTTP/1.1 200")
        await served.pass_on(REQUEST_SECONDS + 10)
        writer.write(WHOLE)
        assert (await reader.readuntil(b"done")).startswith(b"HTTP/1.1 200")
        writer.write(WHOLE[:9])
        (connection,) = served.server.server_state.connections
        await eventually(lambda: connection._due is not None)  # type: ignore[union-attr]
        await served.pass_on(REQUEST_SECONDS + 1)
        assert refused(await rest(reader)) == (408, "BAD_REQUEST")


async def test_an_answer_that_nobody_reads_is_given_up(served: Served) -> None:
    async with served.connection(WHOLE.replace(b"/", b"/large", 1)) as (reader, _):
        await reader.readexactly(100)
        await served.until(1)
        (connection,) = served.server.server_state.connections
        await eventually(lambda: connection.transport.get_write_buffer_size() > 0)
        await served.pass_on(STUCK_SECONDS - 2)
        assert len(served.server.server_state.connections) == 1
        # Counted from when nothing left any more, which comes some looks later.
        for _ in range(10 * int(STUCK_SECONDS)):
            if served.server.server_state.connections:
                await served.pass_on(1)
        assert not served.server.server_state.connections
        assert len(await rest(reader)) < LARGE


@pytest.mark.parametrize(
    ("bound", "sent"),
    [
        ("MOST_CONNECTIONS", b""),
        ("MOST_CONNECTIONS_OF_A_PEER", b""),
        ("MOST_STREAMS", STREAM),
        ("MOST_STREAMS_OF_A_PEER", STREAM),
    ],
)
async def test_what_is_one_too_many_is_refused(
    served: Served, monkeypatch: pytest.MonkeyPatch, bound: str, sent: bytes
) -> None:
    monkeypatch.setattr(http_server, bound, 1)
    async with served.connection(sent or WHOLE) as (first, writer):
        assert await first.readuntil(b"\r\n\r\n")
        async with served.connection(sent) as (second, _):
            # One that is not refused is closed without a word by then.
            await served.pass_on(REQUEST_SECONDS + 2)
            head = await second.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 1" in head
            assert refused(head + await rest(second)) == (503, "SERVICE_UNAVAILABLE")
        if not sent:
            writer.write(WHOLE)
            assert (await first.readuntil(b"doneHTTP")).startswith(b"done")
        if bound != "MOST_CONNECTIONS":
            async with served.connection(WHOLE, peer="127.0.0.2") as (other, _):
                assert (await other.readuntil(b"done")).startswith(b"HTTP/1.1 200")
    await served.until(0)


def test_a_peer_is_an_address_or_a_network_of_one_customer() -> None:
    same = [("2001:db8:0:1::1", "2001:db8:0:1:ffff::2"), ("::ffff:192.0.2.1", "192.0.2.1")]
    for one, other in same:
        assert customer_of(one) == customer_of(other)
    for one, other in [("2001:db8:0:1::1", "2001:db8:0:2::1"), ("192.0.2.1", "192.0.2.2")]:
        assert customer_of(one) != customer_of(other)
    assert customer_of("fe80::1%eth0") == customer_of("fe80::2")
    assert http_server.MOST_CONNECTIONS_OF_A_PEER < http_server.MOST_CONNECTIONS
    assert http_server.MOST_STREAMS_OF_A_PEER < http_server.MOST_STREAMS


@pytest.mark.parametrize(
    ("bound", "sent"),
    [("MOST_CONNECTIONS_OF_A_PEER", WHOLE), ("MOST_STREAMS_OF_A_PEER", STREAM)],
)
async def test_behind_a_trusted_proxy_each_caller_is_a_peer(
    monkeypatch: pytest.MonkeyPatch, bound: str, sent: bytes
) -> None:
    monkeypatch.setattr(http_server, bound, 1)
    held = asyncio.Event()

    async def waiting(scope: Any, receive: Any, send: Any) -> None:
        await (held.wait() if scope["type"] == "http" else asyncio.sleep(0))
        await echo(scope, receive, send)

    def by(address: str) -> bytes:
        return sent[:-2] + f"X-Forwarded-For: {address}\r\n\r\n".encode()

    clock = ManualClock()
    front = Front(proxies=(network_of("127.0.0.1"),))
    server = build_server(waiting, clock, front=front)
    async with on_port(server) as port:
        served = Served(server, clock, port)  # type: ignore[arg-type]
        # Connections of the proxy that no request came on yet are nobody's.
        async with (
            served.connection() as (idle, idle_writer),
            served.connection(by("203.0.113.7")) as (first, _),
        ):
            await eventually(lambda: _clients(served) == ["203.0.113.7"])
            async with served.connection(by("203.0.113.7")) as (again, _):
                assert refused(await rest(again)) == (503, "SERVICE_UNAVAILABLE")
            async with served.connection(by("203.0.113.8")) as (other, _):
                await eventually(lambda: _clients(served) == ["203.0.113.7", "203.0.113.8"])
                held.set()
                for reader in (first, other):
                    assert (await reader.readline())[9:12] in (b"200", b"101")
            if sent is WHOLE:
                # Once it is answered, a connection of the proxy is nobody's again.
                await first.readuntil(b"done")
                idle_writer.write(by("203.0.113.7"))
                assert (await idle.readuntil(b"done")).startswith(b"HTTP/1.1 200")


def _clients(served: Served) -> list[str]:
    connections = served.server.server_state.connections
    return sorted(each.client[0] for each in connections if each.client is not None)


@asynccontextmanager
async def answering_late(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[asyncio.Event]:
    """Nothing is answered until the event is set."""
    held = asyncio.Event()
    inner = served.server.config.loaded_app

    async def late(scope: Any, receive: Any, send: Any) -> None:
        await held.wait()
        await inner(scope, receive, send)

    monkeypatch.setattr(served.server.config, "loaded_app", late)
    try:
        yield held
    finally:
        # The server waits for what is carried out, also after a test that failed.
        held.set()
    await served.until(0)


@pytest.mark.parametrize(
    "malformed",
    [
        b"G@T / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n",
    ],
)
async def test_a_malformed_request_behind_another_one_is_no_answer_to_that(
    served: Served, monkeypatch: pytest.MonkeyPatch, malformed: bytes
) -> None:
    """It would be read as a refusal of what is carried out."""
    async with (
        answering_late(served, monkeypatch),
        served.connection(WHOLE + malformed) as (reader, _),
    ):
        assert await rest(reader) == b""


async def test_a_body_behind_another_request_has_its_time_once_that_is_answered(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    halved = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf"
    async with (
        answering_late(served, monkeypatch) as held,
        served.connection(WHOLE + halved) as (reader, writer),
    ):
        await served.until(1)
        (connection,) = served.server.server_state.connections
        await eventually(lambda: connection.cycle and connection.pipeline)  # type: ignore[union-attr]
        await served.pass_on(REQUEST_SECONDS + 2)
        held.set()
        assert (await reader.readuntil(b"done")).startswith(b"HTTP/1.1 200")
        await served.pass_on(REQUEST_SECONDS - 2)
        writer.write(b"other")
        assert (await reader.readuntil(b"done")).startswith(b"HTTP/1.1 200")


async def test_a_connection_is_kept_no_longer_where_the_answer_came_before_the_body(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-length", b"4")]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": b"done"})

    monkeypatch.setattr(served.server.config, "loaded_app", hasty)
    begun = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf"
    async with served.connection(begun) as (reader, writer):
        assert (await reader.readuntil(b"done")).startswith(b"HTTP/1.1 413")
        writer.write(b"other")
        (connection,) = served.server.server_state.connections
        await eventually(lambda: not connection._fed)  # type: ignore[union-attr]
        await served.pass_on(SERVER_SECONDS - 2)
        assert len(served.server.server_state.connections) == 1
        await served.pass_on(3)
        assert not served.server.server_state.connections
        assert await rest(reader) == b""


async def test_requests_that_are_cut_off_at_the_end_are_no_defects(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun = asyncio.Event()

    async def app(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        if scope["path"] == "/defect":
            raise LookupError("a defect")
        begun.set()
        await asyncio.Event().wait()

    stop = asyncio.Event()
    server = build_server(app, SystemClock())
    with listen("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        serving = asyncio.create_task(serve_until(stop, (server, listener)))
        assert await started(server, stop)
        async with httpx2.AsyncClient(trust_env=False, verify=PLAIN) as client:
            answer = await client.get(f"{url}/defect")
            assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL_SERVER_ERROR")
            assert answer.json()["requestId"] == answer.headers["x-request-id"]
            waiting = asyncio.create_task(client.get(f"{url}/waits"))
            await begun.wait()
            stop.set()
            await serving
            # The server answers what it cuts off, or only closes.
            await asyncio.gather(waiting, return_exceptions=True)
    said = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert [type(one.exc_info[1]) for one in said if one.exc_info] == [LookupError]
    assert len(said) == 1, [one.getMessage() for one in said]


class Draining(Struct):
    """A server that is told to end while requests are carried out; ``flushed`` once its
    application has ended."""

    served: Served
    held: asyncio.Event
    stop: asyncio.Event
    hurry: asyncio.Event
    flushed: asyncio.Event
    ended: asyncio.Task[None]

    async def begin(self) -> None:
        """Return when no new connection is taken."""
        self.stop.set()
        await eventually(lambda: not any(each.is_serving() for each in self.served.server.servers))


@pytest.fixture
async def draining() -> AsyncIterator[Draining]:
    held, stop, hurry, flushed = (asyncio.Event() for _ in range(4))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for kind in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{kind}.complete"})
            flushed.set()
            return
        if scope["path"] == "/held":
            await held.wait()
        await echo(scope, receive, send)

    clock = ManualClock()
    server = build_server(app, clock, lifespan=True, drain_seconds=DRAIN_SECONDS)
    with listen("127.0.0.1", 0) as bound:
        serving = asyncio.create_task(serve_until(stop, (server, bound), hurry=hurry))
        assert await started(server, stop)
        served = Served(server, clock, bound.getsockname()[1])  # type: ignore[arg-type]
        yield Draining(served, held, stop, hurry, flushed, serving)
        hurry.set()
        stop.set()
        await serving


HELD = WHOLE.replace(b"/", b"/held", 1)


async def test_what_was_begun_is_finished_and_nothing_new_is_begun(draining: Draining) -> None:
    async with (
        draining.served.connection(HELD) as (running, _),
        draining.served.connection(WHOLE) as (kept, kept_writer),
        draining.served.connection() as (fresh, fresh_writer),
        draining.served.connection(WHOLE[:9]) as (half, half_writer),
        draining.served.connection(WHOLE) as (silent, _),
    ):
        for reader in (kept, silent):
            assert b"connection" not in await reader.readuntil(b"done")
        await draining.served.until(5)
        await draining.begin()
        with pytest.raises(OSError, match=r"Connect call failed|refused"):
            await asyncio.open_connection("127.0.0.1", draining.served.port)
        # A request that was under way on a connection without one is answered, and is the last.
        kept_writer.write(WHOLE)
        fresh_writer.write(WHOLE)
        half_writer.write(WHOLE[9:])
        for reader in (kept, fresh, half):
            answer = await rest(reader)
            assert answer.startswith(b"HTTP/1.1 200")
            assert b"connection: close" in answer
        # What brings none is let go long before the end.
        await draining.served.pass_on(DRAIN_SECONDS * IDLE_SHARE + 1)
        assert await rest(silent) == b""
        assert not draining.ended.done()
        draining.held.set()
        assert b"connection: close" in await rest(running)
        await draining.ended
    assert draining.flushed.is_set()


@pytest.mark.parametrize("hurried", [False, True])
async def test_what_takes_too_long_is_cut_off(draining: Draining, hurried: bool) -> None:
    async with draining.served.connection(HELD) as (running, _):
        await eventually(lambda: draining.served.server.server_state.tasks)
        await draining.begin()
        if hurried:
            draining.hurry.set()
        else:
            await draining.served.pass_on(DRAIN_SECONDS - 2)
            assert not draining.ended.done()
            await draining.served.pass_on(3)
        await draining.ended
        assert b"200" not in await rest(running)
    assert draining.flushed.is_set()


@pytest.mark.skipif(sys.platform != "linux", reason="what is dropped is dropped by Linux")
def test_a_request_that_waits_to_be_accepted_is_answered_at_the_end() -> None:
    with listen("127.0.0.1", 0) as bound, socket.socket() as waiting, socket.socket() as late:
        waiting.settimeout(PATIENCE)
        waiting.connect(bound.getsockname())
        waiting.sendall(WHOLE)
        _turn_away(bound)
        # Nothing answers this one, and so it sends no request.
        late.setblocking(False)
        assert late.connect_ex(bound.getsockname()) == errno.EINPROGRESS
        accepted, _ = bound.accept()
        with accepted:
            accepted.settimeout(PATIENCE)
            assert accepted.recv(len(WHOLE)) == WHOLE
            accepted.sendall(b"done")
            assert waiting.recv(4) == b"done"
        bound.setblocking(False)
        with pytest.raises(BlockingIOError):
            bound.accept()
        bound.close()
        assert select.select([], [late], [], PATIENCE)[1]
        assert late.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED

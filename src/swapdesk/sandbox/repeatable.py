"""Runs a whole sandbox in one process so that every run is the same: same seed, same bytes.

These things could differ between two runs, and are handled as follows:

- **Time.** ``RepeatableLoop`` is an event loop with a time of its own. The time begins at a fixed
  instant. It moves only when nothing is left to do, and then to the next time that somebody waits
  for. ``Clock.sleep``, ``asyncio.sleep`` and deadlines follow that time, and waiting takes no real
  time.
- **Threads.** Work that is handed to a thread runs at once, on the loop. Chains, store and
  journal are the usual ones.
- **Sockets.** There are no sockets. ``RepeatableWorld.transport`` carries HTTP and the order
  stream to service, control and node, chosen by the path of the URL. The service reaches the
  chains in the same way.
- **Chance.** ``sandbox.key`` and the ids of the service are drawn from the seed.

The alternative was a sandbox process whose clock only moves by ``POST /clock``. It repeats the
times, but not which of two threads, processes or sockets is first, and its every step waits for
a real one.

A process started from here, such as a wallet agent, has its own time, and so does a program that
opens a socket. While such a program is connected, the loop waits in real time and its runs may
differ.

    run_repeatable(main)            # a coroutine function, on such a loop
    async with open_world(home.sandbox, seed=7, speed=Decimal(1)) as world:
        desk = Desk.open(settings, clock=world.clock, transport=world.transport)
        await desk.connect(sandbox_connection(world.ready), follow=False)
"""

from __future__ import annotations

import asyncio
import os
import random
import selectors
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx2
from msgspec import Struct
from starlette.types import ASGIApp, Message
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Close
from websockets.http11 import Response

from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.chain.unused_curve import leave_out_validator_keys, postpone_precompiles
from swapdesk.clock import SystemClock
from swapdesk.paths import make_directories, write_private
from swapdesk.sandbox.http_server import CUT
from swapdesk.sandbox.node.node import Node, keep_stepping, open_node
from swapdesk.sandbox.partner_keys import KEY_FILE, load_key, partner_keys
from swapdesk.sandbox.run_file import ReadyLine
from swapdesk.sandbox.service_process import DATABASE, build_sandbox_service
from swapdesk.sandbox.supervisor import makers_of
from swapdesk.sandbox.tables import chain_lines
from swapdesk.sandbox.world import seed_bytes
from swapdesk.service.store.sqlite import LoopWriter
from swapdesk.service.store.store import Store

T = TypeVar("T")

BEGINNING = datetime(2026, 11, 20, 14, 2, tzinfo=UTC)
"""The time at which the sandbox's clock begins in every repeatable run."""
_HOST, _PORT = "127.0.0.1", 9
"""Host and port in the URLs of a repeatable sandbox. Nothing listens there."""
_ORIGIN = f"http://{_HOST}:{_PORT}"
TICK_SECONDS = 2.0
"""Seconds of world time between two steps of the node. Shorter intervals cost more computing
time."""
_WATCHED_BY_LOOP = 1
"""Number of files that the loop itself watches."""


class _StandingSelector(selectors.DefaultSelector):
    """A selector that does not wait when only time has to pass. ``passed`` is the sum of all
    waiting times in seconds, skipped or not."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0
        self._machine = SystemClock()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if events or timeout == 0:
            return events
        if timeout is not None and len(self.get_map()) <= _WATCHED_BY_LOOP:
            self.passed += timeout
            return []
        began = self._machine.monotonic()
        events = super().select(timeout)
        self.passed += self._machine.monotonic() - began
        return events


class RepeatableLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock advances without real waiting. It also runs the functions that
    would otherwise run in threads."""

    def __init__(self) -> None:
        self._standing = _StandingSelector()
        super().__init__(self._standing)

    def time(self) -> float:
        return self._standing.passed

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 (told to whoever waits)
            done.set_exception(error)
        return done


def run_repeatable(main: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs a coroutine function to its end on a new RepeatableLoop."""
    leave_out_validator_keys()
    postpone_precompiles()
    with asyncio.Runner(loop_factory=RepeatableLoop) as runner:
        return runner.run(main())


def repeatable_clock() -> SystemClock:
    loop = asyncio.get_running_loop()
    return SystemClock(monotonic=loop.time, wall=lambda: BEGINNING + timedelta(seconds=loop.time()))


class RepeatableWorld(Struct, frozen=True):
    """A running sandbox in a repeatable run: its clock, its ready line, and the transport to its
    applications."""

    clock: SystemClock
    ready: Mapping[str, Any]
    transport: WorldTransport


class WorldTransport(httpx2.AsyncBaseTransport):
    """An HTTP transport to the sandbox's applications in the same process. The beginning of the
    URL's path chooses the application."""

    def __init__(self) -> None:
        self._applications: list[tuple[str, ASGIApp]] = []

    def add(self, prefix: str, application: ASGIApp) -> None:
        self._applications.append((prefix, application))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        application = self._at(request.url.path)
        if application is None:
            raise httpx2.ConnectError("nobody is there", request=request)
        # One turn of the loop, as with a socket: nobody answers within the call.
        await asyncio.sleep(0)
        return await httpx2.ASGITransport(app=application).handle_async_request(request)

    async def open_stream(self, url: str, headers: Mapping[str, str]) -> Any:
        """Opens an order stream to the application at this URL (see
        ``swapdesk.client.stream_socket.CarriesStreams``)."""
        application = self._at(httpx2.URL(url).path)
        if application is None:
            raise ConnectionRefusedError("nobody is there")
        return await _Stream.open(application, httpx2.URL(url), headers)

    def _at(self, path: str) -> ASGIApp | None:
        return next((app for prefix, app in self._applications if path.startswith(prefix)), None)


class _Stream:
    """A WebSocket to an application in the same process, with the methods of a ``websockets``
    connection."""

    def __init__(self) -> None:
        self._said: asyncio.Queue[Message] = asyncio.Queue()
        self._heard: asyncio.Queue[Message] = asyncio.Queue()
        self._serving: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, application: ASGIApp, url: httpx2.URL, headers: Mapping[str, str]) -> Self:
        stream = cls()
        scope = {
            "type": "websocket",
            "path": url.path,
            "query_string": url.query,
            "headers": [
                (b"host", url.netloc),
                *((name.lower().encode(), value.encode()) for name, value in headers.items()),
            ],
            "client": (_HOST, _PORT),
            "state": {CUT: stream.abort},
            "extensions": {"websocket.http.response": {}},
        }
        stream._said.put_nowait({"type": "websocket.connect"})
        serving = application(scope, stream._said.get, stream._heard.put)
        stream._serving = asyncio.create_task(stream._served(serving), name="served stream")
        answer = await stream._heard.get()
        if answer["type"] == "websocket.http.response.start":
            raise InvalidStatus(Response(answer["status"], "", _headers(answer)))
        if answer["type"] != "websocket.accept":
            raise ConnectionResetError("the stream was not opened")
        return stream

    async def send(self, text: str) -> None:
        self._said.put_nowait({"type": "websocket.receive", "text": text})

    async def recv(self) -> str:
        message = await self._heard.get()
        if message["type"] == "websocket.send":
            return str(message["text"])
        self._heard.put_nowait(message)
        code = message.get("code")
        raise ConnectionClosed(None if code is None else Close(code, ""), None)

    async def ping(self) -> asyncio.Future[float]:
        """Returns a future that is already done, because both sides are connected directly."""
        pong: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        pong.set_result(0.0)
        return pong

    @property
    def transport(self) -> Self:
        return self

    def is_closing(self) -> bool:
        return self._serving is None or self._serving.done()

    def abort(self) -> None:
        """Breaks the connection, so that both sides see a lost network."""
        self._said.put_nowait({"type": "websocket.disconnect", "code": 1006})
        self._heard.put_nowait({"type": "cut"})

    async def wait_closed(self) -> None:
        if self._serving is not None:
            await asyncio.gather(self._serving, return_exceptions=True)

    async def _served(self, serving: Awaitable[None]) -> None:
        try:
            await serving
        finally:
            self._heard.put_nowait({"type": "cut"})


def _headers(answer: Message) -> Headers:
    return Headers([(name.decode(), value.decode()) for name, value in answer.get("headers", ())])


@asynccontextmanager
async def open_world(
    data: Path, *, seed: int, speed: Decimal = Decimal(1), pools: bool = True
) -> AsyncIterator[RepeatableWorld]:
    """Opens a new sandbox in an empty directory for an ``async with`` block, on the running
    RepeatableLoop. If ``pools`` is True, pool prices follow the market, which is slow and only
    matters for on-chain swaps."""
    clock = repeatable_clock()
    make_directories(data)
    write_private(data / KEY_FILE, seed_bytes("sandbox key", seed))
    token = seed_bytes("token", seed).hex()
    transport = WorldTransport()
    opened = open_node(data, clock, seed=seed, speed=speed, pools=pools)
    transport.add("/node", opened.application(token))
    transport.add("/evm", opened.application(token))
    transport.add("/solana", opened.application(token))
    async with LedgerClient(f"{_ORIGIN}/node", token, transport=transport) as ledger:
        ticking = asyncio.create_task(keep_stepping(opened, clock, TICK_SECONDS / float(speed)))
        store = Store.open(data / DATABASE, writer=LoopWriter)
        try:
            service = await build_sandbox_service(
                data,
                ledger,
                await ledger.call("clock_get"),
                clock,
                store,
                random.Random(seed),
                node_url=f"{_ORIGIN}/",
                control_token=token,
                host=_HOST,
                transport=transport,
            )
            transport.add("/v2", service.door)
            transport.add("/sandbox", service.control)
            application = service.application
            async with application.router.lifespan_context(application):
                yield RepeatableWorld(clock, _ready(data, token, opened), transport)
            await service.onchain.close()
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)
            await opened.end()
            await store.close()


def _ready(data: Path, token: str, opened: Node) -> dict[str, Any]:
    return ReadyLine(
        url=f"{_ORIGIN}/v2",
        control=f"{_ORIGIN}/sandbox",
        controlToken=token,
        partners=[key.as_ready() for key in partner_keys(load_key(data))],
        pid=os.getpid(),
        chains=chain_lines(opened.chains.terms, _ORIGIN),
        makers=makers_of(data),
    ).as_mapping()

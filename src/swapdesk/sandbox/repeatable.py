"""A whole sandbox in one process whose every run is the same: same seed, same bytes.

What could differ between two runs, and what is done about it:

- **Time.** ``RepeatableLoop`` is an event loop with a time of its own. It begins at a fixed
  instant and moves only when nothing is left to do, to where somebody waits for. Everything that
  waits (``Clock.sleep``, ``asyncio.sleep``, deadlines) follows it, and no wait takes real time.
- **Threads.** What others hand to a thread runs at once, on the loop. Chains, store and journal
  are the usual ones; only who runs them differs.
- **Sockets.** There are none. ``RepeatableWorld.transport`` carries HTTP to service, control and
  node by the path of the address, and the service reaches the chains the same way.
- **Chance.** ``sandbox.key`` and the ids of the service are drawn from the seed.

A sandbox process whose clock only moves by ``POST /clock`` was the other way. It repeats the
times, but not which of two threads, processes or sockets is first, and every step waits for a
real one.

A process started from here (a wallet agent) has its own time, and so does whoever opens a socket:
while something outside is connected, the loop waits for real, and its runs may differ.

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
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from msgspec import Struct
from starlette.types import ASGIApp

from swapdesk.chain.rpc.ledger import LedgerClient, LedgerMethod
from swapdesk.chain.unused_curve import leave_out_validator_keys, postpone_precompiles
from swapdesk.clock import SystemClock
from swapdesk.paths import make_directories, write_private
from swapdesk.sandbox.node.node import SandboxNode, keep_stepping, open_node
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
"""The time at which every world begins."""
_HOST, _PORT = "127.0.0.1", 9
"""Nobody listens there: a request that does not go through the transport fails."""
_ORIGIN = f"http://{_HOST}:{_PORT}"
TICK_SECONDS = 2.0
"""World seconds between two looks of the node at what is due: nobody waits for it here, and each
costs."""
_WATCHED_BY_LOOP = 1
"""The pipe with which a loop wakes itself."""


class _StandingSelector(selectors.DefaultSelector):
    """Passes the time that a loop would wait, where it waits for time alone."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0
        self._machine = SystemClock()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if found or timeout == 0:
            return found
        if timeout is not None and len(self.get_map()) <= _WATCHED_BY_LOOP:
            self.passed += timeout
            return []
        began = self._machine.monotonic()
        found = super().select(timeout)
        self.passed += self._machine.monotonic() - began
        return found


class RepeatableLoop(asyncio.SelectorEventLoop):
    """An event loop that never waits and has no threads."""

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
    """Run a coroutine function to its end on such a loop."""
    leave_out_validator_keys()
    postpone_precompiles()
    with asyncio.Runner(loop_factory=RepeatableLoop) as runner:
        return runner.run(main())


def repeatable_clock() -> SystemClock:
    """The clock of the running loop."""
    loop = asyncio.get_running_loop()
    return SystemClock(monotonic=loop.time, wall=lambda: BEGINNING + timedelta(seconds=loop.time()))


class RepeatableWorld(Struct, frozen=True):
    """A running world. ``ready`` is what a sandbox says once it is ready."""

    clock: SystemClock
    ready: Mapping[str, Any]
    transport: httpx2.AsyncBaseTransport


class _ByPath(httpx2.AsyncBaseTransport):
    """HTTP to the applications of the world, without a socket."""

    def __init__(self) -> None:
        self._applications: list[tuple[str, httpx2.ASGITransport]] = []

    def add(self, prefix: str, application: ASGIApp) -> None:
        self._applications.append((prefix, httpx2.ASGITransport(app=application)))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        for prefix, transport in self._applications:
            if request.url.path.startswith(prefix):
                # One turn of the loop, as with a socket: nobody answers within the call.
                await asyncio.sleep(0)
                return await transport.handle_async_request(request)
        raise httpx2.ConnectError("nobody is there", request=request)


@asynccontextmanager
async def open_world(
    data: Path, *, seed: int, speed: Decimal = Decimal(1), pools: bool = True
) -> AsyncIterator[RepeatableWorld]:
    """A new sandbox in an empty directory, on the running RepeatableLoop; it ends with the
    block. That the ``pools`` of its chains follow the market takes most of the time that a long
    run takes, and matters to swaps on chains alone."""
    clock = repeatable_clock()
    make_directories(data)
    write_private(data / KEY_FILE, seed_bytes("sandbox key", seed))
    token = seed_bytes("token", seed).hex()
    transport = _ByPath()
    opened = open_node(data, clock, seed=seed, speed=speed, pools=pools)
    transport.add("/node", opened.application(token))
    transport.add("/evm", opened.application(token))
    transport.add("/solana", opened.application(token))
    async with LedgerClient(f"{_ORIGIN}/node", token, transport=transport) as ledger:
        ticking = asyncio.create_task(
            keep_stepping(opened.node, clock, TICK_SECONDS / float(speed))
        )
        store = Store.open(data / DATABASE, writer=LoopWriter)
        try:
            service = await build_sandbox_service(
                data,
                ledger,
                await ledger.call(LedgerMethod.CLOCK_GET),
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
            await opened.close()
            await store.close()


def _ready(data: Path, token: str, opened: SandboxNode) -> dict[str, Any]:
    return ReadyLine(
        url=f"{_ORIGIN}/v2",
        control=f"{_ORIGIN}/sandbox",
        controlToken=token,
        partners=[each.as_ready() for each in partner_keys(load_key(data))],
        pid=os.getpid(),
        chains=chain_lines(opened.chains.terms, _ORIGIN),
        makers=makers_of(data),
    ).as_mapping()

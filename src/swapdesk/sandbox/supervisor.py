"""Starts a sandbox and keeps it running: node and service are child processes, restarted when they
end.

Prints exactly one JSON line on standard output, when both are ready. The children end within 2 s of
the supervisor. A wallet gets the makers' keys from that line, never from the service that it
checks.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import secrets
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.clock import Clock, SystemClock
from swapdesk.paths import make_directories
from swapdesk.sandbox.node.solana.genesis import MAKER, key_seed
from swapdesk.sandbox.node.solana.terms import CHAIN
from swapdesk.sandbox.partner_keys import SandboxKeyRefused, load_key, partner_keys
from swapdesk.sandbox.processes import (
    BAD_INPUT,
    DEFECT,
    OK,
    DirectoryInUse,
    listen,
    lock_directory,
    put_aside,
    said,
    stop_event,
    url_of,
)
from swapdesk.sandbox.run_file import RUN_FILE, ReadyLine, write_run_file
from swapdesk.sandbox.tables import ChainIds, chain_lines, chain_terms

START_SECONDS = 20.0
STOP_SECONDS = 2.0
_BACK_OFF = (0.1, 0.25, 0.5, 1.0, 2.0)
_STEADY_SECONDS = 10.0
"""Seconds after which a child counts as healthy, so that its next restart is quick again."""

logger = logging.getLogger(__name__)


class ChildRefused(Exception):
    """Raised if a child refuses to run, for the reason that it gave. A restart would not help."""


class OldWorld(ChildRefused):
    """Raised if this release cannot use the data directory, because its data was created by another
    release or with other catalogue tables."""


class ChildSilent(Exception):
    """Raised if a child did not become ready in time, or ended before it was ready."""


class Child:
    """A child process that runs ``python -m module``. At every start it is sent, through its stdin,
    the JSON object that the function ``orders`` returns."""

    def __init__(
        self,
        module: str,
        orders: Callable[[], dict[str, Any]],
        inherited: Sequence[int],
        clock: Clock,
    ) -> None:
        self._module = module
        self._orders = orders
        self._inherited = tuple(inherited)
        self._clock = clock
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> dict[str, Any]:
        """Starts the child and returns what it announced when ready. Raises ChildSilent,
        ChildRefused, or OldWorld for data of another release."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            self._module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=self._inherited,
            # Keys typed at the starter's terminal are for the starter alone.
            start_new_session=True,
        )
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise ChildSilent(f"{self._module} has no pipes")
        try:
            stdin.write(json.dumps(self._orders()).encode() + b"\n")
            await stdin.drain()
            line = await asyncio.wait_for(stdout.readline(), START_SECONDS)
        except (TimeoutError, ConnectionError) as error:
            await self.stop()
            raise ChildSilent(f"{self._module} did not become ready: {error!r}") from error
        if not line:
            code = await self._process.wait()
            raise ChildSilent(f"{self._module} ended with {code} before it was ready")
        ready: dict[str, Any] = json.loads(line)
        if "refused" in ready:
            await self.stop()
            raise (OldWorld if ready.get("old") else ChildRefused)(str(ready["refused"]))
        return ready

    async def keep(self) -> None:
        """Restarts the child whenever it ends, until cancelled. Raises ChildRefused."""
        failures = 0
        since = self._clock.monotonic()
        while True:
            if self._process is not None:
                code = await self._process.wait()
                logger.warning("%s ended with %s and is started again", self._module, code)
            if self._clock.monotonic() - since > _STEADY_SECONDS:
                failures = 0
            await self._clock.sleep(_BACK_OFF[min(failures, len(_BACK_OFF) - 1)])
            failures += 1
            since = self._clock.monotonic()
            try:
                await self.start()
            except ChildSilent as silent:
                logger.error("%s", silent)

    async def stop(self) -> None:
        """Tells the child to end by closing its stdin, and kills it if it does not end in time."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            # On a busy machine it may end at this very moment, and there is nothing left to kill.
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def makers_of(directory: Path) -> list[dict[str, str]]:
    """Returns provider, chain and public key of each market maker of the sandbox in a data
    directory. Raises SandboxKeyRefused."""
    from solders.keypair import Keypair  # on use: it takes longer than all the rest

    seed = key_seed(load_key(directory), MAKER)
    return [{"provider": "at", "chain": CHAIN, "key": str(Keypair.from_seed(seed).pubkey())}]


LOOPBACK = "127.0.0.1"
NOT_FREE = 7
"""Exit code of a sandbox that was started with ``lifeline``, if another sandbox still has the data
directory."""


class ServeOptions(Struct, frozen=True):
    """Options of a sandbox. ``port`` 0 takes a free port. If ``seed`` or ``speed`` is None, the
    stored value is kept. With ``lifeline`` the sandbox ends when its stdin does. If ``store`` is
    None, the database is a file in ``data``."""

    data: Path
    host: str = LOOPBACK
    port: int = 0
    seed: int | None = None
    speed: Decimal | None = None
    lifeline: bool = False
    tokens: int | None = None
    chain_ids: ChainIds = "sandbox"
    dialect: Literal["contract", "vendor"] = "contract"
    store: str | None = None
    names: tuple[str, ...] = ()


def serve(options: ServeOptions) -> int:
    """Runs a sandbox until told to end. Returns the exit code: 0 after a clean end, 1 if it could
    not be kept running, 2 for unusable options or data, NOT_FREE if ``lifeline`` is set and the
    data directory is in use."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    return asyncio.run(_serve(options, SystemClock()))


async def _serve(options: ServeOptions, clock: Clock) -> int:
    stop = stop_event(options.lifeline)
    try:
        return await _run(options, clock, stop)
    except OldWorld as old:
        message = f"{old}. A new world begins"
        sys.stderr.write(f"{message}.\n")
        return await _run(options, clock, stop, message)


async def _run(
    options: ServeOptions, clock: Clock, stop: asyncio.Event, put_aside_as: str = ""
) -> int:
    with ExitStack() as held:
        try:
            make_directories(options.data)
            held.callback(os.close, lock := await lock_directory(options.data, clock))
            keys = partner_keys(load_key(options.data))
            sandbox = _Sandbox(options, clock, lock, held)
        except DirectoryInUse as error:
            return said(error, NOT_FREE if options.lifeline else BAD_INPUT)
        except (OSError, SandboxKeyRefused) as error:
            return said(error, BAD_INPUT)
        try:
            if not await _started(sandbox, options.data, stop):
                return OK
            ready = sandbox.ready([partner_key.as_ready() for partner_key in keys])
            run_file = write_run_file(options.data, ready)
            held.callback(run_file.unlink, missing_ok=True)
            sys.stdout.write(replace(ready, putAside=put_aside_as).as_line() + "\n")
            sys.stdout.flush()
            await sandbox.keep(stop)
        except OldWorld:
            raise
        except ChildRefused as refused:
            return said(refused, BAD_INPUT)
        except ChildSilent as silent:
            return said(silent, DEFECT)
        finally:
            await sandbox.stop()
    return OK


async def _started(sandbox: _Sandbox, directory: Path, stop: asyncio.Event) -> bool:
    """Starts the sandbox and returns True. Returns False if ``stop`` was set first. If the data
    belongs to another release, renames the data directory and raises OldWorld."""
    try:
        return await sandbox.start(stop)
    except OldWorld as old:
        await sandbox.stop()
        aside = put_aside(directory)
        raise OldWorld(f"{directory} was put aside as {aside}: {old}") from None


class _Sandbox:
    def __init__(self, options: ServeOptions, clock: Clock, lock: int, held: ExitStack) -> None:
        # A leftover of a killed sandbox must not be found while this one starts.
        (options.data / RUN_FILE).unlink(missing_ok=True)
        self._options = options
        self._first = True
        self._makers: list[dict[str, str]] = []
        self._service_socket = held.enter_context(listen(options.host, options.port))
        self._control_socket = held.enter_context(listen(LOOPBACK, 0))
        self._node_socket = held.enter_context(listen(LOOPBACK, 0))
        self._node_token = secrets.token_urlsafe(32)
        self._control_token = secrets.token_urlsafe(32)
        self._node = Child(
            "swapdesk.sandbox.node",
            self._node_orders,
            (self._node_socket.fileno(), lock),
            clock,
        )
        self._service = Child(
            "swapdesk.sandbox.service_process",
            self._service_orders,
            (self._service_socket.fileno(), self._control_socket.fileno(), lock),
            clock,
        )

    async def start(self, stop: asyncio.Event) -> bool:
        """Starts both children and returns True, or False if ``stop`` was set before they were
        ready."""
        starting = _together(self._node.start(), self._service.start(), self._know_makers())
        is_stopped = await _first_of(starting, stop)
        self._first = False
        return not is_stopped

    async def _know_makers(self) -> None:
        self._makers = await asyncio.to_thread(makers_of, self._options.data)

    async def keep(self, stop: asyncio.Event) -> None:
        """Restarts either child whenever it ends, until ``stop`` is set."""
        await _first_of(_together(self._node.keep(), self._service.keep()), stop)

    async def stop(self) -> None:
        await asyncio.gather(self._service.stop(), self._node.stop())

    @property
    def _service_url(self) -> str:
        return f"{url_of(self._options.host, self._service_socket)}/v2"

    def ready(self, partners: list[dict[str, str]]) -> ReadyLine:
        return ReadyLine(
            url=self._service_url,
            control=f"{url_of(LOOPBACK, self._control_socket)}/sandbox",
            controlToken=self._control_token,
            partners=partners,
            pid=os.getpid(),
            chains=chain_lines(
                chain_terms(self._options.chain_ids), url_of(LOOPBACK, self._node_socket)
            ),
            makers=self._makers,
        )

    def _node_orders(self) -> dict[str, Any]:
        options = self._options
        # A node started again goes on at the speed it had, not at the one of the first start.
        speed = options.speed if self._first else None
        return {
            "fd": self._node_socket.fileno(),
            "token": self._node_token,
            "data": str(options.data),
            "seed": options.seed,
            "speed": None if speed is None else str(speed),
            "chainIds": options.chain_ids,
            "service": self._service_url,
        }

    def _service_orders(self) -> dict[str, Any]:
        return {
            "fd": self._service_socket.fileno(),
            "controlFd": self._control_socket.fileno(),
            "nodeUrl": f"{url_of(LOOPBACK, self._node_socket)}/",
            "nodeToken": self._node_token,
            "controlToken": self._control_token,
            "data": str(self._options.data),
            "host": self._options.host,
            "names": self._options.names,
            "tokens": self._options.tokens,
            "chainIds": self._options.chain_ids,
            "dialect": self._options.dialect,
            "store": self._options.store,
        }


async def _together(*coroutines: Any) -> None:
    async with asyncio.TaskGroup() as group:
        for coroutine in coroutines:
            group.create_task(coroutine)


async def _first_of(coroutine: Any, stop: asyncio.Event) -> bool:
    """Runs a coroutine until it ends or ``stop`` is set. Returns True if ``stop`` was set before
    the coroutine ended. Raises what the coroutine raises."""
    work = asyncio.ensure_future(coroutine)
    stopping = asyncio.ensure_future(stop.wait())
    await asyncio.wait([work, stopping], return_when=asyncio.FIRST_COMPLETED)
    is_stopped = not work.done()
    for task in (work, stopping):
        task.cancel()
    outcomes = await asyncio.gather(work, stopping, return_exceptions=True)
    failure = outcomes[0]
    if isinstance(failure, BaseExceptionGroup):
        raise failure.exceptions[0]
    if isinstance(failure, Exception):
        raise failure
    return is_stopped

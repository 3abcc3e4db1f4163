"""Processes of the sandbox: the lock of the data directory, inherited sockets, and the pipe between
a child and its starter.

A child reads its orders, which contain secrets, from the first line of standard input, and ends
when that pipe closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import json
import logging
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine
from itertools import count
from pathlib import Path
from typing import Any

from swapdesk.clock import Clock
from swapdesk.sandbox.partner_keys import KEY_FILE

LOCK_FILE = "lock"
WAIT_SECONDS = 5.0
_TRY_SECONDS = 0.05


OK, DEFECT, BAD_INPUT = 0, 1, 2
"""Exit codes: ended cleanly, could not be kept running, refused input."""


def said(error: Exception, code: int) -> int:
    """Writes an error's message to standard error and returns ``code``."""
    sys.stderr.write(f"{error}\n")
    return code


class DirectoryInUse(Exception):
    """Raised if another process uses the data directory."""


async def lock_directory(directory: Path, clock: Clock, *, seconds: float = WAIT_SECONDS) -> int:
    """Locks a data directory and returns the descriptor of the lock, which children inherit. Raises
    DirectoryInUse if the lock is not free within ``seconds``."""
    handle = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    until = clock.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.monotonic() >= until:
                holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
                named = f" (process {holder})" if holder.isdecimal() else ""
                os.close(handle)
                raise DirectoryInUse(f"another swapdesk{named} uses {directory}") from None
            await clock.sleep(_TRY_SECONDS)
        else:
            if _is_at(handle, directory / LOCK_FILE):
                os.set_inheritable(handle, True)
                # On a full disk whoever waits is told of no process, and the lock holds all the
                # same.
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, 0)
                    os.pwrite(handle, str(os.getpid()).encode(), 0)
                return handle
            # Whoever had the lock has put the directory aside: another one is in its place.
            os.close(handle)
            return await lock_directory(directory, clock, seconds=until - clock.monotonic())


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def put_aside(directory: Path) -> Path:
    """Renames a data directory and returns the new path. In its old place, creates an empty
    directory with a copy of the key. Raises OSError."""
    directory = directory.resolve()
    for number in count(1):
        aside = directory.with_name(f"{directory.name}.old-{number}")
        try:
            # What was made here is empty, and nothing else gives way to the rename.
            aside.mkdir(mode=0o700)
        except FileExistsError:
            continue
        break
    fresh = directory.with_name(f".{directory.name}.new-{os.getpid()}")
    fresh.mkdir(mode=0o700)
    with contextlib.suppress(FileNotFoundError):
        shutil.copy2(directory / KEY_FILE, fresh / KEY_FILE, follow_symlinks=False)
    directory.rename(aside)
    fresh.rename(directory)
    return aside


_BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """Opens a listening socket that children inherit, so that a restarted child keeps its
    address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Connections inherit it. uvloop sets it itself; asyncio's own loop does not for sockets that
    # it did not make, and every answer then waits 40 ms for an acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.bind((host, port))
    listener.listen(_BACKLOG)
    listener.set_inheritable(True)
    return listener


def url_of(host: str, listener: socket.socket) -> str:
    """Returns the HTTP URL of a listening socket, with ``host`` as its host name."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


GRACE_SECONDS = 1.5
"""Seconds that a child has to end before it is killed."""

ORDERS_LIMIT = 64 * 1024
_STDIN, _STDOUT = 0, 1


def read_orders() -> dict[str, Any]:
    """Reads the parent's instructions, a JSON object in the first line of standard input. Raises
    EOFError if the parent is gone."""
    line = bytearray()
    while not line.endswith(b"\n"):
        # Unbuffered, so that nothing of the pipe is swallowed before the watch begins.
        byte = os.read(_STDIN, 1)
        if not byte or len(line) > ORDERS_LIMIT:
            raise EOFError("no orders on standard input")
        line += byte
    orders: dict[str, Any] = json.loads(line)
    return orders


def run_child(run: Callable[[dict[str, Any]], Coroutine[Any, Any, int]]) -> int:
    """Runs ``run`` with the parent's instructions (see :func:`read_orders`). Returns its exit code,
    or 1 if the parent is gone."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    try:
        orders = read_orders()
    except EOFError:
        return 1
    import uvloop  # on use: the starter's own loop is asyncio's

    return uvloop.run(run(orders))


def announce(document: dict[str, Any]) -> None:
    """Tells the parent process, in a JSON line, that this process is ready or why it is not. Never
    raises, even if the parent is gone."""
    # Past the buffer of stdout, which would be written once more when the process ends.
    with contextlib.suppress(BrokenPipeError):
        os.write(_STDOUT, json.dumps(document).encode() + b"\n")


def leave_loaded_alone() -> None:
    """Excludes all present objects from garbage collection, which would otherwise stop all answers
    for 50 to 120 ms."""
    gc.collect()
    gc.freeze()


class Stop(asyncio.Event):
    """An event that is set when the process is told to end. The event ``again`` is set when the
    process is told a second time."""

    def __init__(self) -> None:
        super().__init__()
        self.again = asyncio.Event()


def stop_event(lifeline: bool = False, *, hard: bool = False, patient: bool = False) -> Stop:
    """Returns an event that SIGTERM and SIGINT set; with ``lifeline``, the end of standard input
    sets it too. The process exits GRACE_SECONDS after the first such request if ``hard``, after the
    second if ``patient``."""
    stop, loop = Stop(), asyncio.get_running_loop()

    def begin() -> None:
        again = stop.is_set()
        if again:
            stop.again.set()
        if (patient and again) or (hard and not again):
            timer = threading.Timer(GRACE_SECONDS, os._exit, (1,))
            timer.daemon = True
            timer.start()
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, begin)
    if lifeline:
        threading.Thread(target=_watch, args=(loop, begin), daemon=True).start()
    return stop


def _watch(loop: asyncio.AbstractEventLoop, begin: Any) -> None:
    while os.read(_STDIN, 4096):
        continue
    try:
        loop.call_soon_threadsafe(begin)
    except RuntimeError:
        # The loop has ended: so has the process, all but its last lines.
        return


NICENESS = 5
"""Niceness of the process that makes blocks, so that all other processes are preferred to it."""
SWITCH_SECONDS = 0.0005
"""Seconds after which a thread that makes a block yields to the event loop. More would slow
requests down."""


def give_way() -> None:
    """Lowers the priority of a node's process and its block-making threads. Call it once, before
    the event loop runs."""
    os.nice(NICENESS)
    sys.setswitchinterval(SWITCH_SECONDS)
